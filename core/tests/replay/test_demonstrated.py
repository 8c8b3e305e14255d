"""Minibatches that are in part demonstrations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.columns import Columns
from agents_core.contracts.buffer import Buffer
from agents_core.contracts.demonstration import Demonstration, DemonstrationError
from agents_core.demonstrations import store_demonstration
from agents_core.errors import UserError
from agents_core.replay import free_memory
from agents_core.replay.config import PrioritizedReplayConfig
from agents_core.replay.demonstrated import NOT_OWN, make_prioritized, make_replay, transitions_of
from agents_core.testing.demonstrations import random_demonstration
from replay_model import SMALL_SPEC, World, make_context

DEMONSTRATION = random_demonstration(SMALL_SPEC, (5, 3, 4))


def mixed(folder: Path, demonstration: Demonstration = DEMONSTRATION, rows: int = 50, **options: Any) -> Buffer:
    path = folder / "expert.h5"
    if not path.exists():
        store_demonstration(path, demonstration)
    buffer = make_replay(make_context(demonstration.spec, buffer_size=100, demo_path=path, **options))
    world = World(demonstration.spec, masked=False)
    for _ in range(rows):
        buffer.add(columns([world.act(0)]))
    return buffer


def columns(rows: list[Any]) -> Columns:
    return Columns({name: np.stack([row[name] for row in rows]) for name in rows[0]})


def is_shown(batch: Any) -> np.ndarray:
    """Which rows hold an observation of the demonstration."""
    shown = {tuple(row) for row in DEMONSTRATION.episodes.columns["obs.0"].tolist()}
    return np.array([tuple(row) in shown for row in batch["obs.0"].tolist()])


@pytest.mark.parametrize("fraction", [0.25, 0.5, 0.9])
def test_the_fraction_of_each_minibatch_is_demonstrations(tmp_path: Path, fraction: float) -> None:
    buffer = mixed(tmp_path, demo_fraction=fraction)
    generator = np.random.default_rng(0)
    shares = []
    for _ in range(50):
        batch = buffer.sample(10, generator)
        shown = is_shown(batch)
        np.testing.assert_array_equal(batch["row"].numpy() == NOT_OWN, shown)
        assert len(batch) == 10
        assert abs(shown.sum() - 10 * fraction) < 1
        shares.append(shown.mean())
    assert np.mean(shares) == pytest.approx(fraction, abs=0.03)


def test_a_single_row_is_of_one_kind_or_the_other(tmp_path: Path) -> None:
    buffer = mixed(tmp_path)
    generator = np.random.default_rng(0)
    kinds = [bool(is_shown(buffer.sample(1, generator))[0]) for _ in range(40)]
    assert 5 < sum(kinds) < 35


def test_demonstrated_transitions_are_those_of_the_demonstration(tmp_path: Path) -> None:
    buffer = mixed(tmp_path, demo_fraction=0.9)
    episodes = DEMONSTRATION.episodes
    following = episodes.next_observations()[0]
    batch = buffer.sample(200, np.random.default_rng(0))
    places = {tuple(row): place for place, row in enumerate(episodes.columns["obs.0"].tolist())}
    shown = np.flatnonzero(is_shown(batch))
    rows = np.array([places[tuple(batch["obs.0"][row].tolist())] for row in shown])
    assert set(rows) == set(range(12))
    np.testing.assert_array_equal(batch["next_obs.0"].numpy()[shown], following[rows])
    for name in ("reward", "terminated", "truncated", "action.continuous"):
        np.testing.assert_array_equal(batch[name].numpy()[shown], episodes.columns[name][rows])


def test_sequences_of_demonstrations_end_with_their_episodes(tmp_path: Path) -> None:
    buffer = mixed(tmp_path)
    batch = buffer.sample_sequences(40, 3, np.random.default_rng(0))
    assert len(batch) == 120
    valid, shown = batch["is_valid"].view(40, 3).numpy(), is_shown(batch).reshape(40, 3)
    assert (shown[:, :1] == shown).all()
    observations, following = (batch[name].view(40, 3, 2).numpy() for name in ("obs.0", "next_obs.0"))
    linked = valid[:, 1:]
    np.testing.assert_array_equal(observations[:, 1:][linked], following[:, :-1][linked])
    ended = (batch["terminated"] | batch["truncated"]).view(40, 3).numpy()
    assert not valid[:, 1:][shown[:, 1:] & ended[:, :-1]].any()
    assert (valid[:, 1:] | ended[:, :-1] | ~valid[:, :-1])[shown[:, 1:]].all()


def test_only_own_transitions_have_priorities(tmp_path: Path) -> None:
    mixed(tmp_path)  # Writes the demonstration.
    options = PrioritizedReplayConfig(buffer_size=100, demo_path=tmp_path / "expert.h5")
    context = make_context(SMALL_SPEC)
    buffer = make_prioritized(type(context)("walker", options, SMALL_SPEC, torch.device("cpu"), 0, 1000))
    world = World(SMALL_SPEC, masked=False)
    for _ in range(50):
        buffer.add(columns([world.act(0)]))
    generator = np.random.default_rng(0)
    batch = buffer.sample(20, generator)
    shown = is_shown(batch)
    assert (batch["weight"].numpy()[shown] == 1).all()
    errors = torch.where(torch.from_numpy(shown), 1e9, 1e-9)
    buffer.update_priorities(batch["row"], errors)
    again = buffer.sample(2000, generator)["row"].numpy()
    # What was sampled before has almost no priority left.
    assert np.isin(again, batch["row"].numpy()[~shown]).sum() < 20
    # A new one has the highest that there was, and the errors of demonstrations are none of them.
    buffer.add(columns([world.act(0)]))
    assert (buffer.sample(2000, generator)["row"].numpy() == 50).mean() < 0.1


def test_only_own_transitions_are_counted_and_saved(tmp_path: Path) -> None:
    buffer = mixed(tmp_path, rows=7)
    assert len(buffer) == 7
    assert len(buffer.stored) == 7
    other = mixed(tmp_path, rows=0)
    other.load_state_dict(buffer.state_dict())
    first, second = (one.sample(30, np.random.default_rng(1)) for one in (buffer, other))
    for name in first:
        assert torch.equal(first[name], second[name])


def test_masks_and_memories_of_demonstrations() -> None:
    demonstration = random_demonstration(masked=True)
    transitions = transitions_of(demonstration, 3)
    mask, following = transitions["action_mask"], transitions["next_action_mask"]
    ends = demonstration.episodes.last_rows
    assert following[ends].all()
    goes_on = np.setdiff1d(np.arange(len(mask)), ends)
    np.testing.assert_array_equal(following[goes_on], mask[goes_on + 1])
    assert transitions["memory.actor"].shape == (len(mask), 3)
    # A state of zero says that the episode starts there, so that a burn-in is not needed.
    np.testing.assert_array_equal(
        transitions["memory.actor"].any(axis=1), ~np.isin(np.arange(len(mask)), [0, *ends + 1])
    )
    assert np.abs(transitions["memory.actor"]).max() < 1e-30


def test_a_buffer_with_demonstrations_keeps_as_many_as_its_own(tmp_path: Path) -> None:
    assert mixed(tmp_path).capacity == mixed(tmp_path)._own.capacity is not None


def test_without_demonstrations_the_buffer_is_the_plain_one() -> None:
    assert type(make_replay(make_context(SMALL_SPEC, buffer_size=10))).__name__ == "ReplayBuffer"


def test_demonstrations_of_another_spec_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.h5"
    store_demonstration(path, random_demonstration())
    with pytest.raises(DemonstrationError, match="another behavior spec"):
        make_replay(make_context(SMALL_SPEC, buffer_size=10, demo_path=path))


def test_demonstrations_that_do_not_fit_into_memory_are_told_by_their_own_option(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter([10**12, 1])
    monkeypatch.setattr(free_memory, "free_memory", lambda: next(free))
    with pytest.raises(UserError, match=r"trainer\.buffer\.demo_path: \d+ transitions do not fit into memory"):
        mixed(tmp_path)

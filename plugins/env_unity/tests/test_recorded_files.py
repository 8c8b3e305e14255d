"""Recordings that people made, with what ML-Agents 1.1.0 reads from them, where the checkout lies beside them.

Where that release cannot read a file, or reads it wrongly, fields that begin with `own_` say what is in it.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agents_core.demonstrations import Demonstration, DemonstrationError, read_demonstrations
from agents_core.testing.demonstrations import differing_columns

FOLDER = Path(__file__).resolve().parents[4] / "shared" / "data" / "demos"
FILES = sorted(FOLDER.glob("*.demo")) if FOLDER.is_dir() else []
DAMAGED = {
    "d17-stub-no-steps": "byte 64: the recording was closed before its first step",
    "x01-made-cut-mid-message": "byte 3381: record 41 of 69 is cut: the file ends at byte 3422",
    "x02-made-flipped-head": "byte 0: metadata of ",
    "x04-made-header-only": "byte 20: the file ends here, in the head",
}

pytestmark = pytest.mark.skipif(not FILES, reason=f"there are no recordings in {FOLDER}")


def expected(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(file.with_name(f"{file.name}.expected.json").read_text(encoding="utf-8"))
    return found


def named(prefix: str) -> Path:
    return next(file for file in FILES if file.name.startswith(prefix))


READABLE = [file for file in FILES if file.stem not in DAMAGED]
PAIRS = [file for file in READABLE if "own_bare_agent_info" not in (expected(file) if FILES else {})]
FLAT = [file for file in READABLE if file not in PAIRS]


def by_stem(file: Path) -> str:
    return file.stem


@pytest.mark.parametrize("stem", DAMAGED)
def test_damaged_files_are_refused_with_their_place(stem: str) -> None:
    with pytest.raises(DemonstrationError) as raised:
        read_demonstrations(named(stem))
    assert str(raised.value).startswith(f"{named(stem)}: {DAMAGED[stem]}")


@pytest.mark.parametrize("file", PAIRS, ids=by_stem)
def test_records_and_specs_are_those_that_ml_agents_reads(file: Path) -> None:
    read, truth = read_demonstrations(file), expected(file)["load_demonstration"]
    assert read.summary is not None
    assert read.summary.records == truth["n_pairs"]
    assert read.summary.reward_sum == pytest.approx(truth["reward_sum"], abs=1e-6)
    action = truth["behavior_spec"]["action_spec"]
    assert read.spec.action.continuous_size == action["continuous_size"]
    assert list(read.spec.action.discrete_branches) == action["discrete_branches"]
    specs = truth["behavior_spec"]["observation_specs"]
    assert len(specs) == len(read.spec.observations)
    for i, (found, spec) in enumerate(zip(read.spec.observations, specs, strict=True)):
        assert found.name == (spec["name"] or f"obs_{i}")
        assert sorted(found.shape) == sorted(spec["shape"])
        assert found.kind == ("image" if len(spec["shape"]) == 3 else "vector")
    ended = read.episodes.columns["terminated"].sum() + read.episodes.columns["truncated"].sum()
    assert ended - (not truth["last_pair_done"]) <= truth["n_done"] <= ended
    assert bool(read.warnings) == (file.stem.startswith("x03") or file.stem.startswith("d04"))


@pytest.mark.parametrize("file", PAIRS, ids=by_stem)
def test_vectors_are_those_that_ml_agents_reads(file: Path) -> None:
    read = read_demonstrations(file, options={"pairing": "ml-agents"})
    for i, truth in enumerate(expected(file)["observations"]):
        if read.spec.observations[i].kind == "image" or not read.spec.observations[i].size:
            continue
        stats = truth["peer"]["stats"]
        seen = np.concatenate([read.episodes.columns[f"obs.{i}"], read.episodes.final_observations[i][-1:]])
        assert len(seen) == stats["steps"]
        for key, value in {
            "mean": seen.mean(dtype=np.float64),
            "std": seen.std(dtype=np.float64),
            "min": seen.min(),
            "max": seen.max(),
            "mean_per_feature_first16": seen.mean(axis=0, dtype=np.float64)[:16],
            "first_step_first16": seen[0, :16],
            "last_step_first16": seen[-1, :16],
        }.items():
            np.testing.assert_allclose(value, stats[key], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("file", PAIRS, ids=by_stem)
def test_the_old_pairing_is_that_of_ml_agents(file: Path) -> None:
    truth = expected(file)["demo_to_buffer_seq1"]
    if truth["outcome"] != "ok":
        pytest.skip("that release cannot read it")
    read = read_demonstrations(file, options={"pairing": "ml-agents"})
    columns = read.episodes.columns
    assert len(read) == truth["num_experiences"]
    assert columns["reward"].sum(dtype=np.float64) == pytest.approx(truth["environment_rewards_sum"], abs=1e-6)
    np.testing.assert_allclose(columns["reward"][:3], truth["environment_rewards_first3"], rtol=1e-6)
    assert columns["terminated"].sum() == truth["done_count"]
    for kind in ("continuous", "discrete"):
        if f"{kind}_action_first" in truth:
            np.testing.assert_allclose(columns[f"action.{kind}"][0], truth[f"{kind}_action_first"], rtol=1e-6)
            np.testing.assert_allclose(columns[f"action.{kind}"][-1], truth[f"{kind}_action_last"], rtol=1e-6)


@pytest.mark.parametrize("file", PAIRS, ids=by_stem)
def test_images_are_those_that_ml_agents_decodes(file: Path) -> None:
    read = read_demonstrations(file, options={"pairing": "ml-agents"})
    images = [i for i, spec in enumerate(read.spec.observations) if spec.kind == "image"]
    if not images:
        pytest.skip("there are none")
    for i in images:
        truth = expected(file)["observations"][i]
        truth = truth.get("peer_process_pixels_hwc", truth["peer"])
        frames = {
            "first_frame": read.episodes.columns[f"obs.{i}"][0],
            "last_frame": read.episodes.final_observations[i][-1],
        }
        for name, frame in frames.items():
            assert truth[name]["mean"] == pytest.approx(frame.mean() / 255, rel=1e-6)
            assert truth[name]["corner_value"] == pytest.approx(frame[0, 0, 0] / 255)
            np.testing.assert_allclose(frame.mean(axis=(0, 1)) / 255, _channel_means(truth[name], frame), rtol=1e-6)


def _channel_means(truth: dict[str, Any], frame: Any) -> Any:
    """What the truth says of each channel; it has them first."""
    means = truth["mean_per_index_of_axis0_first4"]
    return means if len(means) == frame.shape[2] else frame.mean(axis=(0, 1)) / 255


@pytest.mark.parametrize("file", FLAT, ids=by_stem)
def test_flat_records_hold_what_their_fields_hold(file: Path) -> None:
    truth = expected(file)["own_bare_agent_info"]
    read = read_demonstrations(file)
    columns, episodes = read.episodes.columns, read.episodes
    assert read.summary is not None
    assert read.summary.records == truth["n_messages"]
    assert read.summary.pairing == "auto: action of the next record"
    assert read.summary.reward_sum == pytest.approx(truth["reward_sum"], abs=1e-6)
    assert len(read) == truth["n_messages"] - len(episodes.lengths)
    assert columns["terminated"].sum() == truth["n_done"]
    (size,), (acts,) = truth["vector_sizes"], truth["action_sizes"]
    vectors = [i for i, spec in enumerate(read.spec.observations) if spec.kind == "vector"]
    assert [read.spec.observations[i].size for i in vectors] == ([size] if size else [])
    for i in vectors:
        np.testing.assert_allclose(columns[f"obs.{i}"][0][:16], truth["first_vector_first16"], rtol=1e-6)
        np.testing.assert_allclose(episodes.final_observations[i][-1][:16], truth["last_vector_first16"], rtol=1e-6)
    (pngs,), (later,) = truth["png_per_message"], truth["observations_field13_per_message"]
    assert sum(spec.kind == "image" for spec in read.spec.observations) == pngs + later
    assert read.spec.action.continuous_size + len(read.spec.action.discrete_branches) == acts
    chosen = columns["action.continuous" if read.spec.action.continuous_size else "action.discrete"]
    np.testing.assert_allclose(chosen[0], truth["action_before_second"], rtol=1e-6)
    np.testing.assert_allclose(chosen[-1], truth["action_before_last"], rtol=1e-6)


@pytest.mark.parametrize(("converted", "recorded"), [("d10", "d13"), ("d11", "d14")])
def test_a_converted_recording_is_the_one_it_was_converted_from(converted: str, recorded: str) -> None:
    first, second = read_demonstrations(named(converted)), read_demonstrations(named(recorded))
    assert differing_columns(first, second) == []


def test_agents_of_a_recording_have_their_own_episodes() -> None:
    read: Demonstration = read_demonstrations(named("d12"))
    truth = expected(named("d12"))["load_demonstration"]
    episodes = read.episodes
    assert len(np.unique(episodes.columns["agent_id"])) == truth["distinct_agent_ids"]
    assert len(episodes.lengths) == truth["n_done"] + 1
    assert episodes.columns["truncated"].sum() == truth["n_max_step_reached"] + 1  # the last one stopped there
    assert (np.cumsum(episodes.lengths + 1) - 1)[:10].tolist() == truth["done_indices_first10"]


def test_masks_of_a_recording_stay_with_their_observation() -> None:
    read = read_demonstrations(named("d05"))
    truth = expected(named("d05"))["load_demonstration"]
    mask = read.episodes.columns["action_mask"]
    assert mask[truth["first_masked"]["index"]].tolist() == [not value for value in truth["first_masked"]["mask"]]
    assert math.isclose((~mask).sum(), truth["masked_actions_total"], abs_tol=1)  # the last record has no transition

"""From the rows of a replay buffer of ML-Agents to pieces of episodes.

The buffer appends what each agent did in pieces of at most `time_horizon` rows, pads them to whole sequences where the
policy has memory, and forgets the oldest rows. It does not say which rows are of one episode: a row follows the one
before it where it sees what that one says came next, and begins a piece of its own otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from agents_core.columns import Array, Columns
from agents_core.demonstrations import Demonstration, RecordSummary
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

from agents_env_unity.config import ReplayBufferConfig
from agents_env_unity.replay_buffer.actions import Acted, read_actions
from agents_env_unity.replay_buffer.datasets import REWARD, Bools, Datasets
from agents_env_unity.replay_buffer.observations import Seen, read_observations

_COMPARED_NUMBERS = 1 << 22
"""How many are compared at once."""


def read_transitions(data: Datasets, config: ReplayBufferConfig) -> Demonstration:
    """Every row that is no padding, as a transition of a piece of an episode.

    Raises:
        DemonstrationError: What every buffer holds is missing, damaged or contradicts itself.
    """
    data.kept = _kept(data)
    if not data.kept.any():
        raise data.error("it holds no transition")
    seen = read_observations(data, config.images)
    acted = read_actions(data, config.branches)
    fields = {"reward": data.read(REWARD, ()), "done": data.read("done", ()) != 0}
    if "group_reward" in data and (group_reward := data.read("group_reward", ())).any():
        fields["group_reward"] = group_reward
    title = "next_obs of the same row" if seen[0].after is not None else "obs of the next row"
    summary = RecordSummary(data.rows, float(fields["reward"].sum(dtype=np.float64)), title)
    spec = BehaviorSpec(tuple(one.spec for one in seen), acted.spec)
    return Demonstration(spec, _pieces(data, seen, acted, fields), "", summary, tuple(data.warnings))


def _kept(data: Datasets) -> Bools:
    """Rows that are no padding: `masks` says so, and without it those in which anything is not 0."""
    if "masks" in data:
        return np.asarray(data.read("masks", ()) != 0)
    kept = np.zeros(data.rows, np.bool_)
    for name in data:
        if name in ("continuous_action", "discrete_action", "done", REWARD) or name.startswith("obs:"):
            for (rows, *_), block in data.all_blocks(name):
                kept[rows] |= block.reshape(len(block), -1).any(axis=1)
    if not kept.all():
        data.warn(f"{int((~kept).sum())} rows hold nothing but zeros and are taken for padding, as there are no masks")
    return kept


def _pieces(data: Datasets, seen: Sequence[Seen], acted: Acted, fields: dict[str, Array]) -> Trajectories:
    """Neighbours that follow one another make a piece; it is truncated where no `done` ends it."""
    done = fields.pop("done")
    is_last = ~_is_followed(data, seen, done)
    ends = np.flatnonzero(is_last)
    lengths = np.diff(ends, prepend=-1)
    finals = [(one.now if one.after is None else one.after)[ends] for one in seen]
    fields.update({"action.continuous": acted.continuous, "action.discrete": acted.discrete, "terminated": done})
    if acted.mask is not None:
        fields["action_mask"] = acted.mask
    fields.update({f"obs.{i}": one.now for i, one in enumerate(seen)})
    if seen[0].after is None:  # What followed the last row of a piece is nowhere; it is what the row before saw next.
        is_cut = is_last & ~done
        lengths = lengths - is_cut[ends]
        finals = [final[lengths > 0] for final in finals]
        lengths = lengths[lengths > 0]
        fields = {name: array[~is_cut] for name, array in fields.items()}
    last = np.cumsum(lengths) - 1
    fields["truncated"] = np.zeros(len(fields["terminated"]), np.bool_)
    fields["truncated"][last] = ~fields["terminated"][last]
    fields["agent_id"] = np.zeros(len(fields["terminated"]), np.int64)
    fields["episode_id"] = np.repeat(np.arange(len(lengths)), lengths)
    return Trajectories(Columns(fields), lengths, tuple(finals))


def _is_followed(data: Datasets, seen: Sequence[Seen], done: Array) -> Bools:
    """Which rows the next one follows: the next of the file where nothing says what came next."""
    followed = np.zeros(len(done), np.bool_)
    followed[:-1] = ~done[:-1]
    if seen[0].after is None:
        followed[:-1] &= np.diff(np.flatnonzero(data.kept)) == 1
    for one in seen:
        if one.after is None:
            continue
        rows = max(1, _COMPARED_NUMBERS // max(one.spec.size, 1))
        for start in range(0, len(done) - 1, rows):
            stop = min(start + rows, len(done) - 1)
            same = one.after[start:stop] == one.now[start + 1 : stop + 1]
            followed[start:stop] &= same.reshape(stop - start, -1).all(axis=1)
    return followed

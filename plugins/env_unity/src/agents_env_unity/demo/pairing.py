"""From records to transitions: which observation, action, reward and end belong together.

The Unity recorder writes a record when an agent asks for a decision: what it sees, the reward since its last record,
and the action that is stored, which is the one chosen *before*. The action that was chosen on an observation stands in
the agent's next record. Files that Unity converted from flat records hold it in the same record, and their last record
has none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
from agents_core.columns import Array, Columns
from agents_core.demonstrations import Demonstration, RecordSummary
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.trajectory import Trajectories

from agents_env_unity.demo.errors import damaged
from agents_env_unity.demo.records import Records

Int64s = npt.NDArray[np.int64]
Pairing = Literal["auto", "ml-agents"]


@dataclass(frozen=True, slots=True)
class _Plan:
    """Which records make the transitions.

    Attributes:
        title: How they were chosen.
        seen: int64[n], records whose observation it is.
        acted: int64[n], records whose action it is.
        after: int64[n], records whose reward and end it is.
        lengths: int64[m], transitions of each episode.
        truncates: Whether `max_step_reached` counts.
    """

    title: str
    seen: Int64s
    acted: Int64s
    after: Int64s
    lengths: Int64s
    truncates: bool = True


def pair(records: Records, action: ActionSpec, behavior: str, path: Path, pairing: Pairing) -> Demonstration:
    """Make transitions of records.

    Raises:
        DemonstrationError: An action that is needed is missing, or is not among the choices.
    """
    warnings = list(records.warnings)
    if pairing == "ml-agents":
        plan = _plan_of_ml_agents(records)
    else:
        plan = _plan(records, path, warnings)
        _check_actions(records, plan, action, path, warnings)
    summary = RecordSummary(len(records), float(records.columns["reward"].sum(dtype=np.float64)), plan.title)
    episodes = _episodes(records, plan, action)
    largest = np.abs(episodes.columns["action.continuous"]).max(initial=0.0)
    spec = BehaviorSpec(_unique_names(records.specs), replace(action, bounded=bool(largest <= 1)))
    return Demonstration(spec, episodes, behavior, summary, tuple(warnings))


def _plan(records: Records, path: Path, warnings: list[str]) -> _Plan:
    """By agent and episode; the last observation of each is followed by nothing."""
    order, lengths = _segments(records.columns["id"], records.columns["done"])
    is_last = np.zeros(len(order), np.bool_)
    is_last[np.cumsum(lengths) - 1] = True
    places = np.flatnonzero(~is_last)
    seen, after = order[places], order[places + 1]
    transitions = lengths - 1
    transitions = transitions[transitions > 0]
    if _holds_own_action(records, path, warnings):
        return _Plan("auto: action of the same record", seen, seen, after, transitions)
    return _Plan("auto: action of the next record", seen, after, after, transitions)


def _plan_of_ml_agents(records: Records) -> _Plan:
    """Each record with the next one of the file, whoever's it is; an end is an end, whatever its reason."""
    seen = np.arange(len(records) - 1)
    after = seen + 1
    ends = np.flatnonzero(records.columns["done"][after])
    if len(seen) and (not len(ends) or ends[-1] != len(seen) - 1):
        ends = np.append(ends, len(seen) - 1)
    return _Plan("ml-agents", seen, seen, after, np.diff(ends, prepend=-1), truncates=False)


def _segments(agent: npt.NDArray[np.int32], done: npt.NDArray[np.bool_]) -> tuple[Int64s, Int64s]:
    """Records by episode, in the order of their first records; and the number of records of each episode."""
    is_new = agent[1:] != agent[:-1]
    if not (is_new & ~done[:-1]).any():  # One episode after another, as nearly every recorder writes them.
        ends = np.append(np.flatnonzero(done[:-1]), len(agent) - 1)
        return np.arange(len(agent)), np.diff(ends, prepend=-1)
    by_agent = np.argsort(agent, kind="stable")
    begins = np.ones(len(agent), np.bool_)
    begins[1:] = (agent[by_agent][1:] != agent[by_agent][:-1]) | done[by_agent][:-1]
    segment = np.empty(len(agent), np.int64)
    segment[by_agent] = np.cumsum(begins) - 1
    first = by_agent[begins]
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    rank_of_record = rank[segment]
    return np.argsort(rank_of_record, kind="stable"), np.bincount(rank_of_record)


def _holds_own_action(records: Records, path: Path, warnings: list[str]) -> bool:
    """Whether a record's action was chosen on the observation of the same record.

    So it is where the last record has no action. Where the last record is missing, an action in the very first one
    tells: a recorder that lags has nothing to write there.
    """
    if records.kind != "deprecated":
        return False
    columns = records.columns
    if not columns["has_action"][-1]:
        return True
    if records.ends_early and (columns["action.continuous"][0].any() or columns["action.discrete"][0].any()):
        warnings.append(
            f"{path}: the file is cut, so that its first action decides: it is not zero, and each action is taken to "
            "belong to the observation of the same record"
        )
        return True
    return False


def _check_actions(records: Records, plan: _Plan, action: ActionSpec, path: Path, warnings: list[str]) -> None:
    """Refuse what lacks an action; warn of one that is not among the choices, which the file holds all the same."""
    columns, used = records.columns, plan.acted
    missing = ~columns["has_action"][used]
    if missing.any():
        record = int(used[np.argmax(missing)])
        raise damaged(path, int(columns["offset"][record]), f"record {record + 1} has no action")
    chosen = columns["action.discrete"][used]
    wrong = ((chosen < 0) | (chosen >= np.array(action.discrete_branches, np.int64))).any(axis=1)
    if wrong.any():
        record = int(used[np.argmax(wrong)])
        found = columns["action.discrete"][record].tolist()
        warnings.append(
            f"{path}: byte {int(columns['offset'][record])}: record {record + 1}: discrete action {found} is outside "
            f"of branches {action.discrete_branches}; {int(wrong.sum())} of {len(used)} transitions are like it"
        )


def _episodes(records: Records, plan: _Plan, action: ActionSpec) -> Trajectories:
    """The columns of transitions; those of the records are taken out on the way, to save memory."""
    columns, lengths = records.columns, plan.lengths
    last = np.cumsum(lengths) - 1
    ended = columns["done"][plan.after]
    truncated = columns["max_step"][plan.after] & ended & plan.truncates
    fields: dict[str, Array] = {
        "action.continuous": columns.pop("action.continuous")[plan.acted],
        "action.discrete": columns.pop("action.discrete")[plan.acted],
        "reward": columns["reward"][plan.after],
        "terminated": ended & ~truncated,
        "truncated": truncated,
        "agent_id": columns["id"][plan.seen].astype(np.int64),
        "episode_id": np.repeat(np.arange(len(lengths)), lengths),
    }
    fields["truncated"][last] |= ~ended[last]  # the recording stopped there
    if "mask" in columns:
        mask = columns.pop("mask")[plan.seen]
        if not mask.all() and action.discrete_branches:
            fields["action_mask"] = mask
    if "group_id" in columns and columns["group_id"].any():
        fields["group_id"] = columns["group_id"][plan.seen].astype(np.int64) - 1  # 0 on the wire: in no group
        fields["group_reward"] = columns["group_reward"][plan.after]
    finals = []
    for i in range(len(records.specs)):
        array = columns.pop(f"obs.{i}")
        finals.append(array[plan.after[last]])
        fields[f"obs.{i}"] = array[plan.seen]
    return Trajectories(Columns(fields), lengths, tuple(finals))


def _unique_names(specs: tuple[ObservationSpec, ...]) -> tuple[ObservationSpec, ...]:
    """A name that came before gets the place behind it."""
    names: set[str] = set()
    unique = []
    for i, spec in enumerate(specs):
        name = spec.name
        while name in names:
            name = f"{name}_{i}"
        names.add(name)
        unique.append(replace(spec, name=name))
    return tuple(unique)

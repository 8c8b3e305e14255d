"""Several demonstrations of one behavior as one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from agents_core.columns import Array, Columns
from agents_core.contracts.demonstration import Demonstration, RecordSummary
from agents_core.trajectory import Trajectories

_MISSING = {"action_mask": True, "group_id": -1, "group_reward": 0}
"""What an optional column holds for the part that lacks it."""


def joined(parts: Sequence[Demonstration]) -> Demonstration:
    """The episodes of all parts, one part after another; they must share a spec. One part is given back as it is."""
    if len(parts) == 1:
        return parts[0]
    names = dict.fromkeys(name for part in parts for name in part.episodes.columns)
    fields = {name: np.concatenate([_column(part, name, parts) for part in parts]) for name in names}
    fields["episode_id"] = _numbered(parts)
    episodes = Trajectories(
        Columns(fields),
        np.concatenate([part.episodes.lengths for part in parts]),
        tuple(np.concatenate(arrays) for arrays in zip(*(part.episodes.final_observations for part in parts))),  # noqa: B905
    )
    return replace(
        parts[0],
        episodes=episodes,
        summary=_summary([part.summary for part in parts]),
        warnings=tuple(warning for part in parts for warning in part.warnings),
    )


def _column(part: Demonstration, name: str, parts: Sequence[Demonstration]) -> Array:
    columns = part.episodes.columns
    if name in columns:
        return columns[name]
    model = next(other.episodes.columns[name] for other in parts if name in other.episodes.columns)
    return np.full((len(columns), *model.shape[1:]), _MISSING[name], model.dtype)


def _numbered(parts: Sequence[Demonstration]) -> Array:
    """int64[n], episode ids that are unique over all parts."""
    ids, first = [], 0
    for part in parts:
        own = part.episodes.columns["episode_id"]
        ids.append(own - own.min() + first)
        first += int(own.max() - own.min()) + 1
    return np.concatenate(ids)


def _summary(summaries: Sequence[RecordSummary | None]) -> RecordSummary | None:
    known = [summary for summary in summaries if summary is not None]
    if not known or len(known) < len(summaries):
        return None
    return RecordSummary(
        sum(summary.records for summary in known),
        sum(summary.reward_sum for summary in known),
        ", ".join(dict.fromkeys(summary.pairing for summary in known)),
    )

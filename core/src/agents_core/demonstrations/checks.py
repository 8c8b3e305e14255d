"""What every demonstration must be, whatever file it came from."""

from __future__ import annotations

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.demonstration import Demonstration, DemonstrationError

_FLAGS = ("terminated", "truncated")
_COUNTS = ("agent_id", "episode_id")


def check_demonstration(demonstration: Demonstration, source: str) -> None:
    """Refuse what is no demonstration.

    Raises:
        DemonstrationError: There is no transition, an array has not the shape or type of the spec, or a number is not
            finite; the message names the source and the first row.
    """
    if not len(demonstration):
        raise DemonstrationError(f"{source}: it holds no transition; record at least one decision and what followed it")
    _check_arrays(demonstration, source)
    _check_numbers(demonstration, source)


def _check_arrays(demonstration: Demonstration, source: str) -> None:
    episodes, columns = demonstration.episodes, demonstration.episodes.columns
    expected = expected_columns(demonstration)
    for name, (dtype, shape) in expected.items():
        if name not in columns:
            raise DemonstrationError(f"{source}: it has no column {name!r}")
        array = columns[name]
        if array.dtype != dtype or array.shape[1:] != shape:
            raise DemonstrationError(
                f"{source}: column {name!r} is {array.dtype}{list(array.shape[1:])} a row, expected "
                f"{dtype}{list(shape)}"
            )
    lengths = episodes.lengths
    if (lengths < 1).any() or lengths.sum() != len(columns):
        raise DemonstrationError(f"{source}: lengths of episodes do not add up to {len(columns)} transitions")
    for spec, final in zip(demonstration.spec.observations, episodes.final_observations, strict=True):
        if final.shape != (len(lengths), *spec.shape) or final.dtype != spec.numpy_dtype:
            raise DemonstrationError(f"{source}: final observations of {spec.name!r} do not fit the others")
    ended = columns["terminated"] | columns["truncated"]
    ends = np.zeros(len(columns), np.bool_)
    ends[episodes.last_rows] = True
    if not np.array_equal(ended, ends):
        row = int(np.argmax(ended != ends))
        raise DemonstrationError(f"{source}: the end of an episode and its border do not agree at transition {row}")


def expected_columns(demonstration: Demonstration) -> dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]]:
    """Type and shape a row of each column that must be there, and of the optional ones that are."""
    action = demonstration.spec.action
    expected: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]] = {
        f"obs.{i}": (spec.numpy_dtype, spec.shape) for i, spec in enumerate(demonstration.spec.observations)
    }
    expected["action.continuous"] = (np.dtype(np.float32), (action.continuous_size,))
    expected["action.discrete"] = (np.dtype(np.int64), (len(action.discrete_branches),))
    expected["reward"] = (np.dtype(np.float32), ())
    expected.update({name: (np.dtype(np.bool_), ()) for name in _FLAGS})
    expected.update({name: (np.dtype(np.int64), ()) for name in _COUNTS})
    optional: dict[str, tuple[np.dtype[np.generic], tuple[int, ...]]] = {
        "action_mask": (np.dtype(np.bool_), (action.mask_size,)),
        "group_id": (np.dtype(np.int64), ()),
        "group_reward": (np.dtype(np.float32), ()),
    }
    expected.update({name: kind for name, kind in optional.items() if name in demonstration.episodes.columns})
    return expected


def _check_numbers(demonstration: Demonstration, source: str) -> None:
    named: dict[str, Array] = dict(demonstration.episodes.columns.fields)
    for i, final in enumerate(demonstration.episodes.final_observations):
        named[f"final observation {i}"] = final
    for name, array in named.items():
        if array.dtype.kind != "f":
            continue
        # A sum is finite unless a term is not, or it overflows; only then is every number looked at.
        if np.isfinite(array.sum(dtype=np.float64)):
            continue
        bad = ~np.isfinite(array.reshape(len(array), -1)).all(axis=1)
        if bad.any():
            raise DemonstrationError(f"{source}: {name} is not finite at row {int(np.argmax(bad))}")


def wrong_choices(demonstration: Demonstration, source: str) -> str | None:
    """What there is to say of discrete actions that are none of the choices; people have recorded such files."""
    branches = demonstration.spec.action.discrete_branches
    chosen = demonstration.episodes.columns["action.discrete"]
    wrong = np.asarray(((chosen < 0) | (chosen >= np.array(branches, np.int64))).any(axis=1))
    if not wrong.any():
        return None
    row = int(np.argmax(wrong))
    return (
        f"{source}: discrete action {chosen[row].tolist()} of transition {row} is outside of branches {branches}, "
        f"and so are those of {int(wrong.sum())} of {len(wrong)} transitions; nothing can be learned from it"
    )

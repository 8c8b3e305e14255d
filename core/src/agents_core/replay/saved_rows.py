"""The rows of a buffer as arrays to be saved, piece by piece, and back.

A piece holds transitions with consecutive numbers: the fields of each under their names, the number of the transition
that it follows (`predecessor`, -1 = none that is kept), and for those that nothing followed yet, by number
(`end.number`), what was seen next (`end.obs.<i>`, `end.action_mask`). What a piece says stays true while more
transitions come, so that saving again needs only the new ones.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.replay.agents import NONE
from agents_core.replay.layout import Field, fields_of
from agents_core.replay.linked_rows import LinkedRows

Int64s = npt.NDArray[np.int64]

PREDECESSOR = "predecessor"
END = "end."
END_NUMBER = "end.number"
"""Arrays whose name starts with `END` have a row only for the numbers that `END_NUMBER` lists."""

_GROUP_REWARD = {"group_reward": Field((), np.dtype(np.float32))}
_MAY_LACK = ("action_mask", "memory.actor", *_GROUP_REWARD)
"""Fields that only some transitions have."""


def export_rows(rows: LinkedRows, first: int, last: int, predecessors: Int64s) -> dict[str, Array]:
    """The piece of transitions `first` to `last` (exclusive); views where possible.

    Args:
        rows: Where they are.
        first: Number of the first.
        last: Number after the last.
        predecessors: As `find_predecessors` gives them.
    """
    start = first % rows.ring
    is_together = start + last - first <= rows.ring
    places = slice(start, start + last - first) if is_together else rows.rows_of(np.arange(first, last))
    columns = rows.store.columns
    successor = rows.successor[places]
    ends = np.flatnonzero(~rows.are_transitions(successor))
    piece = {name: columns[name][places] for name in rows.names}
    piece[PREDECESSOR] = predecessors[places]
    piece[END_NUMBER] = ends + first
    for name in rows.names:
        if name in rows.store.followed:
            piece[f"{END}{name}"] = columns[name][successor[ends]]
    return piece


def find_predecessors(rows: LinkedRows) -> Int64s:
    """int64[ring], number of the transition that each row follows."""
    rows.note()
    numbers = np.arange(rows.total - len(rows), rows.total)
    successor = rows.successor[rows.rows_of(numbers)]
    is_followed = rows.are_transitions(successor)
    predecessors = np.full(rows.ring, NONE)
    predecessors[successor[is_followed]] = numbers[is_followed]
    return predecessors


def saved_fields(fields: Mapping[str, Field]) -> dict[str, Field]:
    """What a piece may hold of transitions with these fields."""
    fields = {**fields, **_GROUP_REWARD}
    number = Field((), np.dtype(np.int64))
    ends = {f"{END}{name}": field for name, field in fields.items() if field.follower}
    return {**fields, **ends, PREDECESSOR: number, END_NUMBER: number}


def check_fields(found: Mapping[str, Field], wanted: Mapping[str, Field], needed: Collection[str]) -> None:
    """Compare what was saved with what is to be.

    Args:
        found: Fields that were saved.
        wanted: Fields as they are here.
        needed: Names of those that must have been saved.

    Raises:
        ValueError: The message names the fields that differ, as they were saved and as they are here.
    """
    differences = [
        f"{name}: saved {found.get(name, 'nothing')}, here {wanted.get(name, 'nothing')}"
        for name in sorted({*found, *needed})
        if str(found.get(name)) != str(wanted.get(name))
    ]
    if differences:
        raise ValueError("; ".join(differences))


def check_piece(rows: LinkedRows, piece: Mapping[str, Array]) -> None:
    """Refuse a piece that these rows would not have exported.

    Raises:
        ValueError: It has other fields, arrays of different lengths, or numbers that are not finite.
    """
    fields = {name: field for name, field in rows.store.fields.items() if name != "successor"}
    wanted = saved_fields(fields)
    needed = [name for name, field in fields.items() if field.size and name not in _MAY_LACK]
    ends = [f"{END}{name}" for name, field in fields.items() if field.follower and field.size and name in piece]
    check_fields(fields_of(piece, piece), wanted, [*needed, *ends, PREDECESSOR, END_NUMBER])
    count, end_count = len(piece[PREDECESSOR]), len(piece[END_NUMBER])
    for name, array in piece.items():
        if len(array) != (end_count if name.startswith(END) else count):
            raise ValueError(f"{name} has {len(array)} rows for {count} transitions with {end_count} ends")
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{name} holds a number that is not finite")


def import_rows(rows: LinkedRows, piece: Mapping[str, Array], oldest: int) -> None:
    """Append a piece, as `export_rows` gave it with the numbers that follow.

    Args:
        rows: Where to; it must not wrap over transitions from `oldest` on.
        piece: What to append, its numbers made to fit.
        oldest: Number of the oldest transition that is kept.

    Raises:
        ValueError: A transition follows one that does not come before it.
    """
    rows.admit(filter(_is_field, piece), piece)
    count = len(piece[PREDECESSOR])
    numbers = np.arange(rows.total, rows.total + count)
    places = rows.rows_of(numbers)
    for name in rows.names:
        rows.store.columns[name][places] = piece[name] if name in piece else rows.store.fields[name].absent
    rows.successor[places] = NONE

    before = piece[PREDECESSOR]
    if (before >= numbers).any():
        raise ValueError(f"{PREDECESSOR} names a transition that does not come before")
    follows = before >= oldest
    before_places = rows.rows_of(before[follows])
    waiting = rows.successor[before_places]
    rows.free.give_back(waiting[waiting >= rows.ring])
    rows.successor[before_places] = places[follows]

    ends = piece[END_NUMBER]
    beyond = rows.take_beyond(len(ends))
    rows.successor[rows.rows_of(ends)] = beyond
    for name in rows.store.followed:
        if name in rows.names:
            end = f"{END}{name}"
            rows.store.columns[name][beyond] = piece[end] if end in piece else rows.store.fields[name].absent
    rows.total += count


def _is_field(name: str) -> bool:
    return name != PREDECESSOR and not name.startswith(END)


def trimmed(piece: Mapping[str, Array], first: int, oldest: int) -> dict[str, Array]:
    """A piece whose first number is `first` without the transitions before `oldest`."""
    skipped = max(0, oldest - first)
    is_kept = piece[END_NUMBER] >= oldest
    return {name: array[is_kept] if name.startswith(END) else array[skipped:] for name, array in piece.items()}


def shifted(piece: Mapping[str, Array], shift: int) -> dict[str, Array]:
    """A piece with other numbers: `shift` is added to each."""
    predecessor = piece[PREDECESSOR]
    moved = np.where(predecessor == NONE, NONE, predecessor + shift)
    return {**piece, PREDECESSOR: moved, END_NUMBER: piece[END_NUMBER] + shift}

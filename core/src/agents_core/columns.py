"""Tables of experience: one row per agent decision, one array per field.

Field names are shared by NumPy tables on the host (`Columns`) and torch tables on the training device (`Batch`):

| field | dtype and shape | meaning |
| --- | --- | --- |
| `obs.<i>` | the observation's own, [n, *shape] | i-th observation of the behavior |
| `next_obs.<i>` | as `obs.<i>` | the same agent's next observation, its final one where the episode ended |
| `action.continuous` | float32 [n, continuous] | what was executed, in [-1, 1] where the space is bounded |
| `action.raw` | float32 [n, continuous] | the sample before clipping or squashing; serves log-probabilities only |
| `action.discrete` | int64 [n, branches] | chosen index of each branch |
| `action_mask` | bool [n, sum of branches] | True = allowed |
| `next_action_mask` | as `action_mask` | at the next observation; all True where the episode ended |
| `log_prob` | float32 [n] | joint log-probability of the action when it was taken |
| `reward`, `group_reward` | float32 [n] | what the environment gave for the action |
| `terminated`, `truncated` | bool [n] | the episode ended here: by the task, or cut off by a limit |
| `agent_id`, `episode_id`, `tick`, `group_id` | int64 [n] | who acted, in which episode, at which environment step |
| `memory.actor`, `memory.critic` | float32 [n, memory] | recurrent state before the row, at sequence starts |
| `rewards.<signal>`, `values.<signal>`, `returns.<signal>`, `advantage` | float32 [n] | what a trainer computed |
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Array = npt.NDArray[Any]


class Columns:
    """NumPy arrays of one length under the field names above.

    Attributes:
        fields: The arrays by name.

    Raises:
        ValueError: When the fields differ in length.
    """

    __slots__ = ("_rows", "fields")

    def __init__(self, fields: Mapping[str, Array]) -> None:
        lengths = {name: len(array) for name, array in fields.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns differ in length: {lengths}")
        self.fields: Mapping[str, Array] = dict(fields)
        self._rows = next(iter(lengths.values()), 0)

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self.fields)

    def __contains__(self, name: str) -> bool:
        return name in self.fields

    def __getitem__(self, name: str) -> Array:
        return self.fields[name]

    @property
    def observations(self) -> tuple[Array, ...]:
        """`obs.0`, `obs.1`, … in the behavior's order."""
        return numbered(self.fields, "obs")

    def take(self, rows: npt.NDArray[np.int64] | slice) -> Columns:
        """The given rows as a new table (a view for a slice)."""
        return Columns({name: array[rows] for name, array in self.fields.items()})


class Batch:
    """Torch tensors of one length on one device, under the same names as `Columns`.

    A field may be given as a function without arguments; it is called when the field is first read.
    """

    __slots__ = ("_fields", "_rows")

    def __init__(self, fields: Mapping[str, torch.Tensor | Callable[[], torch.Tensor]], rows: int) -> None:
        self._fields = dict(fields)
        self._rows = rows

    def __len__(self) -> int:
        return self._rows

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields)

    def __contains__(self, name: str) -> bool:
        return name in self._fields

    def __getitem__(self, name: str) -> torch.Tensor:
        value = self._fields[name]
        if callable(value) and not hasattr(value, "dtype"):
            value = self._fields[name] = value()
        return value  # type: ignore[return-value]

    @property
    def observations(self) -> tuple[torch.Tensor, ...]:
        """`obs.0`, `obs.1`, … in the behavior's order."""
        return tuple(self[name] for name in numbered_names(self._fields, "obs"))

    @property
    def next_observations(self) -> tuple[torch.Tensor, ...]:
        """`next_obs.0`, `next_obs.1`, … in the behavior's order."""
        return tuple(self[name] for name in numbered_names(self._fields, "next_obs"))

    def take(self, rows: torch.Tensor) -> Batch:
        """The given rows (int64) as a new batch; fields that nobody reads are not gathered."""
        return Batch({name: _later(self, name, rows) for name in self._fields}, len(rows))


def _later(batch: Batch, name: str, rows: torch.Tensor) -> Callable[[], torch.Tensor]:
    return lambda: batch[name].index_select(0, rows)


def numbered_names(fields: Mapping[str, object], prefix: str) -> list[str]:
    """`prefix.0`, `prefix.1`, … as far as they are present."""
    names: list[str] = []
    while (name := f"{prefix}.{len(names)}") in fields:
        names.append(name)
    return names


def numbered(fields: Mapping[str, Array], prefix: str) -> tuple[Array, ...]:
    """The arrays `prefix.0`, `prefix.1`, … as far as they are present."""
    return tuple(fields[name] for name in numbered_names(fields, prefix))

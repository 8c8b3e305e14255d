"""Recurrent layers, and which rows of a table follow one another in them."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from agents_core.options import MemoryConfig

Int64s = npt.NDArray[np.int64]


class Sequences:
    """Rows in sequences of different lengths, one after another, each in the order of time.

    They go through a recurrent layer packed: first the first row of every sequence, the longest sequence first, then
    the second row of each that has one, and so on. There are no rows of padding that could count for anything.

    Args:
        lengths: int64[m], rows of each sequence, at least 1.
        device: Of the rows.
    """

    def __init__(self, lengths: Int64s, device: torch.device) -> None:
        by_length = np.argsort(-lengths, kind="stable")
        rank = np.argsort(by_length, kind="stable")
        starts = np.cumsum(lengths) - lengths
        time = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
        order = np.lexsort((np.repeat(rank, lengths), time))
        self._by_length = torch.from_numpy(by_length).to(device)
        self._rank = torch.from_numpy(rank).to(device)
        self._row_of_place = torch.from_numpy(order).to(device)
        self._place_of_row = torch.from_numpy(np.argsort(order, kind="stable")).to(device)
        self._rows_of_time = torch.from_numpy(np.bincount(time))  # Packed sequences want it on the host.

    def pack(self, rows: Tensor) -> PackedSequence:
        """Rows [n, size] as a recurrent layer takes them."""
        return PackedSequence(rows.index_select(0, self._row_of_place), self._rows_of_time)

    def unpack(self, packed: PackedSequence) -> Tensor:
        """The rows [n, size] of what a recurrent layer gave."""
        return packed.data.index_select(0, self._place_of_row)

    def pack_state(self, state: Tensor) -> Tensor:
        """A state for each sequence [m, size], in the order in which they are packed."""
        return state.index_select(0, self._by_length)

    def unpack_state(self, state: Tensor) -> Tensor:
        """The inverse of `pack_state`."""
        return state.index_select(0, self._rank)


class Memory(nn.Module):
    """One recurrent layer; the zero state is that of an episode's start.

    Attributes:
        output_size: Width of its output.
        state_size: Numbers in the state of an agent: the output before, and of an LSTM the cell, side by side.
    """

    def __init__(self, config: MemoryConfig, inputs: int, generator: torch.Generator) -> None:
        super().__init__()
        self.layer: nn.LSTM | nn.GRU = _LAYERS[config.type](inputs, config.size)
        self.output_size = config.size
        self._parts = 2 if config.type == "lstm" else 1
        self.state_size = self._parts * config.size
        _initialise(self.layer, config.type, generator)

    def step(self, inputs: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step of n agents: output [n, output_size] and the next state [n, state_size].

        Args:
            inputs: float32[n, inputs].
            state: float32[n, state_size].
        """
        if not len(inputs):
            return inputs.new_empty(0, self.output_size), state
        outputs, after = self.layer(inputs[None], self._split(state))
        return outputs[0], self._join(after)

    def unroll(self, inputs: Tensor, sequences: Sequences, state: Tensor) -> tuple[Tensor, Tensor]:
        """Output after each row [n, output_size] and the state after each sequence [m, state_size].

        Args:
            inputs: float32[n, inputs], the rows of the sequences.
            sequences: How they follow one another.
            state: float32[m, state_size], before the first row of each.
        """
        outputs, after = self.layer(sequences.pack(inputs), self._split(sequences.pack_state(state)))
        return sequences.unpack(outputs), sequences.unpack_state(self._join(after))

    def _split(self, state: Tensor) -> Any:
        """As torch takes it: [1, n, size], of an LSTM a pair."""
        parts = tuple(part.contiguous()[None] for part in state.chunk(self._parts, dim=1))
        return parts if self._parts > 1 else parts[0]

    def _join(self, state: Any) -> Tensor:
        return torch.cat([part[0] for part in state], dim=1) if self._parts > 1 else state[0]


class _UndrawnLstm(nn.LSTM):
    """A plain one would first draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""


class _UndrawnGru(nn.GRU):
    """A plain one would first draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        """Leave the weights to the caller."""


_LAYERS: dict[str, type[nn.LSTM] | type[nn.GRU]] = {"lstm": _UndrawnLstm, "gru": _UndrawnGru}


@torch.no_grad()
def _initialise(layer: nn.LSTM | nn.GRU, kind: Literal["lstm", "gru"], generator: torch.Generator) -> None:
    """Inputs Xavier-uniform, recurrent weights orthogonal, gate by gate; biases 0, of an LSTM's forget gate 1."""
    size, parameters = layer.hidden_size, dict(layer.named_parameters())
    for gate in range(len(parameters["bias_ih_l0"]) // size):
        rows = slice(gate * size, (gate + 1) * size)
        nn.init.xavier_uniform_(parameters["weight_ih_l0"][rows], generator=generator)
        nn.init.orthogonal_(parameters["weight_hh_l0"][rows], generator=generator)
    parameters["bias_ih_l0"].zero_()
    parameters["bias_hh_l0"].zero_()
    if kind == "lstm":
        # Of input, forget, cell, output. To remember is easier unlearned than learned (Jozefowicz et al. 2015).
        parameters["bias_ih_l0"][size : 2 * size] = 1.0

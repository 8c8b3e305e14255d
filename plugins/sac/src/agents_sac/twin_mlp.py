"""The critics' perceptrons by hand: forward and backward passes of both twins at once, over torch's memory.

As `agents_core.networks.plain_mlp`, with a stack of weights in the place of one: hidden arrays are
[twins, features, rows] and carry a row of ones, so that a product with [twins, out, in + 1] blocks applies weights and
bias at once.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from agents_core.networks.plain_mlp import ACTIVATIONS, aligned
from torch import Tensor

from agents_sac.critics import TWINS, Critics

Floats = npt.NDArray[np.float32]


class _Hidden:
    """Memory of one hidden layer; tensors and arrays are views of the same numbers."""

    def __init__(self, width: int, rows: int) -> None:
        self.with_ones = aligned(TWINS, width + 1, rows)
        self.with_ones[:, -1] = 1
        self.transposed = self.with_ones.transpose(1, 2)
        self.tensor = self.with_ones[:, :-1]
        self.array: Floats = self.tensor.numpy()
        self.gradient = aligned(TWINS, width, rows)
        self.gradient_array: Floats = self.gradient.numpy()
        self.kept = np.empty((TWINS, width, rows), np.float32)


class _Workspace:
    """Memory of one forward and backward pass over a number of rows."""

    def __init__(self, widths: Sequence[int], rows: int) -> None:
        inputs = aligned(rows, widths[0] + 1)
        inputs[:, -1] = 1
        self.rows = rows
        self.input_array: Floats = inputs.numpy()
        self.inputs = inputs.expand(TWINS, -1, -1)
        self.transposed_inputs = self.inputs.transpose(1, 2)
        self.hidden = [_Hidden(width, rows) for width in widths[1:-1]]
        self.output = aligned(TWINS, widths[-1], rows)
        self.output_array: Floats = self.output.numpy()
        self.output_gradient = aligned(TWINS, widths[-1], rows)
        self.output_gradient_array: Floats = self.output_gradient.numpy()


class TwinMlp:
    """Linear layers with an activation between them, twice side by side over the same inputs.

    Args:
        critics: Plain ones.
    """

    def __init__(self, critics: Critics) -> None:
        self._weights = [layer.detach() for layer in critics.layers]
        self._transposed = [weights[:, :, :-1].transpose(1, 2) for weights in self._weights]
        self._gradients = [critics.flat.gradient_of(layer) for layer in critics.layers]
        self._activation = ACTIVATIONS[critics.config.activation]
        self._widths = [self._weights[0].shape[2] - 1, *(weights.shape[1] for weights in self._weights)]
        self._space = _Workspace(self._widths, 0)

    def inputs(self, rows: int) -> Floats:
        """Where `forward` reads its input from, float32[rows, in + 1]; the last column holds ones, leave them."""
        if self._space.rows != rows:
            self._space = _Workspace(self._widths, rows)
        return self._space.input_array

    def forward(self) -> Floats:
        """Outputs for `inputs`, float32[twins, out, rows], overwritten by the next call."""
        space, below = self._space, self._space.transposed_inputs
        for weights, hidden in zip(self._weights, space.hidden, strict=False):
            torch.bmm(weights, below, out=hidden.tensor)
            self._activation.apply(hidden.array, hidden.kept)
            below = hidden.with_ones
        torch.bmm(self._weights[-1], below, out=space.output)
        return space.output_array

    @property
    def output_gradient(self) -> Floats:
        """Where the backward passes read the gradient of the output from, float32[twins, out, rows]."""
        return self._space.output_gradient_array

    def backward(self) -> None:
        """Write the gradient of all layers into the critics' flat gradient, after `forward`."""
        space, above = self._space, self._space.output_gradient
        for layer in range(len(self._weights) - 1, 0, -1):
            torch.bmm(above, space.hidden[layer - 1].transposed, out=self._gradients[layer])
            above = self._through(layer, above)
        torch.bmm(above, space.inputs, out=self._gradients[0])

    def backward_to_inputs(self, columns: slice) -> Floats:
        """Gradient of some columns of the inputs, float32[columns, rows], after `forward`; weights get none."""
        above = self._space.output_gradient
        for layer in range(len(self._weights) - 1, 0, -1):
            above = self._through(layer, above)
        gradient: Floats = torch.bmm(self._transposed[0][:, columns], above).sum(dim=0).numpy()
        return gradient

    def _through(self, layer: int, above: Tensor) -> Tensor:
        """From the gradient of a layer's output to that of the output of the layer below."""
        hidden = self._space.hidden[layer - 1]
        torch.bmm(self._transposed[layer], above, out=hidden.gradient)
        self._activation.multiply_derivative(hidden.gradient_array, hidden.array, hidden.kept)
        return hidden.gradient

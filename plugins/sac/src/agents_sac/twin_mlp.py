"""The critics' perceptrons by hand: forward and backward passes of both twins at once, over torch's memory.

As `agents_core.networks.plain_mlp`, with a stack of weights in the place of one: hidden arrays are
[twins, features, rows]. All of them are contiguous, since torch's batched products are slow for others.
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
        self.tensor = aligned(TWINS, width, rows)
        self.transposed = self.tensor.transpose(1, 2)
        self.array: Floats = self.tensor.numpy()
        self.gradient = aligned(TWINS, width, rows)
        self.gradient_array: Floats = self.gradient.numpy()
        self.kept = np.empty((TWINS, width, rows), np.float32)


class _Workspace:
    """Memory of one forward and backward pass over a number of rows."""

    def __init__(self, widths: Sequence[int], rows: int) -> None:
        self.rows = rows
        self.inputs = aligned(rows, widths[0])
        self.input_array: Floats = self.inputs.numpy()
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
        self._weights = [weights.detach() for weights in critics.weights]
        self._biases = [biases.detach()[:, :, None] for biases in critics.biases]
        self._transposed = [weights.transpose(1, 2) for weights in self._weights]
        self._weight_gradients = [critics.flat.gradient_of(weights) for weights in critics.weights]
        self._bias_gradients = [critics.flat.gradient_of(biases) for biases in critics.biases]
        self._activation = ACTIVATIONS[critics.config.activation]
        self._widths = [self._weights[0].shape[2], *(weights.shape[1] for weights in self._weights)]
        self._space = _Workspace(self._widths, 0)

    def inputs(self, rows: int) -> Floats:
        """Where `forward` reads its input from, float32[rows, in]."""
        if self._space.rows != rows:
            self._space = _Workspace(self._widths, rows)
        return self._space.input_array

    def forward(self) -> Floats:
        """Outputs for `inputs`, float32[twins, out, rows], overwritten by the next call."""
        space, first = self._space, self._space.hidden[0]
        # Both twins see the same inputs: one product with both weights, one below the other.
        torch.addmm(
            self._biases[0].flatten(0, 1), self._weights[0].flatten(0, 1), space.inputs.t(), out=_both(first.tensor)
        )
        self._activation.apply(first.array, first.kept)
        below = first.tensor
        for weights, biases, hidden in zip(self._weights[1:-1], self._biases[1:-1], space.hidden[1:], strict=True):
            torch.baddbmm(biases, weights, below, out=hidden.tensor)
            self._activation.apply(hidden.array, hidden.kept)
            below = hidden.tensor
        torch.baddbmm(self._biases[-1], self._weights[-1], below, out=space.output)
        return space.output_array

    @property
    def output_gradient(self) -> Floats:
        """Where the backward passes read the gradient of the output from, float32[twins, out, rows]."""
        return self._space.output_gradient_array

    def backward(self) -> None:
        """Write the gradient of all layers into the critics' flat gradient, after `forward`."""
        space, above = self._space, self._space.output_gradient
        for layer in range(len(self._weights) - 1, 0, -1):
            torch.bmm(above, space.hidden[layer - 1].transposed, out=self._weight_gradients[layer])
            torch.sum(above, dim=2, out=self._bias_gradients[layer])
            above = self._through(layer, above)
        torch.mm(_both(above), space.inputs, out=_both(self._weight_gradients[0]))
        torch.sum(above, dim=2, out=self._bias_gradients[0])

    def backward_to_inputs(self, columns: slice) -> Floats:
        """Gradient of some columns of the inputs, float32[columns, rows], after `forward`; weights get none."""
        above = self._space.output_gradient
        for layer in range(len(self._weights) - 1, 0, -1):
            above = self._through(layer, above)
        # The sum over the twins is part of the product.
        gradient: Floats = torch.mm(_both(self._weights[0])[:, columns].t(), _both(above)).numpy()
        return gradient

    def _through(self, layer: int, above: Tensor) -> Tensor:
        """From the gradient of a layer's output to that of the output of the layer below."""
        hidden = self._space.hidden[layer - 1]
        torch.bmm(self._transposed[layer], above, out=hidden.gradient)
        self._activation.multiply_derivative(hidden.gradient_array, hidden.array, hidden.kept)
        return hidden.gradient


def _both(stack: Tensor) -> Tensor:
    """The twins' rows one below the other: [twins, a, b] as [twins · a, b]."""
    return stack.view(-1, stack.shape[2])

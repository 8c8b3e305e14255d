"""Multilayer perceptrons by hand: forward and backward passes over the memory of torch parameters.

Small networks spend their time in the overhead of operations and of automatic differentiation. Here a layer costs one
matrix product and one activation forwards, and two products and an activation's derivative backwards. Hidden arrays are
[features, rows] and carry a row of ones, so that a product with a [out, in + 1] block applies weights and bias at once.
Products are torch's, so that its thread setting holds, but for those of a few rows; the rest is NumPy, whose calls cost
less.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Array
from agents_core.networks.actor_critic import ActorCritic

Floats = npt.NDArray[np.float32]

FEW_ROWS = 64
"""Up to this many rows, a call of NumPy's product saves more than torch's faster arithmetic."""

_KEPT_WORKSPACES = 8
"""Row counts whose memory is kept: a rollout's minibatches differ by at most one row, agents come and go by a few."""


@dataclass(frozen=True, slots=True)
class Activation:
    """A non-linearity and its derivative.

    Attributes:
        apply: `apply(hidden, kept)` replaces `hidden` by its activation; may keep something in `kept`.
        multiply_derivative: `multiply_derivative(gradient, hidden, kept)` multiplies `gradient` by the derivative,
            given what `apply` left in `hidden` and `kept`; it may overwrite both.
    """

    apply: Callable[[Floats, Floats], None]
    multiply_derivative: Callable[[Floats, Floats, Floats], None]


def _tanh(hidden: Floats, kept: Floats) -> None:  # noqa: ARG001
    np.tanh(hidden, out=hidden)


def _tanh_derivative(gradient: Floats, hidden: Floats, kept: Floats) -> None:
    # 1 - tanh²
    np.multiply(hidden, hidden, out=kept)
    np.subtract(1, kept, out=kept)
    np.multiply(gradient, kept, out=gradient)


def _relu(hidden: Floats, kept: Floats) -> None:  # noqa: ARG001
    np.maximum(hidden, 0, out=hidden)


def _relu_derivative(gradient: Floats, hidden: Floats, kept: Floats) -> None:
    np.greater(hidden, 0, out=kept, casting="unsafe")
    np.multiply(gradient, kept, out=gradient)


def _swish(hidden: Floats, kept: Floats) -> None:
    # x · σ(x) with σ(x) = ½ + ½ tanh(x / 2), which cannot overflow; σ is kept.
    np.multiply(hidden, 0.5, out=kept)
    np.tanh(kept, out=kept)
    np.multiply(kept, 0.5, out=kept)
    np.add(kept, 0.5, out=kept)
    np.multiply(hidden, kept, out=hidden)


def _swish_derivative(gradient: Floats, hidden: Floats, kept: Floats) -> None:
    # σ + y (1 - σ), where y is the activation
    np.add(kept, hidden - hidden * kept, out=kept)
    np.multiply(gradient, kept, out=gradient)


ACTIVATIONS = {
    "tanh": Activation(_tanh, _tanh_derivative),
    "relu": Activation(_relu, _relu_derivative),
    "swish": Activation(_swish, _swish_derivative),
}


def aligned(*shape: int) -> Tensor:
    """Uninitialised float32 memory; its alignment is always the same, and with it the rounding of products."""
    return torch.empty(shape, dtype=torch.float32)


class _Hidden:
    """Memory of one hidden layer over a number of rows; tensors and arrays are views of the same numbers."""

    def __init__(self, width: int, rows: int) -> None:
        self.with_ones = aligned(width + 1, rows)
        self.with_ones[-1] = 1
        self.transposed = self.with_ones.t()
        self.tensor = self.with_ones[:-1]
        self.array: Floats = self.tensor.numpy()
        self.array_with_ones: Floats = self.with_ones.numpy()
        self.gradient = aligned(width, rows)
        self.gradient_array: Floats = self.gradient.numpy()
        self.kept = np.empty((width, rows), np.float32)


class _Workspace:
    """Memory of one forward and backward pass over a number of rows."""

    def __init__(self, widths: Sequence[int], rows: int) -> None:
        self.inputs = aligned(rows, widths[0] + 1)
        self.inputs[:, -1] = 1
        self.input_array: Floats = self.inputs.numpy()
        self.transposed_inputs = self.inputs.t()
        self.hidden = [_Hidden(width, rows) for width in widths[1:-1]]
        self.output = aligned(widths[-1], rows)
        self.output_array: Floats = self.output.numpy()
        self.output_gradient = aligned(widths[-1], rows)
        self.output_gradient_array: Floats = self.output_gradient.numpy()


class PlainMlp:
    """Linear layers with an activation between them.

    Args:
        blocks: Of each layer values and gradient, [out, in + 1] each, the bias in the last column.
        activation: Name of the activation.
    """

    def __init__(self, blocks: Sequence[tuple[Tensor, Tensor]], activation: str) -> None:
        self._weights = [values for values, _ in blocks]
        self._weight_arrays: list[Floats] = [values.numpy() for values in self._weights]
        self._transposed = [values[:, :-1].t() for values, _ in blocks]
        self._gradients = [gradient for _, gradient in blocks]
        self._activation = ACTIVATIONS[activation]
        self._widths = [self._weights[0].shape[1] - 1, *(len(weights) for weights in self._weights)]
        self._workspaces: dict[int, _Workspace] = {}
        self._current = _Workspace(self._widths, 0)

    def inputs(self, rows: int) -> Floats:
        """Where `forward` reads its input from, float32[rows, in + 1]; the last column holds ones, leave them."""
        workspace = self._workspaces.get(rows)
        if workspace is None:
            if len(self._workspaces) >= _KEPT_WORKSPACES:
                del self._workspaces[next(iter(self._workspaces))]
            workspace = self._workspaces[rows] = _Workspace(self._widths, rows)
        self._current = workspace
        return workspace.input_array

    def forward(self) -> Floats:
        """Outputs for `inputs`, float32[out, rows], overwritten by the next call for as many rows."""
        if len(self._current.inputs) <= FEW_ROWS:
            return self._forward_few()
        space, below = self._current, self._current.transposed_inputs
        for weights, hidden in zip(self._weights, space.hidden, strict=False):
            torch.mm(weights, below, out=hidden.tensor)
            self._activation.apply(hidden.array, hidden.kept)
            below = hidden.with_ones
        torch.mm(self._weights[-1], below, out=space.output)
        return space.output_array

    def _forward_few(self) -> Floats:
        space, below = self._current, self._current.input_array.T
        for weights, hidden in zip(self._weight_arrays, space.hidden, strict=False):
            np.dot(weights, below, out=hidden.array)
            self._activation.apply(hidden.array, hidden.kept)
            below = hidden.array_with_ones
        np.dot(self._weight_arrays[-1], below, out=space.output_array)
        return space.output_array

    @property
    def output_gradient(self) -> Floats:
        """Where `backward` reads the gradient of its output from, float32[out, rows]."""
        return self._current.output_gradient_array

    def backward(self) -> None:
        """Write the gradient of all layers into their blocks, after `forward`."""
        space, above = self._current, self._current.output_gradient
        for layer in range(len(self._weights) - 1, 0, -1):
            hidden = space.hidden[layer - 1]
            torch.mm(above, hidden.transposed, out=self._gradients[layer])
            torch.mm(self._transposed[layer], above, out=hidden.gradient)
            self._activation.multiply_derivative(hidden.gradient_array, hidden.array, hidden.kept)
            above = hidden.gradient
        torch.mm(above, space.inputs, out=self._gradients[0])


class PlainInputs:
    """Turns observations into the input rows of a plain network: flat, float32, normalised, joined."""

    def __init__(self, network: ActorCritic) -> None:
        stops = np.cumsum([observation.size for observation in network.spec.observations]).tolist()
        self._parts = [
            (slice(stop - observation.size, stop), observation.size, normaliser)
            for observation, normaliser, stop in zip(network.spec.observations, network.normalisers, stops, strict=True)
        ]

    def fill(self, observations: Sequence[Array], inputs: Floats) -> None:
        """Write observations, one array [n, *shape] each, to the first columns of `inputs`, float32[n, in + 1]."""
        for observation, (columns, size, normaliser) in zip(observations, self._parts, strict=True):
            rows = observation if observation.ndim == 2 else observation.reshape(len(observation), size)
            if normaliser is None:
                inputs[:, columns] = rows
            else:
                normaliser.normalise_into(rows, inputs[:, columns])


def actor_mlp(network: ActorCritic) -> PlainMlp:
    """The actor: body and action head."""
    blocks = [network.flat.block(layer) for layer in network.actor_body.linear_layers]
    return PlainMlp([*blocks, network.flat.block(network.action_head)], network.config.activation)


def critic_mlp(network: ActorCritic) -> PlainMlp:
    """The critic: body and value heads."""
    blocks = [network.flat.block(layer) for layer in network.critic_body.linear_layers]
    return PlainMlp([*blocks, network.flat.block(network.value_head)], network.config.activation)


def shared_mlp(network: ActorCritic) -> PlainMlp:
    """Actor and critic with one body: outputs of the action head, then those of the value heads."""
    blocks = [network.flat.block(layer) for layer in network.actor_body.linear_layers]
    heads = network.flat.block(network.action_head, network.value_head)
    return PlainMlp([*blocks, heads], network.config.activation)

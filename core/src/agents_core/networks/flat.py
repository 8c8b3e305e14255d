"""All parameters of a network in one tensor, so that an optimiser step is a handful of operations."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class FlatParameters:
    """Moves a module's parameters into one flat tensor, leaves views of it in the module, and keeps a flat gradient.

    Args:
        module: Its submodules may share parameters.
        blocks: Whether a linear layer's weight and bias lie side by side as one [out, in + 1] block, so that a product
            with inputs that carry a column of ones applies both. Autograd is slower on them: torch gives the gradient
            of a weight with gaps between its rows transposed.

    Attributes:
        values: float32[p], every parameter of the module.
        gradient: float32[p], in the same order.
    """

    def __init__(self, module: nn.Module, *, blocks: bool = False) -> None:
        groups = list(_groups(module, blocks))
        sizes = [sum(parameter.numel() for parameter in group) for group in groups]
        first = groups[0][0]
        self.values = torch.empty(sum(sizes), dtype=torch.float32, device=first.device)
        self.gradient = torch.zeros_like(self.values)
        self._views: list[tuple[nn.Parameter, Tensor]] = []
        self._spans: dict[int, tuple[int, tuple[int, int]]] = {}
        start = 0
        for group, size in zip(groups, sizes, strict=True):
            self._adopt(group, start, size)
            start += size

    def _adopt(self, group: list[nn.Parameter], start: int, size: int) -> None:
        values, gradient = self.values[start : start + size], self.gradient[start : start + size]
        if len(group) == 1:
            views = [(values.view_as(group[0]), gradient.view_as(group[0]))]
        else:
            weight = group[0]
            shape = (weight.shape[0], weight.shape[1] + 1)
            self._spans[id(weight)] = (start, shape)
            block, block_gradient = values.view(shape), gradient.view(shape)
            views = [(block[:, :-1], block_gradient[:, :-1]), (block[:, -1], block_gradient[:, -1])]
        for parameter, (value, grad) in zip(group, views, strict=True):
            with torch.no_grad():
                value.copy_(parameter)
            parameter.data = value
            self._views.append((parameter, grad))

    def differentiate(self, loss: Tensor) -> None:
        """Put the gradient of a scalar loss into `gradient`."""
        gradients = torch.autograd.grad(loss, [parameter for parameter, _ in self._views], allow_unused=True)
        for (_, view), gradient in zip(self._views, gradients, strict=True):
            if gradient is None:
                view.zero_()
            else:
                view.copy_(gradient)

    def gradient_of(self, parameter: nn.Parameter) -> Tensor:
        """View of a parameter's part of `gradient`."""
        return next(view for own, view in self._views if own is parameter)

    def block(self, *layers: nn.Linear) -> tuple[Tensor, Tensor]:
        """Values and gradients of linear layers that follow one another, [sum of out, in + 1] each.

        Raises:
            ValueError: The layers are no neighbours or differ in width.
        """
        spans = [self._spans[id(layer.weight)] for layer in layers]
        start, (rows, width) = spans[0]
        for following, shape in spans[1:]:
            if following != start + rows * width or shape[1] != width:
                raise ValueError("linear layers are no neighbours of one width")
            rows += shape[0]
        stop = start + rows * width
        return self.values[start:stop].view(rows, width), self.gradient[start:stop].view(rows, width)


def _groups(module: nn.Module, blocks: bool) -> Iterator[list[nn.Parameter]]:
    """The parameters of each submodule, once each; with `blocks`, weight and bias of a linear layer together."""
    seen: set[int] = set()
    for part in module.modules():
        own = [parameter for parameter in part.parameters(recurse=False) if id(parameter) not in seen]
        seen.update(id(parameter) for parameter in own)
        if blocks and isinstance(part, nn.Linear) and len(own) == 2:
            yield own
        else:
            yield from ([parameter] for parameter in own)

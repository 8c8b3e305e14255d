"""What all encoders of images share: sizes, scaling, and the way from channels last to channels first."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from agents_core.errors import UserError
from agents_core.spec import ObservationSpec

SMALLEST_SIDES = {"nature_cnn": 36, "simple": 20, "resnet": 15, "match3": 5, "symbolic": 3, "fully_connected": 1}
"""Length of the smaller side that each encoder needs at least, the most demanding first."""

_SLACK = 1e-3
"""How far floats may leave [0, 1]: resampling overshoots a little."""


def check_sides(encoder: str, observation: ObservationSpec) -> None:
    """Refuse images that an encoder cannot take.

    Raises:
        UserError: It has other axes than height, width, channels, or a side is too short.
    """
    if len(observation.shape) != 3 or 0 in observation.shape:
        raise UserError(
            f"observation {observation.name!r} has shape {observation.shape}, but encoder {encoder!r} takes images of "
            "(height, width, channels). Give it this shape in the environment, or make it a vector there"
        )
    side, smallest = min(observation.shape[:2]), SMALLEST_SIDES[encoder]
    if side < smallest:
        fitting = [f"{name} (from {least})" for name, least in SMALLEST_SIDES.items() if least <= side]
        raise UserError(
            f"observation {observation.name!r} of shape {observation.shape} is too small for encoder {encoder!r}: its "
            f"smaller side is {side}, at least {smallest} is needed. Set `network: {{encoders: {{{observation.name}: "
            f"{{type: ...}}}}}}` to one of: {', '.join(fitting)}; or let the environment give a larger image"
        )


class Pixels(nn.Module):
    """Turns images [n, height, width, channels] of any dtype into float32[n, channels, height, width].

    Args:
        observation: Of the images.
        scale: `auto`: bytes are divided by 255, once and here; floats are checked to lie in [0, 1] whenever the
            network acts or evaluates. `none`: numbers stay as they are.
    """

    def __init__(self, observation: ObservationSpec, scale: Literal["auto", "none"]) -> None:
        super().__init__()
        self._name = observation.name
        self._divides = scale == "auto" and observation.dtype == "uint8"
        self._checks = scale == "auto" and observation.numpy_dtype.kind == "f"

    def forward(self, images: Tensor) -> Tensor:
        """See the class.

        Raises:
            UserError: A float leaves [0, 1].
        """
        if self._checks and not torch.is_grad_enabled() and len(images):
            self._check(images)
        # The memory stays channels last, which convolutions like.
        pixels = images.permute(0, 3, 1, 2).float()
        return pixels.mul_(1 / 255) if self._divides else pixels

    def _check(self, images: Tensor) -> None:
        lowest, highest = torch.stack(images.aminmax()).tolist()
        if lowest < -_SLACK or highest > 1 + _SLACK:
            raise UserError(
                f"observation {self._name!r} is an image of floats from {lowest:g} to {highest:g}, but floats are "
                "expected in [0, 1] and only bytes are scaled. Give bytes (uint8) or numbers in [0, 1] in the "
                f"environment, or take the numbers as they are: `network: {{encoders: {{{self._name}: "
                "{type: ..., scale: none}}}`"
            )

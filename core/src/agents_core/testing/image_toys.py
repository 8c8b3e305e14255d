"""Toys that must be seen."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array
from agents_core.contracts.environment import Actions
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from agents_core.testing.column_environment import ActionKind, Bools, ColumnEnvironment, Floats, Int64s
from agents_core.testing.toys import Simple1D

Images = npt.NDArray[np.uint8]


class VisualSimple1D(Simple1D):
    """Simple1D whose goal is only to be seen in an image: a bright square at its left edge (-1) or right edge (1).

    Args:
        side: Length of the image's sides.
    """

    def __init__(self, agents: int = 1, action: ActionKind = "discrete", side: int = 36) -> None:
        super().__init__(agents, action, ObservationSpec("camera", (side, side, 3), "uint8", "image"))
        self._images: Images = np.zeros((agents, side, side, 3), np.uint8)

    def start(self, rows: Int64s) -> None:
        super().start(rows)
        draw_squares(self._images, rows, self._goal[rows, 0] > 0, self.generator)

    def observe(self) -> tuple[Array, ...]:
        return (self._images,)


class TwoCameras(ColumnEnvironment):
    """Make three choices at each decision: what each of two images and a vector shows.

    Both images hold a bright square at the left edge (0) or the right edge (1), the vector is -1 or 1. A right choice
    pays 1/24, an episode has 8 decisions: the best return is 1. Without one of the three it is 5/6.
    """

    LENGTH = 8
    SHAPES = ((20, 24, 1), (24, 20, 3))

    def __init__(self, agents: int = 1) -> None:
        observations = (
            ObservationSpec("left_camera", self.SHAPES[0], "uint8", "image"),
            ObservationSpec("sign", (1,)),
            ObservationSpec("right_camera", self.SHAPES[1], "uint8", "image"),
        )
        super().__init__("TwoCameras", BehaviorSpec(observations, ActionSpec(discrete_branches=(2, 2, 2))), agents)
        self._shown: Int64s = np.zeros((agents, 3), np.int64)
        self._images: list[Images] = [np.zeros((agents, *shape), np.uint8) for shape in self.SHAPES]

    def start(self, rows: Int64s) -> None:
        shown = self._shown[rows] = self.generator.integers(0, 2, (len(rows), 3))
        for images, right in zip(self._images, (shown[:, 0], shown[:, 2]), strict=True):
            draw_squares(images, rows, right == 1, self.generator)

    def observe(self) -> tuple[Array, ...]:
        sign = (2 * self._shown[:, 1:2] - 1).astype(np.float32)
        return (self._images[0], sign, self._images[1])

    def advance(self, actions: Actions) -> tuple[Floats, Bools, Bools]:
        hits = (actions.discrete == self._shown).sum(axis=1, dtype=np.float32)
        self.start(self._agent_id)
        return hits / np.float32(3 * self.LENGTH), self.time + 1 >= self.LENGTH, np.zeros(self.agents, np.bool_)


def draw_squares(images: Images, rows: Int64s, right: Bools, generator: np.random.Generator) -> None:
    """Redraw some images: black, with one bright square of a quarter of their width at a random height.

    Args:
        images: uint8[agents, height, width, channels].
        rows: Which of them.
        right: bool[rows], whether the square is at the right edge instead of the left one.
        generator: Draws the heights.
    """
    _, height, width, _ = images.shape
    side = width // 4
    top = generator.integers(0, height - side + 1, len(rows))[:, None]
    left = np.where(right, width - side, 0)[:, None]
    y, x = np.arange(height), np.arange(width)
    inside = ((y >= top) & (y < top + side))[:, :, None] & ((x >= left) & (x < left + side))[:, None, :]
    images[rows] = np.where(inside, np.uint8(255), np.uint8(0))[:, :, :, None]

"""Image observations stand channels last in their own dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from agents_core.errors import UserError
from agents_env_gymnasium.observations import ImageLayouts, ObservationLayout
from gymnasium import spaces


def pixels(shape: tuple[int, ...], dtype: Any = np.uint8) -> spaces.Box:
    return spaces.Box(0, 255 if dtype == np.uint8 else 1, shape, dtype)


@pytest.mark.parametrize(
    ("space", "declared", "shape", "dtype", "kind"),
    [
        (pixels((6, 5, 3)), None, (6, 5, 3), "uint8", "image"),
        (pixels((3, 6, 5)), None, (6, 5, 3), "uint8", "image"),
        (pixels((6, 5)), None, (6, 5, 1), "uint8", "image"),
        (pixels((3, 3, 3)), "channels_first", (3, 3, 3), "uint8", "image"),
        (pixels((12, 6, 5)), "channels_first", (6, 5, 12), "uint8", "image"),
        (pixels((6, 5, 3), np.float32), None, (90,), "float32", "vector"),
        (pixels((6, 5, 3), np.float64), "channels_last", (6, 5, 3), "float32", "image"),
        (pixels((6, 5, 3), np.bool_), "channels_last", (6, 5, 3), "bool", "image"),
        (pixels((6, 5, 3)), "vector", (90,), "float32", "vector"),
        (pixels((6, 5)), {"observation": "vector"}, (30,), "float32", "vector"),
        (pixels((6, 5), np.float32), {"observation": "channels_last"}, (6, 5, 1), "float32", "image"),
        (spaces.Box(0, 4, (6, 5), np.uint8), None, (30,), "float32", "vector"),
        (pixels((128,)), "channels_last", (128,), "float32", "vector"),
    ],
)
def test_layout_and_dtype_follow_the_space_and_the_declaration(
    space: spaces.Box, declared: ImageLayouts, shape: tuple[int, ...], dtype: str, kind: str
) -> None:
    (spec,) = ObservationLayout(space, declared).specs
    assert (spec.shape, spec.dtype, spec.kind) == (shape, dtype, kind)


@pytest.mark.parametrize("shape", [(3, 4, 4), (12, 84, 84), (84, 84, 12), (2, 84, 3)])
def test_an_ambiguous_shape_asks_the_user(shape: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match=r"could be an image .*image_layout: \{camera: channels_last\}"):
        ObservationLayout(spaces.Dict({"camera": pixels(shape)}))
    declared = ObservationLayout(spaces.Dict({"camera": pixels(shape)}), {"camera": "channels_last"})
    assert declared.specs[0].shape == shape


def test_declaring_a_flat_observation_an_image_is_refused() -> None:
    with pytest.raises(UserError, match="two or three axes, but its shape is"):
        ObservationLayout(spaces.Dict({"camera": pixels((7,))}), {"camera": "channels_last"})


@pytest.mark.parametrize(("shape", "axes"), [((2, 6, 5), (1, 2, 0)), ((6, 5, 2), (0, 1, 2))])
def test_every_pixel_arrives_where_it_belongs(shape: tuple[int, ...], axes: tuple[int, ...]) -> None:
    layout = ObservationLayout(pixels(shape))
    images = np.arange(2 * 60, dtype=np.uint8).reshape(2, *shape)
    (column,) = layout.empty(2)
    layout.write_rows(list(images), (column,))
    expected = np.stack([image.transpose(axes) for image in images])
    np.testing.assert_array_equal(column, expected)
    np.testing.assert_array_equal(layout.from_batch(images)[0], expected)


def test_a_grey_image_gets_one_channel() -> None:
    layout = ObservationLayout(pixels((2, 3)))
    images = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    (column,) = layout.empty(2)
    layout.write_rows(list(images), (column,))
    np.testing.assert_array_equal(column[..., 0], images)
    np.testing.assert_array_equal(layout.from_batch(images)[0][..., 0], images)

"""The toys that must be seen show what they pay for."""

from __future__ import annotations

import numpy as np
from agents_core.contracts.environment import Actions
from agents_core.testing.image_toys import TwoCameras, VisualSimple1D


def choose(choices: np.ndarray) -> Actions:
    """int[n, branches] as actions."""
    return Actions(np.zeros((len(choices), 0), np.float32), choices.astype(np.int64))


def is_right(image: np.ndarray) -> bool:
    """Whether the bright half is the right one; the other must be black."""
    half = image.shape[1] // 2
    left, right = int(image[:, :half].sum()), int(image[:, half:].sum())
    assert (left == 0) != (right == 0)
    return right > 0


def test_the_goal_of_visual_simple1d_is_in_its_image() -> None:
    toy = VisualSimple1D(agents=8, side=20)
    (spec,) = toy.behavior_specs["Simple1D"].observations
    assert (spec.shape, spec.dtype, spec.kind) == ((20, 20, 3), "uint8", "image")
    images = toy.reset(seed=1).behaviors["Simple1D"].decision.observations[0]
    sides = np.array([[is_right(image)] for image in images])
    assert images.max() == 255
    assert 0 < sides.sum() < 8
    for _ in range(10):
        steps = toy.step({"Simple1D": choose(sides)}).behaviors["Simple1D"]
    np.testing.assert_allclose(steps.terminal.reward, np.full(8, 1.009), atol=1e-6)


def test_each_agent_sees_its_own_old_image_last_and_a_new_one_after_it() -> None:
    toy = VisualSimple1D(agents=1, side=40)
    image = toy.reset(seed=5).behaviors["Simple1D"].decision.observations[0].copy()
    for _ in range(10):
        steps = toy.step({"Simple1D": choose(np.array([[1]]))}).behaviors["Simple1D"]
    np.testing.assert_array_equal(steps.terminal.observations[0], image)
    assert (steps.decision.observations[0] != image).any()


def test_two_cameras_pay_for_each_thing_that_was_seen() -> None:
    toy = TwoCameras(agents=5)
    steps = toy.reset(seed=1).behaviors["TwoCameras"]
    total = np.zeros(5)
    for step in range(8):
        left, sign, right = steps.decision.observations
        seen = np.array([[is_right(a), s[0] > 0, is_right(b)] for a, s, b in zip(left, sign, right, strict=True)])
        if step == 0:
            seen[1] = ~seen[1]
            seen[2, 2] = ~seen[2, 2]
        steps = toy.step({"TwoCameras": choose(seen)}).behaviors["TwoCameras"]
        total += steps.terminal.reward if len(steps.terminal) else steps.decision.reward
    np.testing.assert_allclose(total, [1, 1 - 3 / 24, 1 - 1 / 24, 1, 1], atol=1e-6)

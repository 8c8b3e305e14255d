"""The toy with entities asks for the nearest one, among few and many."""

from __future__ import annotations

import numpy as np
from agents_core.contracts.environment import Actions
from agents_core.testing.entity_toys import NearestEntity


def test_the_colour_of_the_nearest_entity_pays_however_many_there_are() -> None:
    toy = NearestEntity(agents=200)
    entities = toy.reset(seed=1).behaviors["NearestEntity"].decision.observations[0]
    present = (entities != 0).any(axis=2)
    assert set(present.sum(axis=1)) == set(range(1, 9))
    assert present.any(axis=0).all()
    distance = np.where(present, np.hypot(entities[:, :, 0], entities[:, :, 1]), np.inf)
    two = np.sort(distance, axis=1)[:, :2]
    assert (two[:, 1] - two[:, 0] > 0.299).all()
    colour = entities[np.arange(200), distance.argmin(axis=1), 2:].argmax(axis=1)
    colour[0] = (colour[0] + 1) % 3
    action = Actions(np.zeros((200, 0), np.float32), colour[:, None])
    reward = toy.step({"NearestEntity": action}).behaviors["NearestEntity"].decision.reward
    assert reward.tolist() == [0.0] + [0.125] * 199

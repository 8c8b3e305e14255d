"""Networks to test with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.initialisation import torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

MakeNetwork = Callable[..., ActorCritic]


@pytest.fixture
def make_network() -> MakeNetwork:
    """`make_network(action, config, shapes=…, num_values=…, seed=…)`: a network over vector observations."""

    def make(
        action: ActionSpec,
        config: NetworkConfig | None = None,
        *,
        shapes: tuple[tuple[int, ...], ...] = ((5,),),
        num_values: int = 1,
        seed: int = 0,
    ) -> ActorCritic:
        observations = tuple(ObservationSpec(f"observation {index}", shape) for index, shape in enumerate(shapes))
        generator = torch_generator(np.random.SeedSequence(seed))
        config = config or NetworkConfig(hidden_units=16)
        return ActorCritic(BehaviorSpec(observations, action), config, num_values, torch.device("cpu"), generator)

    return make

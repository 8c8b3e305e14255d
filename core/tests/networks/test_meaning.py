"""Weights are refused where options differ that their shapes do not show."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.encoders.config import EntitiesConfig, ImageConfig
from agents_core.networks.encoders.entities import make_entities
from agents_core.networks.encoders.images import make_simple
from agents_core.networks.initialisation import torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

STATE = ObservationSpec("state", (3,))
CAMERA = ObservationSpec("camera", (20, 20, 3), "uint8", "image")
UNITS = ObservationSpec("units", (4, 2), kind="entities")
CONTINUOUS = ActionSpec(2, bounded=True)


def make_network(
    *observations: ObservationSpec,
    action: ActionSpec = CONTINUOUS,
    encoders: dict[str, ChosenEncoder] | None = None,
    **options: Any,
) -> ActorCritic:
    generator = torch_generator(np.random.SeedSequence(0))
    config = NetworkConfig(hidden_units=8, **options)
    return ActorCritic(BehaviorSpec(observations, action), config, 1, torch.device("cpu"), generator, encoders)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"activation": "relu"}, 'network.activation is "tanh" there and "relu" here'),
        ({"squash": True}, "network.squash is false there and true here"),
        ({"normalize": True}, "network.normalize is false there and true here"),
        ({"std": "state"}, 'network.std is "free" there and "state" here'),
    ],
)
def test_another_option_is_refused_and_named(options: dict[str, Any], message: str) -> None:
    network = make_network(STATE, **options)
    before = network.flat.values.clone()
    with pytest.raises(UserError, match=message):
        network.load_actor_state(make_network(STATE).actor_state())
    assert torch.equal(before, network.flat.values)


def test_other_options_of_an_encoder_are_refused() -> None:
    entities = {
        heads: {"units": ChosenEncoder("encoder 'entities'", make_entities, EntitiesConfig(embedding=8, heads=heads))}
        for heads in (2, 4)
    }
    with pytest.raises(UserError, match=r"network\.encoders\.units.heads is 2 there and 4 here"):
        make_network(UNITS, encoders=entities[4]).load_actor_state(
            make_network(UNITS, encoders=entities[2]).actor_state()
        )
    unscaled = {"camera": ChosenEncoder("encoder 'simple'", make_simple, ImageConfig(scale="none"))}
    with pytest.raises(UserError, match=r'network\.encoders\.camera.scale is "auto" there and "none" here'):
        make_network(CAMERA, encoders=unscaled).load_actor_state(make_network(CAMERA).actor_state())


def test_options_without_effect_may_differ() -> None:
    discrete = ActionSpec(0, (3,))
    state = make_network(CAMERA, action=discrete).actor_state()
    chosen = {
        "camera": ChosenEncoder("encoder 'simple' of a later version", make_simple, ImageConfig(precision="bfloat16"))
    }
    options: dict[str, Any] = {"normalize": True, "squash": True, "std": "state", "initialization": "kaiming"}
    make_network(CAMERA, action=discrete, encoders=chosen, **options).load_actor_state(state)


def test_an_option_that_only_one_side_knows_is_no_difference() -> None:
    state = make_network(STATE).actor_state()
    del state["network"]["squash"]
    state["network"]["gone"] = 3
    make_network(STATE, squash=True).load_actor_state(state)

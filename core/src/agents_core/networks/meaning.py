"""Options that give weights their meaning without showing in their shapes; weights go with one setting of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.encoders.choice import default_encoder
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec

ARITHMETIC = {"precision"}
"""Options of encoders that weights do not depend on: another machine may want another value."""


def meaning_of(spec: BehaviorSpec, config: NetworkConfig, encoders: Mapping[str, ChosenEncoder]) -> dict[str, Any]:
    """The options by their place in the `network:` section, as plain values; only those that have an effect.

    Args:
        spec: What the agents see and do.
        config: The section.
        encoders: Chosen ones by observation name.
    """
    meaning: dict[str, Any] = {"activation": config.activation}
    if any(observation.kind == "vector" for observation in spec.observations):
        meaning["normalize"] = config.normalize
    if spec.action.continuous_size:
        meaning |= {"std": config.std, "squash": config.squash}
    for observation in spec.observations:
        encoder = encoders.get(observation.name) or default_encoder(observation)
        if encoder is not None:
            options = encoder.config.model_dump(mode="json")
            meaning |= {
                f"encoders.{observation.name}.{key}": value for key, value in options.items() if key not in ARITHMETIC
            }
    return meaning


def check_meaning(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Refuse weights that were learned with other options; one that only one side knows is new or gone, and no matter.

    Args:
        saved: `meaning_of` the network that the weights were saved from.
        own: That of the network that is to take them over.

    Raises:
        UserError: Names the options that differ.
    """
    differences = [
        f"network.{name} is {json.dumps(saved[name])} there and {json.dumps(value)} here"
        for name, value in own.items()
        if name in saved and saved[name] != value
    ]
    if differences:
        raise UserError(
            f"the saved weights belong to another network: {', '.join(differences)}. "
            "Use the `network:` section that they were made with"
        )

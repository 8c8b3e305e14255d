"""Offers Gymnasium environments to the core."""

from __future__ import annotations

from agents_core.plugin import EnvironmentSpec, hookimpl


@hookimpl
def agents_environments() -> list[EnvironmentSpec]:
    return [
        EnvironmentSpec(
            name="gymnasium",
            summary="Environments with the Gymnasium API, single or vectorised",
            config="agents_env_gymnasium.config:GymnasiumConfig",
            factory="agents_env_gymnasium.factory:open_environment",
            hosts_many=True,
            id_field="id",
        )
    ]

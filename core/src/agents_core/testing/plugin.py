"""Hooks of the toy environments; an experiment asks for them with `plugins: [agents_core.testing.plugin]`."""

from __future__ import annotations

from agents_core.plugin import EnvironmentSpec, hookimpl


@hookimpl
def agents_environments() -> list[EnvironmentSpec]:
    return [
        EnvironmentSpec(
            name="toy",
            summary="Toy, probe and failing environments for tests and benchmarks",
            config="agents_core.testing.toy_config:ToyConfig",
            factory="agents_core.testing.toy_factory:make_toy",
            id_field="id",
        )
    ]

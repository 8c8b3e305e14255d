"""What this distribution offers."""

from __future__ import annotations

from agents_core.plugin import DemonstrationFormatSpec, hookimpl


@hookimpl
def agents_demonstration_formats() -> list[DemonstrationFormatSpec]:
    return [
        DemonstrationFormatSpec(
            name="demo",
            summary="Demonstrations recorded in Unity with the ML-Agents toolkit",
            config="agents_env_unity.config:DemoConfig",
            factory="agents_env_unity.demo.format:DemoFiles",
            suffixes=(".demo",),
        )
    ]

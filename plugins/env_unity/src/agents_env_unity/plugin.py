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
        ),
        DemonstrationFormatSpec(
            name="ml-agents-buffer",
            summary="Replay buffers that SAC of the ML-Agents toolkit saved",
            config="agents_env_unity.config:ReplayBufferConfig",
            factory="agents_env_unity.replay_buffer.format:ReplayBufferFiles",
            suffixes=(".hdf5", ".h5"),
            recognizes="agents_env_unity.replay_buffer.format:is_replay_buffer",
        ),
    ]

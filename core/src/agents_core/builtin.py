"""Core's own components, registered through the same hooks as everybody else's."""

from __future__ import annotations

from agents_core.plugin import (
    BufferSpec,
    DemonstrationFormatSpec,
    EncoderSpec,
    RewardSignalSpec,
    StatsWriterSpec,
    WorkerPoolSpec,
    hookimpl,
)


@hookimpl
def agents_reward_signals() -> list[RewardSignalSpec]:
    return [
        RewardSignalSpec(
            name="extrinsic",
            summary="The environment's own reward",
            config="agents_core.learning.extrinsic_config:ExtrinsicConfig",
            factory="agents_core.learning.extrinsic:ExtrinsicReward",
        )
    ]


@hookimpl
def agents_buffers() -> list[BufferSpec]:
    return [
        BufferSpec(
            name="replay",
            summary="The newest transitions, all equally likely",
            config="agents_core.replay.config:ReplayConfig",
            factory="agents_core.replay.demonstrated:make_replay",
        ),
        BufferSpec(
            name="prioritized",
            summary="The newest transitions, those with large errors more likely (Schaul et al. 2016)",
            config="agents_core.replay.config:PrioritizedReplayConfig",
            factory="agents_core.replay.demonstrated:make_prioritized",
        ),
    ]


@hookimpl
def agents_worker_pools() -> list[WorkerPoolSpec]:
    return [
        WorkerPoolSpec(
            name="inline",
            summary="All environments in the training process",
            config="agents_core.environments.config:InlineConfig",
            factory="agents_core.environments.inline:InlinePool",
        ),
        WorkerPoolSpec(
            name="process",
            summary="Environments in worker processes that share memory with the trainer",
            config="agents_core.environments.config:ProcessConfig",
            factory="agents_core.environments.process:ProcessPool",
        ),
    ]


@hookimpl
def agents_stats_writers() -> list[StatsWriterSpec]:
    return [
        StatsWriterSpec(
            name="console",
            summary="Progress bar on a terminal, plain lines elsewhere",
            config="agents_core.training.stats_config:ConsoleConfig",
            factory="agents_core.training.console:ConsoleWriter",
            default=True,
        ),
        StatsWriterSpec(
            name="jsonl",
            summary="metrics.jsonl in the run directory; always on",
            config="agents_core.training.stats_config:JsonlConfig",
            factory="agents_core.training.jsonl:JsonlWriter",
            default=True,
        ),
    ]


@hookimpl
def agents_encoders() -> list[EncoderSpec]:
    images = [
        ("fully_connected", "All pixels of an image side by side into a dense layer", "images:make_fully_connected"),
        ("simple", "Two convolutions, for images from 20 x 20", "images:make_simple"),
        ("nature_cnn", "Three convolutions, for images from 36 x 36 (Mnih et al. 2015)", "images:make_nature_cnn"),
        ("resnet", "Residual convolutions, for images from 15 x 15 (Espeholt et al. 2018)", "resnet:make_resnet"),
        ("match3", "Small convolutions with many channels, for boards of tiles", "images:make_match3"),
    ]
    return [
        EncoderSpec(
            name="vector",
            summary="Numbers, passed on as they are",
            config="agents_core.networks.encoders.config:VectorConfig",
            factory="agents_core.networks.encoders.vector:make_vector",
            observation_kinds=("vector", "goal"),
        ),
        *(
            EncoderSpec(
                name=name,
                summary=summary,
                config="agents_core.networks.encoders.config:ImageConfig",
                factory=f"agents_core.networks.encoders.{factory}",
                observation_kinds=("image",),
            )
            for name, summary, factory in images
        ),
        EncoderSpec(
            name="symbolic",
            summary="Small convolutions over grids of symbols, whose numbers are not scaled",
            config="agents_core.networks.encoders.config:SymbolicConfig",
            factory="agents_core.networks.encoders.images:make_symbolic",
            observation_kinds=("image",),
        ),
        EncoderSpec(
            name="entities",
            summary="Masked self-attention over a varying number of entities, padded by rows of zeros",
            config="agents_core.networks.encoders.config:EntitiesConfig",
            factory="agents_core.networks.encoders.entities:make_entities",
            observation_kinds=("entities",),
        ),
    ]


@hookimpl
def agents_demonstration_formats() -> list[DemonstrationFormatSpec]:
    return [
        DemonstrationFormatSpec(
            name="hdf5",
            summary="Demonstrations in HDF5 files of our own",
            config="agents_core.options:NoOptions",
            factory="agents_core.demonstrations.hdf5:Hdf5Demonstrations",
            suffixes=(".h5", ".hdf5"),
        )
    ]

"""From an experiment to the objects that run it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path

import torch

from agents_core.config import BehaviorSection, EnvironmentSection, Experiment, Section
from agents_core.contracts.buffer import Buffer, BufferContext
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.contracts.reward_signal import RewardSignal, RewardSignalContext
from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.contracts.trainer import Trainer, TrainerContext
from agents_core.contracts.worker_pool import WorkerPool, WorkerPoolContext
from agents_core.environments.factory import EnvironmentFactory
from agents_core.errors import UserError
from agents_core.plugin import EncoderSpec, EnvironmentSpec
from agents_core.registry import Registry
from agents_core.seeding import named_seed
from agents_core.spec import BehaviorSpec
from agents_core.timers import Timers

SMALL_WIDTH = 256
"""Up to this many units, one torch thread is faster than several."""


def make_pool(experiment: Experiment, num_envs: int, workers: Section) -> WorkerPool:
    """A pool of `num_envs` environments of the experiment."""
    section = environment_section(experiment)
    context = WorkerPoolContext(
        config=workers.config,
        num_envs=num_envs,
        hosts_many=hosts_many(section),
        make_environment=EnvironmentFactory(section, experiment.directory),
    )
    pool: WorkerPool = workers.component.load_factory()(context)
    return pool


def open_pool(experiment: Experiment, stack: ExitStack, *, is_offline: bool) -> WorkerPool | None:
    """The environments of a run, closed with the stack.

    Args:
        is_offline: They are only for evaluating: one, or None where the experiment has no environment.

    Raises:
        UserError: The experiment has none, or one with hidden state where resuming is to be exact.
    """
    if is_offline and experiment.environment is None:
        return None
    section = environment_section(experiment)
    pool = make_pool(experiment, 1 if is_offline else section.num_envs, section.workers)
    stack.callback(pool.close)
    if experiment.checkpoints.exact and pool.hidden_state and not is_offline:
        raise UserError(
            "checkpoints.exact: a reset must put the whole environment into a known state, but "
            f"{', '.join(pool.hidden_state)} may keep state of its own; remove it, or set exact to false"
        )
    return pool


def environment_section(experiment: Experiment) -> EnvironmentSection:
    """The experiment's environment.

    Raises:
        UserError: The experiment has none.
    """
    if experiment.environment is None:
        raise UserError("this experiment has no `environment` section; add one, or name one with --env TYPE:ID")
    return experiment.environment


def hosts_many(section: EnvironmentSection) -> bool:
    """Whether one environment object hosts several instances."""
    spec = section.component.spec
    return isinstance(spec, EnvironmentSpec) and spec.hosts_many


def make_trainer(
    experiment: Experiment,
    behavior: str,
    section: BehaviorSection,
    spec: BehaviorSpec,
    timers: Timers,
    registry: Registry,
    *,
    acts_only: bool = False,
    demonstration: Demonstration | None = None,
) -> Trainer:
    """The behavior's trainer, with its reward signals and its buffer.

    Args:
        experiment, behavior, section, spec: What it is for.
        timers: Where it may time its parts.
        registry: Where it finds formats of demonstrations.
        acts_only: Without what only learning needs.
        demonstration: Of a trainer that learns from nothing else.
    """
    device = choose_device(experiment)
    encoders = {name: _chosen_encoder(encoder) for name, encoder in section.encoders.items()}
    signals = _make_signals(experiment.seed, behavior, section, spec, device, encoders, registry, acts_only=acts_only)
    trainer: Trainer = section.trainer.component.load_factory()(
        TrainerContext(
            behavior=behavior,
            spec=spec,
            config=section.trainer.config,
            network=section.network,
            reward_signals=signals,
            max_steps=section.max_steps,
            device=device,
            seed=named_seed(experiment.seed, "trainer", behavior),
            timers=timers,
            encoders=encoders,
            make_buffer=None if acts_only else _buffer_maker(behavior, section, spec, device, registry),
            acts_only=acts_only,
            demonstration=demonstration,
            registry=registry,
        )
    )
    return trainer


def _make_signals(
    seed: int,
    behavior: str,
    section: BehaviorSection,
    spec: BehaviorSpec,
    device: torch.device,
    encoders: Mapping[str, ChosenEncoder],
    registry: Registry,
    *,
    acts_only: bool,
) -> dict[str, RewardSignal]:
    signals: dict[str, RewardSignal] = {}
    for name, signal in section.reward_signals.items():
        context = RewardSignalContext(
            name=name,
            config=signal.config,
            spec=spec,
            device=device,
            seed=named_seed(seed, "reward_signal", behavior, name),
            max_steps=section.max_steps,
            encoders=encoders,
            acts_only=acts_only,
            registry=registry,
        )
        signals[name] = signal.component.load_factory()(context)
    return signals


def _buffer_maker(
    behavior: str, section: BehaviorSection, spec: BehaviorSpec, device: torch.device, registry: Registry
) -> Callable[[int], Buffer] | None:
    chosen = section.buffer
    if chosen is None:
        return None
    factory, config = chosen.component.load_factory(), chosen.config

    def make_buffer(memory_size: int) -> Buffer:
        context = BufferContext(behavior, config, spec, device, memory_size, section.max_steps, registry)
        buffer: Buffer = factory(context)
        return buffer

    return make_buffer


def _chosen_encoder(section: Section) -> ChosenEncoder:
    component = section.component
    kinds = component.spec.observation_kinds if isinstance(component.spec, EncoderSpec) else ()
    title = component.full_title
    return ChosenEncoder(title, component.load_factory(), section.config, kinds)


def make_writers(
    experiment: Experiment, run_directory: Path, resumed_at: Mapping[str, int], *, quiet: bool
) -> list[StatsWriter]:
    """The experiment's stats writers, opened; those already open are closed when one fails."""
    max_steps = {name: section.max_steps for name, section in experiment.behaviors.items()}
    writers: list[StatsWriter] = []
    try:
        for section in experiment.stats.values():
            context = StatsWriterContext(section.config, run_directory, max_steps, resumed_at, quiet)
            writers.append(section.component.load_factory()(context))
    except BaseException:
        for writer in writers:
            writer.close()
        raise
    return writers


def choose_device(experiment: Experiment) -> torch.device:
    """The device that `torch.device` names; `auto` is the CPU, which is faster for vector observations.

    Raises:
        UserError: The device does not exist here.
    """
    name = experiment.torch.device
    if name == "auto":
        return torch.device("cpu")
    try:
        device = torch.device(name)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise UserError(f"torch.device: {name!r} cannot be used here: {str(error).splitlines()[0]}") from error
    return device


def set_threads(experiment: Experiment, specs: Iterable[BehaviorSpec]) -> None:
    """Give torch the threads that the experiment asks for: one where all networks are small, else its own choice."""
    threads = experiment.torch.threads
    widths = [section.network.hidden_units for section in experiment.behaviors.values()]
    are_vectors = all(len(observation.shape) == 1 for spec in specs for observation in spec.observations)
    if threads is None and are_vectors and max(widths) <= SMALL_WIDTH:
        threads = 1
    if threads is not None:
        torch.set_num_threads(threads)

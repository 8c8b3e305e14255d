"""What the parent and its workers send each other as pickled messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agents_core.contracts.environment import EnvironmentSteps
from agents_core.environments.hosting import Place
from agents_core.environments.step_memory import Layout
from agents_core.spec import BehaviorSpec


@dataclass(frozen=True, slots=True)
class Make:
    """To a worker: make your environments; answered by `Made`.

    Attributes:
        make_environment: Pickled `make_environment(first_env, num_envs)`.
        places: The worker's environment objects.
        total: Environment objects in the whole pool.
        num_envs: Environments in the whole pool.
    """

    make_environment: bytes
    places: tuple[Place, ...]
    total: int
    num_envs: int


@dataclass(frozen=True, slots=True)
class Made:
    """From a worker: the environments are there."""

    max_instances: int | None
    hidden_state: tuple[str, ...]
    specs: dict[str, BehaviorSpec]


@dataclass(frozen=True, slots=True)
class Attach:
    """To a worker: use the memory that follows; answered by `DONE`."""

    layout: Layout
    workers: int


@dataclass(frozen=True, slots=True)
class Reset:
    """To a worker: reset, and write the steps into this half of the memory."""

    seed: int | None
    parameters: Mapping[str, float] | None
    restart: int
    half: int


@dataclass(frozen=True, slots=True)
class Failed:
    """From a worker: an exception.

    Attributes:
        exit_code: Of the `AgentsError` that it is; 1 for a bug in the worker itself.
        message: Its text.
        traceback: Of it and its causes, as Python prints it.
    """

    exit_code: int
    message: str
    traceback: str


@dataclass(frozen=True, slots=True)
class Close:
    """To a worker: close your environments and end; answered by `Closed`."""


@dataclass(frozen=True, slots=True)
class Closed:
    """From a worker: the environments are closed, and what went wrong with that."""

    failure: Failed | None


@dataclass(frozen=True, slots=True)
class StepsInMemory:
    """From a worker: steps are in the memory, but not these statistics of the environments' own."""

    stats: dict[str, list[float]]


@dataclass(frozen=True, slots=True)
class StepsInMessage:
    """From a worker: steps that the memory has no room for, and the specs of all behaviors so far."""

    steps: EnvironmentSteps
    specs: dict[str, BehaviorSpec]

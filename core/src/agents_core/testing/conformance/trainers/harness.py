"""Trainers under test: making them, and the toys that they are tried on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch

from agents_core.contracts.buffer import Buffer
from agents_core.contracts.environment import Environment
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.contracts.trainer import Trainer
from agents_core.errors import UserError
from agents_core.options import ConfigModel, NetworkConfig
from agents_core.plugin import TrainerSpec
from agents_core.registry import Component
from agents_core.spec import BehaviorSpec
from agents_core.testing.column_environment import ActionKind
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.contexts import MAX_STEPS, buffer_context, trainer_context
from agents_core.testing.credit_probes import Numbered
from agents_core.testing.driver import Driver
from agents_core.testing.image_toys import VisualSimple1D
from agents_core.testing.ragged import Ragged
from agents_core.testing.states import difference, through_checkpoint
from agents_core.testing.toys import MaskedBranches, MaskedHybrid, Simple1D
from agents_core.training.state_files import UnsavableStateError

TOYS: Mapping[str, Callable[[], Environment]] = MappingProxyType(
    {
        "discrete actions": lambda: Simple1D(4),
        "continuous actions": lambda: Simple1D(4, "continuous"),
        "masked branches": lambda: MaskedBranches(4),
        "masked choice and continuous action": lambda: MaskedHybrid(4),
        "images": lambda: VisualSimple1D(2, "discrete"),
        "agents that come and go": lambda: Ragged(6),
    }
)
ACTION_KINDS: tuple[ActionKind, ...] = ("discrete", "continuous")
_REPEATS: WeakKeyDictionary[type, bool] = WeakKeyDictionary()
_ACCEPTED: WeakKeyDictionary[type, list[str]] = WeakKeyDictionary()

Signals = Mapping[str, RewardSignal]
ChosenBuffer = tuple[Component, ConfigModel]


class TrainerChecks(ComponentConformance):
    """Base of the checks of trainers.

    Attributes:
        config: As of every kind; choose what makes an update small. `buffer: {type: …}` stands here as in a file.
        network: The `network:` section of everything but the probes.
    """

    kind = "trainer"
    network: ClassVar[Mapping[str, object]] = MappingProxyType({"hidden_units": 16, "normalize": True})

    @classmethod
    def options(cls, **changes: object) -> Any:
        merged = {**cls.config, **changes}
        merged.pop("buffer", None)
        model = cls.found().load_config()
        return model.model_validate(merged, context={"directory": cls.directory()})

    def make(
        self,
        spec: BehaviorSpec,
        *,
        seed: int = 0,
        signals: Signals | None = None,
        max_steps: int = MAX_STEPS,
        network: Mapping[str, object] | None = None,
        options: Mapping[str, object] = MappingProxyType({}),
    ) -> Trainer:
        """A trainer as a run would make it, with the extrinsic reward unless signals are given."""
        return make_trainer(
            self.found(),
            self.options(**options),
            spec,
            seed=seed,
            signals=signals,
            max_steps=max_steps,
            network=NetworkConfig.model_validate(self.network if network is None else network),
            buffer=self.chosen_buffer(**options),
        )

    def chosen_buffer(self, **options: object) -> ChosenBuffer | None:
        """The buffer that `config` names or that the trainer declares."""
        own = self.found().spec
        default = own.buffer if isinstance(own, TrainerSpec) else None
        if default is None:
            return None
        section: Any = {**self.config, **options}.get("buffer", {})
        component = self.registry().find("buffer", section.get("type", default))
        values = {key: value for key, value in section.items() if key != "type"}
        return component, component.load_config().model_validate(values)

    def is_offline(self) -> bool:
        """Whether the trainer says that it can learn without an environment."""
        own = self.found().spec
        return isinstance(own, TrainerSpec) and own.offline

    def need_repeats(self) -> None:
        """Skip a check that compares two runs, where they differ anyway."""
        if type(self) not in _REPEATS:
            states = []
            for _ in range(2):
                for _, toy in self.trials():
                    with global_seed(0):
                        states.append(self.drive(toy()).updates(1).trainer.policy_state())
            _REPEATS[type(self)] = difference(states[0], states[1]) is None
        if not _REPEATS[type(self)]:
            skip("a seed does not repeat, as another check says")

    def accepted(self) -> list[str]:
        """Titles of the toys whose behavior the trainer does not refuse."""
        if type(self) not in _ACCEPTED:
            _ACCEPTED[type(self)] = [title for title, toy in TOYS.items() if self.takes(spec_of(toy()))]
        return _ACCEPTED[type(self)]

    def takes(self, spec: BehaviorSpec) -> bool:
        """Whether the trainer does not refuse a behavior."""
        try:
            with global_seed(0):
                self.make(spec)
        except UserError:
            return False
        return True

    def trials(self) -> Iterator[tuple[str, Callable[[], Environment]]]:
        """Toys that each check is made on: one that is accepted, preferably with both kinds of action."""
        accepted = self.accepted()
        if not accepted:
            skip("the trainer refuses the behaviors of all toys")
        preferred = ("masked choice and continuous action", "discrete actions", "continuous actions")
        title = next((title for title in preferred if title in accepted), accepted[0])
        yield title, TOYS[title]

    def action_kind(self) -> ActionKind:
        """A kind of single action that the trainer takes."""
        for kind in ACTION_KINDS:
            if self.takes(spec_of(Numbered(1, kind))):
                return kind
        skip("the trainer takes neither a choice nor a number as action")
        raise AssertionError

    def drive(self, toy: Environment) -> Driver:
        """A trainer of the toy's behavior on the toy."""
        return Driver(toy, self.make(spec_of(toy)))

    def drive_with(self, toy: Environment, signal: RewardSignal) -> Driver:
        """As `drive`, with the reward signal `own` in place of the environment's reward."""
        return Driver(toy, self.make(spec_of(toy), signals={"own": signal}))

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        title = self.accepted()[0]
        return f"{__name__}:first_update", (self.found(), self.options(), self.chosen_buffer(), title)


def make_trainer(
    component: Component,
    config: ConfigModel,
    spec: BehaviorSpec,
    *,
    seed: int = 0,
    signals: Signals | None = None,
    max_steps: int = MAX_STEPS,
    network: NetworkConfig | None = None,
    buffer: ChosenBuffer | None = None,
) -> Trainer:
    """A trainer as a run would make it."""
    context = trainer_context(
        config,
        spec,
        network=network or NetworkConfig(hidden_units=16),
        signals=signals,
        seed=seed,
        max_steps=max_steps,
        make_buffer=None if buffer is None else partial(_make_buffer, *buffer, spec, max_steps),
    )
    trainer = component.load_factory()(context)
    require(isinstance(trainer, Trainer), "the factory returns a Trainer", type(trainer).__name__, "a Trainer")
    made: Trainer = trainer
    return made


def spec_of(toy: Environment) -> BehaviorSpec:
    """The spec of a toy's only behavior."""
    toy.reset(seed=0)
    (spec,) = toy.behavior_specs.values()
    return spec


def take_over(trainer: Trainer, other: Trainer) -> None:
    """Give a trainer the states of another one, as a checkpoint would."""
    trainer.load_policy_state(_saved(other.policy_state()))
    trainer.load_state_dict(_saved(other.state_dict()))
    if other.buffer is not None and trainer.buffer is not None:
        trainer.buffer.load_state_dict(_saved(other.buffer.state_dict()))


def _saved(state: dict[str, Any]) -> Any:
    try:
        return through_checkpoint(state)
    except UnsavableStateError:  # another check's business
        return copy.deepcopy(state)


def first_update(component: Component, config: ConfigModel, buffer: ChosenBuffer | None, title: str) -> list[float]:
    """Statistics of a trainer's first update on a toy."""
    torch.set_num_threads(1)
    toy = TOYS[title]()
    with global_seed(0):
        driver = Driver(toy, make_trainer(component, config, spec_of(toy), buffer=buffer)).updates(1)
    return [value for _, value in sorted(driver.stats[0].items())]


def _make_buffer(
    component: Component, config: ConfigModel, spec: BehaviorSpec, max_steps: int, memory_size: int
) -> Buffer:
    context = buffer_context(config, spec, memory_size=memory_size, max_steps=max_steps)
    buffer: Buffer = component.load_factory()(context)
    return buffer

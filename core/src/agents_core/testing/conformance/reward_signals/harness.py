"""Reward signals under test: making them, what they are tried on, and how numbers are compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Batch, Columns
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import UserError
from agents_core.options import ConfigModel
from agents_core.registry import Component
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.contexts import signal_context
from agents_core.testing.transitions import BEHAVIORS, make_transitions, to_batch

Doubles = npt.NDArray[np.float64]

_TESTED = 2
"""Behaviors that each check is made with, of those that the signal accepts."""
_PREFERRED = ("several observations, hybrid actions", "a vector, discrete actions")
_ACCEPTED: WeakKeyDictionary[type, dict[str, BehaviorSpec]] = WeakKeyDictionary()


class SignalChecks(ComponentConformance):
    """Base of the checks of reward signals."""

    kind = "reward-signal"

    def behaviors(self) -> Mapping[str, BehaviorSpec]:
        """Specs to try, by a title for messages."""
        return BEHAVIORS

    def transitions(self, spec: BehaviorSpec, *, agents: int = 4, steps: int = 16, seed: int = 0) -> Columns:
        """Experience of `agents` agents that the signal is tried on, `agents * steps` rows."""
        return make_transitions(spec, agents=agents, steps=steps, seed=seed)

    def make(self, spec: BehaviorSpec, *, seed: int = 0, device: str = "cpu", **options: object) -> RewardSignal:
        """A signal as a run would make it."""
        return make_signal(self.found(), self.options(**options), spec, seed, device)

    def accepted(self) -> dict[str, BehaviorSpec]:
        """The behaviors that the signal does not refuse."""
        if type(self) not in _ACCEPTED:
            _ACCEPTED[type(self)] = {title: spec for title, spec in self.behaviors().items() if self.takes(spec)}
        return _ACCEPTED[type(self)]

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        spec = next(iter(self._accepted_any().values()))
        return f"{__name__}:rewards_of", (self.found(), self.options(), spec, self.transitions(spec))

    def trials(self) -> Iterator[tuple[str, BehaviorSpec]]:
        accepted = self._accepted_any()
        preferred = [title for title in _PREFERRED if title in accepted]
        titles = list(dict.fromkeys([*preferred, *accepted]))[:_TESTED]
        for title in titles:
            yield title, accepted[title]

    def _accepted_any(self) -> dict[str, BehaviorSpec]:
        if not self.accepted():
            skip("the signal refuses every kind of behavior")
        return self.accepted()

    def trials_on_every_device(self) -> Iterator[tuple[str, BehaviorSpec, str]]:
        for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
            yield from ((title, spec, device) for title, spec in self.trials())

    def takes(self, spec: BehaviorSpec) -> bool:
        self.found(), self.options()  # What is not installed, or misconfigured, refuses nothing.
        try:
            with global_seed(0):
                self.make(spec)
        except UserError:
            return False
        return True

    def observed(self, spec: BehaviorSpec, batch: Batch, *, seed: int = 0, device: str = "cpu") -> RewardSignal:
        """A signal that has observed a batch."""
        with global_seed(0):
            signal = self.make(spec, seed=seed, device=device)
            signal.observe(batch)
        return signal


def make_signal(
    component: Component, config: ConfigModel, spec: BehaviorSpec, seed: int = 0, device: str = "cpu"
) -> RewardSignal:
    """A signal as a run would make it."""
    context = signal_context(config, spec, name=component.name, seed=seed, device=device)
    signal = component.load_factory()(context)
    require(
        isinstance(signal, RewardSignal), "the factory returns a RewardSignal", type(signal).__name__, "RewardSignal"
    )
    made: RewardSignal = signal
    return made


def rewards_of(component: Component, config: ConfigModel, spec: BehaviorSpec, columns: Columns) -> list[float]:
    """Rewards of a new signal."""
    batch = to_batch(columns)
    with global_seed(0):
        signal = make_signal(component, config, spec)
        signal.observe(batch)
        rewards: list[float] = numbers(signal.evaluate(batch)).tolist()
        return rewards


def numbers(rewards: Any) -> Doubles:
    """Rewards of any shape and dtype as float64[n]: what is wrong with those is one check's business, not of all."""
    if isinstance(rewards, torch.Tensor):
        rewards = rewards.detach().cpu().numpy()
    return np.asarray(rewards, np.float64).reshape(-1)


def floats(stats: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(value) for name, value in stats.items()}


def shown(numbers: Doubles) -> str:
    return f"[{', '.join(f'{number:.6g}' for number in numbers[:6])}{', …' if len(numbers) > 6 else ''}]"


def require_near(rule: str, found: Doubles, expected: Doubles) -> None:
    scale = float(np.nanmax(np.abs(expected), initial=1e-6))
    near = found.shape == expected.shape and np.allclose(found, expected, rtol=1e-3, atol=1e-4 * scale, equal_nan=True)
    require(near, rule, shown(found), shown(expected))


def require_equal(rule: str, found: Doubles, expected: Doubles) -> None:
    require(np.array_equal(found, expected, equal_nan=True), rule, shown(found), shown(expected))

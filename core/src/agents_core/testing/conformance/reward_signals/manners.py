"""What a reward signal does besides giving rewards: nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents_core.contracts.reward_signal import RewardSignal
from agents_core.errors import NonFiniteError
from agents_core.learning.signal_rewards import BadRewardsError
from agents_core.options import NetworkConfig
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, Questions, global_seed, read
from agents_core.testing.conformance.reference import ReferenceConfig, ReferenceTrainer
from agents_core.testing.conformance.reward_signals.harness import SignalChecks, numbers, shown
from agents_core.testing.contexts import extrinsic_reward, trainer_context
from agents_core.testing.driver import Driver
from agents_core.testing.states import difference
from agents_core.testing.toys import MaskedHybrid, Simple1D
from agents_core.testing.transitions import to_batch

_Toy = type[MaskedHybrid] | type[Simple1D]


class MannerChecks(SignalChecks):
    """Checks that a signal leaves everything else as it is."""

    def test_inputs_stay_as_they_are(self) -> None:
        """`observe`, `evaluate` and `update` do not change the batch, which others read after them.

        Mend: no in-place operation (`-=`, `clamp_`, `[...] =`) on what came out of the batch; clone it first.
        """
        for title, spec in self.trials():
            batch = to_batch(self.transitions(spec))
            before = {name: batch[name].clone() for name in batch}
            with global_seed(0):
                signal = self.make(spec)
                for call in (signal.observe, signal.evaluate, signal.update):
                    call(batch)
                    changed = [name for name in before if not _equal(batch[name], before[name])]
                    rule = f"{title}: `{call.__name__}` leaves the batch alone"
                    require(not changed, rule, f"changed: {', '.join(changed)}", "the columns as they were")

    def test_global_generators_are_left_alone(self) -> None:
        """Nothing draws from the global generators of torch, NumPy or `random`, when it is made and when it is used.

        Mend: pass `generator=`; make layers with `agents_core.networks.initialisation.Initialiser`, since those of
        torch draw their first weights globally.
        """
        for title, spec in self.trials():
            before, after = self._read_around_a_life(spec, GENERATORS)
            used = [name for name in before if before[name] != after[name]]
            require(not used, f"{title}: global generators are not used", f"drawn from: {', '.join(used)}", "none")

    def test_settings_of_the_process_are_left_alone(self) -> None:
        """Gradient mode, default dtype, threads and the like belong to the run.

        Mend: use `with torch.no_grad():` in place of `torch.set_grad_enabled`; do not set threads or dtypes.
        """
        for title, spec in self.trials():
            before, after = self._read_around_a_life(spec, SETTINGS)
            changed = {name: value for name, value in after.items() if before[name] != value}
            expected = {name: before[name] for name in changed}
            require(not changed, f"{title}: settings of the process stay", changed, expected)

    def test_rewards_carry_no_gradient(self) -> None:
        """No gradient of the policy's losses can reach the signal's networks through the rewards.

        Mend: `@torch.no_grad()` on `evaluate`, or `.detach()` what it returns.
        """
        for title, spec in self.trials():
            batch = to_batch(self.transitions(spec))
            rewards = self.observed(spec, batch).evaluate(batch)
            carries = isinstance(rewards, torch.Tensor) and rewards.requires_grad
            require(not carries, f"{title}: rewards carry no gradient", "requires_grad=True", "detached rewards")

    def test_evaluate_changes_nothing(self) -> None:
        """`evaluate` is pure: asking again gives the same, and the state stays.

        Mend: count, normalise and draw in `observe`, which sees each transition once; `evaluate` may be called for the
        same rows any number of times.
        """
        for title, spec in self.trials():
            batch, other = (to_batch(self.transitions(spec, seed=seed)) for seed in (0, 1))
            signal = self.observed(spec, batch)
            before = copy.deepcopy(signal.state_dict())
            rewards = numbers(signal.evaluate(batch))
            signal.evaluate(other)
            again = numbers(signal.evaluate(batch))
            rule = f"{title}: the same rows give the same rewards again"
            require(np.array_equal(again, rewards, equal_nan=True), rule, shown(again), shown(rewards))
            changed = difference(before, signal.state_dict())
            require(changed is None, f"{title}: `evaluate` leaves the state alone", changed, "no difference")

    def test_a_strength_of_0_changes_nothing(self) -> None:
        """With `strength: 0` a signal is evaluated and trained, and the policy learns what it learns without it.

        Mend: pass the option on as it is (0 is not "not given"); write to nothing that the trainer owns.
        """
        environment = next((toy for toy in (MaskedHybrid, Simple1D) if self.takes(_spec_of(toy))), None)
        if environment is None:
            skip("the signal refuses the behaviors of the toys")
            return
        spec = _spec_of(environment)
        with global_seed(0):
            alone = _train(environment, {"extrinsic": extrinsic_reward(spec)})
        with global_seed(0):
            signals = {"own": self.make(spec, strength=0), "extrinsic": extrinsic_reward(spec)}
            try:
                beside = _train(environment, signals)
            except (BadRewardsError, NonFiniteError):
                skip("the rewards themselves are wrong, as another check says")
                return
        moved = float(np.abs(alone - beside).max()) if alone.shape == beside.shape else "another number of weights"
        rule = "at strength 0, the policy's weights are those of a run without the signal"
        require(moved == 0.0, rule, f"they differ by {moved}", "bit-identical weights")

    def _read_around_a_life(self, spec: BehaviorSpec, questions: Questions) -> tuple[dict[str, Any], dict[str, Any]]:
        """What `read` says before and after a signal was made and used."""
        batch = to_batch(self.transitions(spec))
        with global_seed(0):
            before = read(questions)
            signal = self.make(spec)
            for call in (signal.observe, signal.evaluate, signal.update):
                call(batch)
            return before, read(questions)


def _equal(first: torch.Tensor, second: torch.Tensor) -> bool:
    return first.shape == second.shape and bool(((first == second) | ((first != first) & (second != second))).all())


def _spec_of(environment: _Toy) -> BehaviorSpec:
    (spec,) = environment(4).behavior_specs.values()
    return spec


def _train(environment: _Toy, signals: Mapping[str, RewardSignal]) -> npt.NDArray[np.float32]:
    """Weights after two updates."""
    toy = environment(4)
    network = NetworkConfig(hidden_units=16)
    trainer = ReferenceTrainer(
        trainer_context(ReferenceConfig(), _spec_of(environment), network=network, signals=signals)
    )
    Driver(toy, trainer).updates(2)
    weights: npt.NDArray[np.float32] = trainer.network.flat.values.detach().numpy().copy()
    return weights

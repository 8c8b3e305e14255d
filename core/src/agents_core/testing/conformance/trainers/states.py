"""A trainer that is saved and goes on."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence

import numpy as np

from agents_core.columns import Array
from agents_core.contracts.environment import Actions, Environment
from agents_core.contracts.trainer import Trainer
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.trainers.harness import TrainerChecks, spec_of, take_over
from agents_core.testing.driver import Driver
from agents_core.testing.states import difference, through_checkpoint
from agents_core.training.state_files import UnsavableStateError

_SAMPLES = 4000


class StateChecks(TrainerChecks):
    """Checks of seeds and states."""

    def test_a_seed_repeats(self) -> None:
        """Two trainers of one seed learn the same, bit for bit on the CPU.

        Mend: draw everything from generators spawned from `context.seed`.
        """
        for title, toy in self.trials():
            drivers = []
            for _ in range(2):
                with global_seed(7):
                    drivers.append(self.drive(toy()).updates(2))
            first, second = drivers
            found = difference(first.trainer.policy_state(), second.trainer.policy_state())
            found = found or difference(first.stats, second.stats)
            require(found is None, f"{title}: one seed gives the same numbers", found, "no difference")

    def test_states_can_be_saved(self) -> None:
        """`policy_state` and `state_dict` are trees that checkpoints can hold.

        Mend: use dict with text keys, list, str, int, float, bool, None, NumPy arrays and tensors, nothing else.
        """
        for title, toy in self.trials():
            with global_seed(0):
                trainer = self.drive(toy()).updates(1).trainer
            for name, state in (("policy_state", trainer.policy_state()), ("state_dict", trainer.state_dict())):
                try:
                    through_checkpoint(state)
                except UnsavableStateError as error:
                    require(False, f"{title}: `{name}` can be saved", error, "a tree of plain values and arrays")

    def test_the_policy_state_is_enough_to_act(self) -> None:
        """A policy that took over `policy_state` alone does what the trained one does.

        Mend: weights of the actor and the normaliser's statistics belong to `policy_state`.
        """
        for title, toy in self.trials():
            trained, other = self._trained_and_loaded(toy)
            observations = _observations(trained.policy.spec)
            acts = [trainer.policy.act(observations, deterministic=True) for trainer in (trained, other)]
            rule = f"{title}: after `load_policy_state`, the most likely actions are the same"
            for first, second in ((acts[0].continuous, acts[1].continuous), (acts[0].discrete, acts[1].discrete)):
                require(np.array_equal(first, second), rule, second[:3].tolist(), first[:3].tolist())

    def test_a_loaded_policy_samples_as_the_trained_one(self) -> None:
        """A policy that took over `policy_state` draws actions from the same distribution as the trained one.

        Mend: `load_policy_state` ends a start with random actions: who loads a policy wants to see it act.
        """
        for title, toy in self.trials():
            trained, other = self._trained_and_loaded(toy)
            spec = trained.policy.spec
            one = [np.repeat(observation, _SAMPLES, axis=0) for observation in _observations(spec, 1)]
            first, second = (
                _moments(trainer.policy.act(one, deterministic=False), spec.action.discrete_branches)
                for trainer in (trained, other)
            )
            allowed = 6 * np.sqrt((first.var(axis=0) + second.var(axis=0)) / _SAMPLES) + 1e-6
            is_same = np.abs(first.mean(axis=0) - second.mean(axis=0)) <= allowed
            rule = f"{title}: after `load_policy_state`, samples have the same means, squares and frequencies"
            require(bool(is_same.all()), rule, second.mean(axis=0).tolist(), first.mean(axis=0).tolist())

    def _trained_and_loaded(self, toy: Callable[[], Environment]) -> tuple[Trainer, Trainer]:
        with global_seed(0):
            trained = self.drive(toy()).updates(2).trainer
        with global_seed(1):
            other = self.make(trained.policy.spec, seed=1)
            other.load_policy_state(copy.deepcopy(trained.policy_state()))
        return trained, other

    def test_a_resumed_trainer_goes_on_bit_for_bit(self) -> None:
        """Two more updates from loaded states give the very weights and statistics of the run that was not stopped.

        Mend: optimisers, critics, temperatures, generators (`agents_core.generators`), counters and schedules belong to
        `state_dict`, the contents of a buffer to its own.
        """
        for title, toy in self.trials():
            with global_seed(0):
                driver = self.drive(toy()).updates(2)
                environment = toy()
                resumed = self.make(spec_of(environment), seed=1)
                take_over(resumed, driver.trainer)
                again = Driver(environment, resumed, seed=5, after=driver)
                driver.restart(5)
                first = len(driver.stats)
                driver.updates(2)
                again.updates(2)
            rule = f"{title}: a resumed trainer goes on as the one that was not stopped"
            found = difference(driver.trainer.policy_state(), resumed.policy_state())
            found = found or difference(driver.stats[first:], again.stats)
            found = found or difference(driver.trainer.state_dict(), resumed.state_dict())
            require(found is None, rule, found, "no difference in weights, statistics and state")


def _moments(actions: Actions, branches: Sequence[int]) -> Array:
    """Continuous actions, their squares, and which of the discrete choices each is: float64[n, …]."""
    continuous = actions.continuous.astype(np.float64)
    choices = [column[:, None] == np.arange(size) for column, size in zip(actions.discrete.T, branches, strict=True)]
    return np.concatenate([continuous, continuous**2, *choices], axis=1)


def _observations(spec: BehaviorSpec, rows: int = 32) -> list[Array]:
    generator = np.random.default_rng(0)
    return [
        generator.normal(size=(rows, *observation.shape)).astype(observation.dtype) for observation in spec.observations
    ]

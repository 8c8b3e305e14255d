"""What a trainer does with experience and with what it is asked to compute."""

from __future__ import annotations

import copy

import numpy as np

from agents_core.errors import NonFiniteError
from agents_core.registry.names import describe, nearest
from agents_core.testing.conformance.checks import ConformanceError, require, skip
from agents_core.testing.conformance.isolation import GENERATORS, SETTINGS, global_seed, read
from agents_core.testing.conformance.trainers.harness import TOYS, TrainerChecks, spec_of
from agents_core.testing.conformance.trainers.recording import RecordingSignal
from agents_core.testing.driver import Driver, arrays_of
from agents_core.testing.states import difference
from agents_core.training.state_tree import first_non_finite
from agents_core.trajectory import Trajectories

METRICS = (
    "train/policy_loss",
    "train/value_loss",
    "train/entropy",
    "train/approx_kl",
    "train/clip_fraction",
    "train/explained_variance",
    "train/learning_rate",
)
"""Names that mean the same in every trainer, so that curves can be compared."""


class ExperienceChecks(TrainerChecks):
    """Checks of two updates."""

    def test_every_kind_of_behavior_is_trained_or_refused(self) -> None:
        """Discrete, continuous and hybrid actions, masks, images, agents that come and go: two updates on each, or a
        refusal.

        Mend: build networks with `agents_core.networks`, which knows all kinds; or raise a subclass of
        `agents_core.errors.UserError` in the factory that says what the trainer takes.
        """
        rule = "a behavior is trained, or refused with a UserError when the trainer is made"
        require(bool(self.accepted()), rule, "the behaviors of all toys are refused", "one that is not")
        for title in self.accepted():
            try:
                with global_seed(0):
                    self.drive(TOYS[title]()).updates(2)
            except Exception as error:
                raise ConformanceError(f"{title}: {rule}\n  found:    {describe(error)}") from error

    def test_updates_change_the_policy(self) -> None:
        """After two updates the policy is another one, and every number in it is finite.

        Mend: step the optimiser on the parameters that `policy` acts with; a spread of 0 needs an epsilon.
        """
        for title, toy in self.trials():
            environment, network = toy(), {**self.network, "normalize": False}
            with global_seed(0):
                driver = Driver(environment, self.make(spec_of(environment), network=network))
                before = _copied_state(driver)
                driver.updates(2)
            after = driver.trainer.policy_state()
            moved = difference(before, after) is not None
            require(moved, f"{title}: two updates change `policy_state`", "the same state", "other weights")
            spoiled = first_non_finite(after)
            require(spoiled is None, f"{title}: weights stay finite", f"{spoiled} is not", "finite numbers")

    def test_equal_rewards_leave_weights_finite(self) -> None:
        """Where all rewards are the same, advantages have no spread to be divided by.

        Mend: divide by the deviation plus an epsilon, or use `agents_core.learning.losses.normalise_advantages`.
        """
        for title, toy in self.trials():
            for reward in (0.0, -100.0):
                with global_seed(0):
                    driver = self.drive_with(toy(), RecordingSignal(reward)).updates(2)
                spoiled = first_non_finite(driver.trainer.policy_state())
                rule = f"{title}, every reward {reward:g}: weights stay finite"
                require(spoiled is None, rule, f"{spoiled} is not", "finite numbers")

    def test_statistics_have_known_names(self) -> None:
        """`update` returns finite floats as `train/<name>` and `reward/<signal>/<name>`, as other trainers do.

        Mend: use the names of the contract where they fit, such as `train/policy_loss`; `float(loss)` on tensors; for
        each signal `reward/<signal>/raw` and, times its strength, `reward/<signal>/scaled`.
        """
        for title, toy in self.trials():
            signal = RecordingSignal(reward=2.0, strength=0.25)
            with global_seed(0):
                driver = self.drive_with(toy(), signal).updates(3)
            merged: dict[str, float] = {}
            for stats in driver.stats:
                problems = [text for key, value in stats.items() if (text := _problem(key, value))]
                require(not problems, f"{title}: statistics have known names", "; ".join(problems), "finite floats")
                merged |= stats
            found = merged.get("reward/own/raw"), merged.get("reward/own/scaled")
            rule = f"{title}: the reward of each signal is reported, raw and times its strength"
            right = None not in found and np.allclose(np.array(found, np.float64), (2.0, 0.5), rtol=1e-3)
            require(bool(right), rule, found, "reward/own/raw = 2, reward/own/scaled = 0.5")

    def test_global_generators_are_left_alone(self) -> None:
        """Nothing draws from the global generators of torch, NumPy or `random`: all randomness is the run's.

        Mend: pass `generator=`; spawn generators from `context.seed`; make layers with
        `agents_core.networks.initialisation.Initialiser`, since those of torch draw their first weights globally.
        """
        for title, toy in self.trials():
            with global_seed(0):
                before = read(GENERATORS)
                self.drive(toy()).updates(2)
                after = read(GENERATORS)
            used = [name for name in before if before[name] != after[name]]
            require(not used, f"{title}: global generators are not used", f"drawn from: {', '.join(used)}", "none")

    def test_settings_of_the_process_are_left_alone(self) -> None:
        """Gradient mode, default dtype, threads and the like belong to the run.

        Mend: use `with torch.no_grad():` in place of `torch.set_grad_enabled`; do not set threads or dtypes.
        """
        for title, toy in self.trials():
            with global_seed(0):
                before = read(SETTINGS)
                self.drive(toy()).updates(2)
                after = read(SETTINGS)
            changed = {name: value for name, value in after.items() if before[name] != value}
            expected = {name: before[name] for name in changed}
            require(not changed, f"{title}: settings of the process stay", changed, expected)

    def test_experience_stays_as_it_is(self) -> None:
        """`process` and `update` only read what they are given.

        Mend: no in-place operation on arrays of the experience; `torch.as_tensor` shares their memory on the CPU.
        """
        for title, toy in self.trials():
            with global_seed(0):
                driver = self.drive(toy())
                experience = driver.rollout()
                before = {name: array.copy() for name, array in arrays_of(experience).items()}
                driver.trainer.process(experience, driver.steps)
                if driver.trainer.is_ready():
                    driver.trainer.update()
            after = arrays_of(experience)
            changed = [name for name in before if not np.array_equal(before[name], after[name], equal_nan=True)]
            rule = f"{title}: experience stays as it is"
            require(not changed, rule, f"changed: {', '.join(changed)}", "the arrays as they were")

    def test_experience_is_not_kept(self) -> None:
        """The collector reuses the arrays after the next update.

        Mend: copy what is needed longer, as `Buffer.add` does.
        """

        def spoil(driver: Driver) -> None:
            for experience in driver.handed_out:
                for array in arrays_of(experience).values():
                    array.fill(0)

        self.need_repeats()
        for title, toy in self.trials():
            states = []
            for on_update in (None, spoil):
                with global_seed(0):
                    environment = toy()
                    trainer = self.make(spec_of(environment))
                    driver = Driver(environment, trainer, on_update=on_update).updates(3)
                states.append(driver.trainer.policy_state())
            changed = difference(states[0], states[1])
            rule = f"{title}: what was given before an update is not read after it"
            require(changed is None, rule, changed, "the same weights, whatever becomes of the arrays")

    def test_a_new_trainer_is_not_ready(self) -> None:
        """`is_ready` says whether `update` has something to do: not before anything was processed.

        Mend: return False until there is experience.
        """
        for title, toy in self.trials():
            if self.is_offline():
                skip("the trainer learns without an environment")
            with global_seed(0):
                ready = self.make(spec_of(toy())).is_ready()
            require(not ready, f"{title}: a new trainer has nothing to learn from", "is_ready() is True", "False")

    def test_the_last_rollout_may_be_short(self) -> None:
        """At the end of a run, what is left is learned from: from a quarter of `rollout_size` on.

        Mend: take the number of rows from the experience, not from the options.
        """
        for title, toy in self.trials():
            with global_seed(0):
                driver = self.drive(toy())
                experience = driver.rollout()
                if not isinstance(experience, Trajectories):
                    skip("a trainer of transitions takes any number of rows")
                    return
                driver.learn(_first_rows(experience, max(1, driver.trainer.rollout_size // 4)))
            rule = f"{title}: a quarter of a rollout is learned from"
            require(len(driver.stats) == 1, rule, "`is_ready` is False", "an update")
            spoiled = first_non_finite(driver.trainer.policy_state())
            require(spoiled is None, rule, f"{spoiled} is not finite", "finite weights")

    def test_a_reward_that_is_not_finite_ends_the_run(self) -> None:
        """NaN from a signal or in a loss is an error that names it, not the end of learning without a word.

        Mend: get rewards by `agents_core.learning.signal_rewards`, check losses by `agents_core.learning.finite`.
        """
        for title, toy in self.trials():
            if self.is_offline():
                skip("the trainer learns without rewards")
            rule = f"{title}: a reward that is NaN raises NonFiniteError"
            try:
                with global_seed(0), np.errstate(invalid="ignore"):
                    self.drive_with(toy(), RecordingSignal(float("nan"))).updates(1)
            except NonFiniteError:
                continue
            require(False, rule, "the update goes through", "agents_core.errors.NonFiniteError")


def _copied_state(driver: Driver) -> object:
    return copy.deepcopy(driver.trainer.policy_state())


def _problem(key: str, value: object) -> str | None:
    """What is wrong with a statistic."""
    group, _, name = key.partition("/")
    if group == "reward":
        signal, _, name = name.partition("/")
        if signal != "own":
            return f"{key!r} is of no reward signal"
    elif group != "train":
        return f"{key!r} is neither train/<name> nor reward/<signal>/<name>"
    if not name or not name.replace("_", "a").isalnum() or name != name.lower():
        return f"{key!r} is not lower case with `_` between words"
    near = nearest(key, METRICS)
    if group == "train" and near is not None and near != key and near.replace("_", "") == key.replace("_", ""):
        return f"{key!r} is elsewhere called {near!r}"
    if type(value) is not float or not np.isfinite(value):
        return f"{key!r} is {value!r:.60}"
    return None


def _first_rows(experience: Trajectories, rows: int) -> Trajectories:
    """The first trajectory as far as these rows go."""
    rows = min(rows, int(experience.lengths[0]))
    columns = experience.columns.take(slice(0, rows))
    final = tuple(
        array[:1] if rows == experience.lengths[0] else experience.columns[f"obs.{place}"][rows : rows + 1]
        for place, array in enumerate(experience.final_observations)
    )
    return Trajectories(columns, np.array([rows], np.int64), final)

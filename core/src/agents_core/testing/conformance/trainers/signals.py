"""How a trainer deals with its reward signals."""

from __future__ import annotations

from collections import Counter

from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.trainers.harness import TrainerChecks, spec_of
from agents_core.testing.conformance.trainers.recording import RecordingSignal, Row
from agents_core.testing.contexts import extrinsic_reward
from agents_core.testing.credit_probes import Numbered
from agents_core.testing.driver import Driver, columns_of
from agents_core.testing.states import difference


class SignalUseChecks(TrainerChecks):
    """Checks made with a signal that remembers what it was asked."""

    def test_signals_observe_each_transition_once(self) -> None:
        """However often a row is learned from, each signal's `observe` gets it exactly once.

        Mend: call `observe` where experience comes in, not in the loop over epochs or minibatches.
        """
        signal, given, _ = self._recorded()
        times = Counter(signal.observed)
        often = sum(count > 1 for count in times.values())
        missed, strange = len(given - times.keys()), len(times.keys() - given)
        found = f"{often} rows more than once, {missed} never, {strange} that were not experience"
        wrong = bool(often or missed or strange)
        require(not wrong, "signals observe each transition exactly once", found, f"{len(given)} rows, once each")

    def test_signals_observe_before_they_evaluate(self) -> None:
        """A signal that counts or normalises has seen a row when it is asked for its reward.

        Mend: `signal.observe(batch)` comes before `signal.evaluate(batch)`.
        """
        signal, given, _ = self._recorded()
        require(signal.evaluations > 0, "signals are evaluated", "no call of `evaluate`", "at least one")
        early = [row for row in signal.unseen if row in given]
        rule = "signals observe a transition before they evaluate it"
        require(not early, rule, f"{len(early)} rows were evaluated first", "none")

    def test_signals_are_trained(self) -> None:
        """Each update trains the signals on minibatches.

        Mend: call `signal.update(minibatch)` in the policy's loop over minibatches, and log what it returns as
        `reward/<signal>/<key>`.
        """
        signal, _, driver = self._recorded()
        require(signal.updates > 0, "signals are trained", "no call of `update`", "one a minibatch")
        logged = any("reward/own/updates" in stats for stats in driver.stats)
        rule = "what a signal's `update` returns is logged"
        require(logged, rule, sorted(driver.stats[-1]), "with reward/own/updates")

    def test_a_strength_of_0_changes_nothing(self) -> None:
        """A signal of constant strength 0 is observed, evaluated, trained and logged, and the policy learns what it
        learns without it.

        Mend: give a value head only to signals whose `strength.is_zero` is False, and leave the others out of losses.
        """
        for title, toy in self.trials():
            self._need_rewards()
            self.need_repeats()
            silent = RecordingSignal(reward=123.0, strength=0.0)
            states = []
            for beside in ({}, {"silent": silent}):
                environment = toy()
                signals = {**beside, "extrinsic": extrinsic_reward(spec_of(environment))}
                with global_seed(0):
                    driver = Driver(environment, self.make(spec_of(environment), signals=signals)).updates(2)
                states.append(driver.trainer.policy_state())
            changed = difference(states[0], states[1])
            rule = f"{title}: at strength 0, the policy is that of a run without the signal"
            require(changed is None, rule, changed, "bit-identical weights")
            used = silent.evaluations > 0
            rule = f"{title}: at strength 0, a signal is evaluated and logged all the same"
            found = f"{silent.evaluations} evaluations, {', '.join(sorted(driver.stats[-1]))}"
            require(
                used and any("reward/silent/raw" in stats for stats in driver.stats), rule, found, "reward/silent/raw"
            )

    def test_states_of_signals_are_kept(self) -> None:
        """What signals have learned is part of the trainer's state.

        Mend: `"signals": {name: signal.state_dict() …}` in `state_dict`, and `load_state_dict` in turn.
        """
        signal, _, driver = self._recorded()
        fresh = RecordingSignal()
        state = driver.trainer.state_dict()
        with global_seed(0):
            trainer = self.make(driver.trainer.policy.spec, signals={"own": fresh})
            trainer.load_policy_state(driver.trainer.policy_state())
            trainer.load_state_dict(state)
        require(fresh.updates == signal.updates, "states of signals are kept", fresh.updates, signal.updates)

    def _recorded(self) -> tuple[RecordingSignal, set[Row], Driver]:
        """A signal after some updates, every row that the trainer was given, and the loop."""
        self._need_rewards()
        toy, signal = Numbered(4, self.action_kind()), RecordingSignal()
        given: set[Row] = set()

        def note(driver: Driver) -> None:
            for experience in driver.handed_out:
                given.update(tuple(row) for row in columns_of(experience)["obs.0"].tolist())

        with global_seed(0):
            trainer = self.make(spec_of(toy), signals={"own": signal})
            driver = Driver(toy, trainer, on_update=note).updates(3)
        return signal, given, driver

    def _need_rewards(self) -> None:
        if self.is_offline():
            skip("the trainer learns without rewards")

"""What a reward signal gives."""

from __future__ import annotations

import numpy as np
import torch

from agents_core.columns import Columns
from agents_core.registry.names import describe
from agents_core.schedules import Schedule
from agents_core.testing.conformance.checks import ConformanceError, require
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.reward_signals.harness import (
    SignalChecks,
    floats,
    numbers,
    require_near,
    shown,
)
from agents_core.testing.transitions import as_given_to_signals, to_batch


class ValueChecks(SignalChecks):
    """Checks of rewards and statistics."""

    def test_every_kind_of_behavior_works_or_is_refused(self) -> None:
        """Vectors, images, and observations of every kind at once, with continuous, discrete and hybrid actions: the
        signal takes them or says that it does not.

        Mend: encode observations with `agents_core.networks`, which knows all kinds; or raise a subclass of
        `agents_core.errors.UserError` in the factory that says what the signal takes.
        """
        rule = "a behavior is rewarded, or refused with a UserError when the signal is made"
        require(bool(self.accepted()), rule, "every kind of behavior is refused", "one that is not; see `behaviors`")
        for title, spec in self.accepted().items():
            batch = to_batch(self.transitions(spec))
            try:
                with global_seed(0):
                    signal = self.make(spec)
                    signal.observe(batch)
                    signal.evaluate(batch)
                    signal.update(batch)
            except Exception as error:
                raise ConformanceError(f"{title}: {rule}\n  found:    {describe(error)}") from error

    def test_rewards_are_float32_one_a_row_on_the_device(self) -> None:
        """`evaluate` gives a tensor float32[n], where the batch is.

        Mend: end with `.float()`, `.squeeze(1)` where the last axis is 1, and leave the tensor on its device.
        """
        for title, spec, device in self.trials_on_every_device():
            batch = to_batch(self.transitions(spec), device)
            signal = self.observed(spec, batch, device=device)
            rewards = signal.evaluate(batch)
            found = type(rewards).__name__
            if isinstance(rewards, torch.Tensor):
                found = f"{rewards.dtype} {list(rewards.shape)} on {rewards.device.type}"
            expected = f"torch.float32 {[len(batch)]} on {device}"
            require(found == expected, f"{title}: `evaluate` gives float32[n] on the device", found, expected)

    def test_rewards_are_finite(self) -> None:
        """No reward is NaN or infinite: for ordinary, for very large and for all-zero observations.

        Mend: add an epsilon to what is divided by, clamp what is exponentiated, clip normalised observations.
        """
        for title, spec in self.trials():
            columns = self.transitions(spec)
            signal = self.observed(spec, to_batch(columns))
            for what, factor in (("ordinary", 1.0), ("large", 1e4), ("zero", 0.0)):
                rewards = numbers(signal.evaluate(to_batch(_scaled(columns, factor))))
                rule = f"{title}, {what} observations: rewards are finite"
                require(bool(np.isfinite(rewards).all()), rule, shown(rewards), "finite numbers")

    def test_rewards_do_not_depend_on_other_rows(self) -> None:
        """A batch gives what its halves give, and in another order the same for each row.

        Mend: normalise by statistics that `observe` keeps, not by those of the batch; no batch normalisation.
        """
        for title, spec in self.trials():
            columns = self.transitions(spec)
            signal = self.observed(spec, to_batch(columns))
            whole = numbers(signal.evaluate(to_batch(columns)))
            middle = len(columns) // 2
            halves = [columns.take(slice(0, middle)), columns.take(slice(middle, None))]
            parts = np.concatenate([numbers(signal.evaluate(to_batch(half))) for half in halves])
            require_near(f"{title}: a batch gives what its halves give", parts, whole)
            order = np.random.default_rng(0).permutation(len(columns))
            shuffled = numbers(signal.evaluate(to_batch(columns.take(order))))
            require_near(f"{title}: the order of rows does not matter", shuffled, whole[order])

    def test_only_columns_of_the_contract_are_read(self) -> None:
        """Observations, actions, masks, reward and ends are always there, in `observe` also ids of agents and episodes.

        Further columns depend on the trainer.

        Mend: do without `tick`, `action.raw` and the trainer's own columns, and read ids in `observe` alone.
        """
        for title, spec in self.trials():
            batch = to_batch(self.transitions(spec))
            seen, sampled = as_given_to_signals(batch, observed=True), as_given_to_signals(batch)
            rule = f"{title}: `observe`, `evaluate` and `update` read only columns of the contract"
            try:
                signal = self.observed(spec, seen)
                rewards, with_others = (numbers(signal.evaluate(each)) for each in (sampled, batch))
                signal.update(sampled)
            except KeyError as error:
                require(False, rule, f"{error}", ", ".join(sampled))
                raise
            require_near(f"{title}: without further columns, rewards are the same", rewards, with_others)

    def test_one_row_is_enough(self) -> None:
        """Batches of a single transition come up: the last agent, a buffer that just began.

        Mend: `squeeze(1)` rather than `squeeze()`; no deviation over the batch, which one row does not have.
        """
        for title, spec in self.trials():
            row = to_batch(self.transitions(spec).take(slice(0, 1)))
            signal = self.observed(spec, row)
            rewards = signal.evaluate(row)
            stats = floats(signal.update(row))
            shape = list(np.shape(rewards.detach() if isinstance(rewards, torch.Tensor) else rewards))
            rule = f"{title}: a batch of one row is rewarded and learned from"
            require(len(shape) > 0 and shape[0] == 1, rule, f"rewards of shape {shape}", [1])
            finite = [name for name, value in stats.items() if not np.isfinite(value)]
            require(not finite, rule, f"{', '.join(finite)} not finite", "finite statistics")

    def test_ended_rows_are_rewarded(self) -> None:
        """A batch may hold the last row of episodes alone, terminated or truncated.

        Mend: take nothing for granted of `terminated` and `truncated`; `next_obs.<i>` is the final observation there.
        """
        for title, spec in self.trials():
            columns = self.transitions(spec)
            signal = self.observed(spec, to_batch(columns))
            for how in ("terminated", "truncated"):
                batch = to_batch(_ended(columns, how))
                rewards = numbers(signal.evaluate(batch))
                signal.update(batch)
                rule = f"{title}: rows that all {how.removesuffix('d')}d are rewarded"
                require(len(rewards) == len(batch), rule, f"{len(rewards)} rewards", f"{len(batch)} rewards")
                require(bool(np.isfinite(rewards).all()), rule, shown(rewards), "finite numbers")

    def test_statistics_are_plain_numbers(self) -> None:
        """`update` returns statistics that are logged as `reward/<name>/<key>`.

        Mend: `float(loss)` or `loss.item()`; lower-case keys with `_` between words.
        """
        for title, spec in self.trials():
            batch = to_batch(self.transitions(spec))
            signal = self.observed(spec, batch)
            for _ in range(2):
                stats = signal.update(batch)
                wrong = {
                    key: value
                    for key, value in stats.items()
                    if not (key.replace("_", "a").isalnum() and type(value) is float and np.isfinite(value))
                }
                require(not wrong, f"{title}: statistics are finite numbers by a name", wrong, "{name: float}")

    def test_strength_and_gamma_are_those_of_the_options(self) -> None:
        """Every signal has the options `strength`, which may be a schedule, and `gamma`.

        Mend: derive the config from `RewardSignalConfig`; `self.strength = context.config.strength`,
        `self.gamma = context.config.gamma`.
        """
        for title, spec in self.trials():
            linear = {"schedule": "linear", "initial": 0.5, "final": 0.25}
            signal = self.make(spec, strength=linear, gamma=0.875)
            found = (getattr(signal, "strength", None), getattr(signal, "gamma", None), signal.ignores_termination)
            expected = (Schedule(0.5, 0.25), 0.875, bool(signal.ignores_termination))
            require(found == expected, f"{title}: strength and gamma are the options", found, expected)


def _scaled(columns: Columns, factor: float) -> Columns:
    fields = {
        name: array * array.dtype.type(factor)
        if name.partition(".")[0] in ("obs", "next_obs") and array.dtype.kind == "f"
        else array
        for name, array in columns.fields.items()
    }
    if factor == 0:
        fields = {name: np.zeros_like(array) if "obs." in name else array for name, array in fields.items()}
    return Columns(fields)


def _ended(columns: Columns, how: str) -> Columns:
    ends = {name: np.full(len(columns), name == how) for name in ("terminated", "truncated")}
    return Columns({**columns.fields, **ends})

"""A reward signal that is saved and goes on."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch

from agents_core.columns import Batch
from agents_core.contracts.reward_signal import RewardSignal
from agents_core.spec import BehaviorSpec
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.reward_signals.harness import SignalChecks, floats, numbers, require_equal
from agents_core.testing.states import difference, through_checkpoint
from agents_core.testing.transitions import to_batch
from agents_core.training.state_files import UnsavableStateError


class StateChecks(SignalChecks):
    """Checks of seeds and states."""

    def test_a_seed_repeats(self) -> None:
        """Two signals of one seed give the same rewards and learn the same.

        Mend: draw everything from `context.seed`, by `torch_generator(seed)` and `np.random.default_rng(seed)`.
        """
        for title, spec in self.trials():
            first, second = (self._trajectory(spec, global_=7) for _ in range(2))
            require(first == second, f"{title}: one seed gives the same numbers", second, first)

    def test_the_state_can_be_saved(self) -> None:
        """`state_dict` is a tree that checkpoints can hold.

        Mend: use dict with text keys, list, str, int, float, bool, None, NumPy arrays and tensors, nothing else.
        """
        for title, spec in self.trials():
            batch = to_batch(self.transitions(spec))
            signal = self.observed(spec, batch)
            signal.update(batch)
            try:
                through_checkpoint(signal.state_dict())
            except UnsavableStateError as error:
                require(False, f"{title}: the state can be saved", error, "a tree of plain values and arrays")

    def test_a_taken_state_stays(self) -> None:
        """`state_dict` gives copies: what was taken does not change when the signal goes on.

        Mend: `tensor.clone()`, `array.copy()`; `Module.state_dict` gives the parameters themselves.
        """
        for title, spec in self.trials():
            batch, other = (to_batch(self.transitions(spec, seed=seed)) for seed in (0, 1))
            signal = self.observed(spec, batch)
            taken = signal.state_dict()
            before = copy.deepcopy(taken)
            signal.observe(other)
            signal.update(other)
            changed = difference(before, taken)
            require(changed is None, f"{title}: a taken state stays as it is", changed, "no difference")

    def test_a_loaded_state_goes_on(self) -> None:
        """A resumed run is rewarded as the one that was stopped, and goes on learning bit for bit.

        Mend: put every network, counter and running statistic into `state_dict`, optimisers and generators
        (`agents_core.generators`) as well, and take them over in `load_state_dict`.
        """
        for title, spec in self.trials():
            batch, other = (to_batch(self.transitions(spec, seed=seed)) for seed in (0, 1))
            signal, resumed = self._resumed(spec, batch)
            rule = f"{title}: rewards after `load_state_dict` are those of before"
            require_equal(rule, numbers(resumed.evaluate(other)), numbers(signal.evaluate(other)))
            results = []
            for each in (signal, resumed):
                each.observe(_beginning(other))
                stats = [floats(each.update(other)) for _ in range(3)]
                results.append((stats, numbers(each.evaluate(other))))
            rule = f"{title}: updates after `load_state_dict` are those of the signal it came from"
            require(results[0][0] == results[1][0], rule, results[1][0], results[0][0])
            require_equal(rule, results[1][1], results[0][1])

    def _resumed(self, spec: BehaviorSpec, batch: Batch) -> tuple[RewardSignal, RewardSignal]:
        """A signal that has learned a little, and another one of another seed that took over its state.

        What it observed is of uneven lengths, so that a memory for the newest rows is written from somewhere inside.
        """
        signal = self.observed(spec, batch)
        signal.observe(_beginning(to_batch(self.transitions(spec, seed=2))))
        for _ in range(3):
            signal.update(batch)
        state = copy.deepcopy(signal.state_dict())
        with contextlib.suppress(UnsavableStateError):  # another check's business
            state = through_checkpoint(state)
        with global_seed(1):
            resumed = self.make(spec, seed=1)
            resumed.load_state_dict(state)
        return signal, resumed

    def _trajectory(self, spec: BehaviorSpec, *, global_: int) -> list[Any]:
        """What a signal gives over a short life."""
        batch = to_batch(self.transitions(spec))
        with global_seed(global_):
            signal = self.make(spec)
            signal.observe(batch)
            before = numbers(signal.evaluate(batch)).tolist()
            stats = [floats(signal.update(batch)) for _ in range(2)]
            return [before, stats, numbers(signal.evaluate(batch)).tolist()]


def _beginning(batch: Batch) -> Batch:
    """The first third of the rows."""
    return batch.take(torch.arange(len(batch) // 3))

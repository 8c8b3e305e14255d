"""What the networks make of the observations of a minibatch."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.learning.sequences import rows_of, starts_of
from agents_core.networks.memory import Sequences
from torch import Tensor

from agents_sac.critics import Critics
from agents_sac.networks import SoftActorCritic


class Views(ABC):
    """Networks over the n rows of a minibatch, before and after each transition.

    With memory, rows are seen in the light of those before.
    """

    @abstractmethod
    def outputs(self) -> Tensor:
        """Of the actor at `obs.<i>`: float32[n, outputs]."""

    @abstractmethod
    def next_outputs(self) -> Tensor:
        """Of the actor at `next_obs.<i>`."""

    @abstractmethod
    def critic_code(self) -> Tensor:
        """What the critics make of `obs.<i>`: float32[n, width]."""

    @abstractmethod
    def target_code(self) -> Tensor:
        """What the targets make of `next_obs.<i>`."""


class RowViews(Views):
    """Of networks without memory."""

    def __init__(self, networks: SoftActorCritic, batch: Batch) -> None:
        self._networks = networks
        self._batch = batch

    def outputs(self) -> Tensor:
        return self._networks.actor.act(self._batch.observations)

    def next_outputs(self) -> Tensor:
        return self._networks.actor.act(self._batch.next_observations)

    def critic_code(self) -> Tensor:
        return self._networks.critics.encode(self._batch.observations)

    def target_code(self) -> Tensor:
        return self._networks.targets.encode(self._batch.next_observations)


class SequenceViews(Views):
    """Of networks with memory, over sequences that are run through in the order of time.

    A sequence starts from the actor's state as it was when acting; the critics, which do not run then, learn to make
    their own of it. Rows of a burn-in bring both up to date and are not among the n rows, unless the episode starts
    there. What was seen after the last row of a sequence follows it as one row more.

    Args:
        networks: With memory.
        batch: Sequences of `length` rows one after another, with `is_valid` and `memory.actor`.
        length: Rows of a sequence.
        burn_in: Rows at the start of each that have no part in the losses.

    Attributes:
        rows: int64[n], rows of `batch` that are learned from.
    """

    def __init__(self, networks: SoftActorCritic, batch: Batch, length: int, burn_in: int) -> None:
        self._networks = networks
        device = networks.actor.log_std.device
        valid = batch["is_valid"].cpu().numpy().reshape(-1, length)
        lengths, starts = valid.sum(axis=1), np.arange(len(valid)) * length
        last = torch.from_numpy(starts + lengths - 1).to(device)
        # Each sequence with the row that follows its last one: rows of `batch`, then one of `next_obs.<i>`.
        longer, places = lengths + 1, starts_of(lengths + 1)
        is_next = np.zeros(int(longer.sum()), np.bool_)
        is_next[places + lengths] = True
        source = np.empty(len(is_next), np.int64)
        source[~is_next] = rows_of(starts, lengths)
        source[is_next] = len(batch) + np.arange(len(lengths))
        order = torch.from_numpy(source).to(device)
        self._observations = [
            torch.cat([seen, after.index_select(0, last)]).index_select(0, order)
            for seen, after in zip(batch.observations, batch.next_observations, strict=True)
        ]
        self._sequences = Sequences(longer, device)
        self._states = batch["memory.actor"].index_select(0, torch.from_numpy(starts).to(device))
        # Nothing is to be brought up to date at the start of an episode, the only place where the state is zero.
        begins = ~self._states.any(dim=1).cpu().numpy()
        skipped = np.where(begins, 0, np.minimum(burn_in, lengths - 1))
        counted = lengths - skipped
        self.rows = torch.from_numpy(rows_of(starts + skipped, counted)).to(device)
        self._now = torch.from_numpy(rows_of(places + skipped, counted)).to(device)

    def outputs(self) -> Tensor:
        return self._outputs().index_select(0, self._now)

    def next_outputs(self) -> Tensor:
        return self._outputs().index_select(0, self._now + 1)

    def critic_code(self) -> Tensor:
        return self._remember(self._networks.critics).index_select(0, self._now)

    def target_code(self) -> Tensor:
        return self._remember(self._networks.targets).index_select(0, self._now + 1)

    def _outputs(self) -> Tensor:
        actor = self._networks.actor
        assert actor.actor_memory is not None
        hidden, _ = actor.actor_memory.unroll(actor.actor_body(self._observations), self._sequences, self._states)
        outputs: Tensor = actor.action_head(hidden)
        return outputs

    def _remember(self, critics: Critics) -> Tensor:
        assert critics.memory is not None
        code, state = critics.encode(self._observations), self._states @ critics.recall.t()
        return critics.memory.unroll(code, self._sequences, state)[0]

"""Minibatches from the buffer: single transitions, pieces of several steps, or sequences for networks with memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from agents_core.columns import Batch
from agents_core.contracts.buffer import Buffer
from agents_core.contracts.trainer import TrainerContext

from agents_sac.config import SACConfig
from agents_sac.minibatch import Minibatch, SignalRewards
from agents_sac.networks import SoftActorCritic
from agents_sac.views import RowViews, SequenceViews, Views


@dataclass(frozen=True, slots=True)
class Sample:
    """A minibatch, what the networks make of it, and statistics of its rewards.

    Attributes:
        transitions: As they happened, for signals to train on: `next_obs.<i>` is one step later.
    """

    minibatch: Minibatch
    transitions: Batch
    views: Views
    stats: Mapping[str, float]


class Sampler(ABC):
    """Draws minibatches and has the signals evaluate them.

    Attributes:
        fewest_rows: Transitions that the buffer must have.
    """

    def __init__(
        self, networks: SoftActorCritic, rewards: SignalRewards, rows: int, generator: np.random.Generator
    ) -> None:
        self._networks = networks
        self._rewards = rewards
        self._generator = generator
        self._rows = self.fewest_rows = rows

    @abstractmethod
    def sample(self, buffer: Buffer, strengths: Mapping[str, float]) -> Sample:
        """A random minibatch.

        Args:
            buffer: With at least `fewest_rows` transitions.
            strengths: Of the signals, now.
        """


class RowSampler(Sampler):
    """Single transitions."""

    def sample(self, buffer: Buffer, strengths: Mapping[str, float]) -> Sample:
        batch = buffer.sample(self._rows, self._generator)
        rewards, stats = self._rewards.evaluate(batch, strengths)
        return Sample(self._rewards.one_step(batch, rewards), batch, RowViews(self._networks, batch), stats)


class StepsSampler(Sampler):
    """Pieces of up to `length` steps, which become one transition each."""

    def __init__(
        self, networks: SoftActorCritic, rewards: SignalRewards, rows: int, generator: np.random.Generator, length: int
    ) -> None:
        super().__init__(networks, rewards, rows, generator)
        self._length = length

    def sample(self, buffer: Buffer, strengths: Mapping[str, float]) -> Sample:
        pieces = buffer.sample_sequences(self._rows, self._length, self._generator)
        rewards, stats = self._rewards.evaluate(pieces, strengths)
        minibatch = self._rewards.several_steps(pieces, rewards, self._length)
        first = pieces.take(torch.arange(0, len(pieces), self._length, device=rewards.device))
        return Sample(minibatch, first, RowViews(self._networks, minibatch.batch), stats)


class SequenceSampler(Sampler):
    """Sequences for networks with memory."""

    def __init__(
        self,
        networks: SoftActorCritic,
        rewards: SignalRewards,
        rows: int,
        generator: np.random.Generator,
        length: int,
        burn_in: int,
    ) -> None:
        super().__init__(networks, rewards, rows, generator)
        self._count = round(rows / length)
        self._length = burn_in + length
        self._burn_in = burn_in

    def sample(self, buffer: Buffer, strengths: Mapping[str, float]) -> Sample:
        sequences = buffer.sample_sequences(self._count, self._length, self._generator)
        views = SequenceViews(self._networks, sequences, self._length, self._burn_in)
        batch = sequences.take(views.rows)
        rewards, stats = self._rewards.evaluate(batch, strengths)
        return Sample(self._rewards.one_step(batch, rewards), batch, views, stats)


def choose_sampler(
    networks: SoftActorCritic,
    rewards: SignalRewards,
    context: TrainerContext[SACConfig],
    generator: np.random.Generator,
) -> Sampler:
    """The sampler that fits the options."""
    memory, config = context.network.memory, context.config
    if memory is None and config.n_step == 1:
        return RowSampler(networks, rewards, config.batch_size, generator)
    if memory is None:
        return StepsSampler(networks, rewards, config.batch_size, generator, config.n_step)
    return SequenceSampler(networks, rewards, config.batch_size, generator, memory.sequence_length, memory.burn_in)

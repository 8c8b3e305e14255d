"""PPO's loss of a network with memory and its gradient."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from agents_core.columns import Batch
from agents_core.learning.critic_memory import CriticMemory, values_after
from agents_core.learning.gradient import (
    Evaluation,
    Floats,
    Ints,
    LoadedRollout,
    Losses,
    LossGradient,
    LossWeights,
    action_columns,
    differentiate,
    rows_at_once,
)
from agents_core.learning.sequences import even_parts, rows_of, sequence_minibatches, split, starts_of
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.distributions import log_prob_and_entropy
from agents_core.networks.memory import Memory, Sequences
from agents_core.options import MemoryConfig
from agents_core.trajectory import Trajectories


class SequenceGradient(LossGradient):
    """For networks with memory, whose rows are evaluated and learned from in sequences.

    Each trajectory is split into sequences from the front. A sequence starts from the state before its first row: the
    actor's as it was when acting, the critic's as `CriticMemory` finds it. With a burn-in it starts that many rows
    earlier, as far as the trajectory goes back, and those rows have no part in the loss. Sequences of different
    lengths are packed, so that whatever is averaged is averaged over real rows only.

    Args:
        network: Has a memory.
        memory: Its config.
        actor_memory, critic_memory: Its recurrent layers; the same one where they share.
    """

    def __init__(self, network: ActorCritic, memory: MemoryConfig, actor_memory: Memory, critic_memory: Memory) -> None:
        self._network = network
        self._config = memory
        self._actor_memory = actor_memory
        self._critic_memory = critic_memory
        is_shared = critic_memory is actor_memory
        self._rows_at_once = rows_at_once(network.spec)
        self._critic = None if is_shared else CriticMemory(network, critic_memory, self._rows_at_once)

    @torch.no_grad()
    def evaluate(self, trajectories: Trajectories, batch: Batch) -> Evaluation:
        self._lengths = split(trajectories.lengths, self._config.sequence_length)
        self._starts = starts_of(self._lengths)
        first_rows = starts_of(trajectories.lengths)
        offset = self._starts - first_rows[np.searchsorted(first_rows, self._starts, side="right") - 1]
        self._warm_up = np.minimum(self._config.burn_in, offset)
        self._sequence_of_row = np.repeat(np.arange(len(self._lengths)), self._lengths)

        log_prob, values, after = self._evaluate_actor(batch)
        if self._critic is not None:
            starts = np.union1d(self._starts, self._starts - self._warm_up)
            values, final_values, states = self._critic.evaluate(trajectories, batch, starts)
            return Evaluation(_host(log_prob), _host(values), _host(final_values), {"memory.critic": _host(states)})
        last = np.searchsorted(self._starts, trajectories.last_rows, side="right") - 1
        final_values = values_after(
            self._network,
            self._critic_memory,
            trajectories.final_observations,
            after[torch.from_numpy(last)],
            self._rows_at_once,
        )
        return Evaluation(_host(log_prob), _host(values), _host(final_values))

    def _evaluate_actor(self, batch: Batch) -> tuple[Tensor, Tensor, Tensor]:
        """Log-probability of each row's action, its values if the memory is shared, and states after each sequence."""
        network, actions = self._network, action_columns(batch)
        log_probs, values, states = [], [], []
        for part in even_parts(self._lengths, self._rows_at_once):
            starts, lengths = self._starts[part], self._lengths[part]
            rows = slice(int(starts[0]), int(starts[-1] + lengths[-1]))
            features = network.actor_body([observation[rows] for observation in batch.observations])
            before = batch["memory.actor"][torch.from_numpy(starts)]
            hidden, after = self._actor_memory.unroll(features, Sequences(lengths, features.device), before)
            log_prob, _ = log_prob_and_entropy(
                network.action_head(hidden), network.log_std, actions.rows(rows), network.form
            )
            log_probs.append(log_prob)
            states.append(after)
            if self._critic is None:
                values.append(network.value_head(hidden))
        return torch.cat(log_probs), torch.cat(values) if values else torch.empty(0), torch.cat(states)

    def load(self, rollout: Batch, signals: Sequence[str]) -> None:
        self._rollout = LoadedRollout(rollout, signals)

    def minibatches(self, rows: int, batch_size: int, generator: np.random.Generator) -> Iterator[Ints]:
        """As of the base class, but of whole sequences."""
        del rows  # The sequences have them all.
        return sequence_minibatches(self._lengths, batch_size, generator)

    def compute(self, rows: Ints, weights: LossWeights) -> Losses:
        number = self._sequence_of_row[rows]
        chosen = number[np.flatnonzero(np.diff(number, prepend=-1))]
        warm_up = self._warm_up[chosen]
        starts, lengths = self._starts[chosen] - warm_up, self._lengths[chosen] + warm_up
        outputs, values = self._recall(starts, lengths)
        if self._config.burn_in:
            counts = torch.from_numpy(rows_of(starts, lengths) >= np.repeat(self._starts[chosen], lengths))
            counts = counts.to(outputs.device)
            outputs, values = outputs[counts], values[counts]
        return differentiate(self._network, outputs, values, self._rollout.take(rows), weights)

    def _recall(self, starts: Ints, lengths: Ints) -> tuple[Tensor, Tensor]:
        """Outputs of the actor and values for stretches of the rollout."""
        network, batch = self._network, self._rollout.batch
        device = network.log_std.device
        rows = torch.from_numpy(rows_of(starts, lengths)).to(device)
        first = torch.from_numpy(starts).to(device)
        sequences = Sequences(lengths, device)
        observations = [observation.index_select(0, rows) for observation in batch.observations]
        hidden, _ = self._actor_memory.unroll(
            network.actor_body(observations), sequences, batch["memory.actor"].index_select(0, first)
        )
        critic_hidden = hidden
        if self._critic is not None:
            critic_hidden, _ = self._critic_memory.unroll(
                network.critic_body(observations), sequences, batch["memory.critic"].index_select(0, first)
            )
        return network.action_head(hidden), network.value_head(critic_hidden)


def _host(tensor: Tensor) -> Floats:
    array: Floats = tensor.cpu().numpy()
    return array

"""The critic's memory: it is not there while collecting, so it is worked out when a rollout is evaluated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from agents_core.columns import Array, Batch
from agents_core.learning.gradient import even_slices
from agents_core.learning.sequences import even_parts, rows_of
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.memory import Memory, Sequences
from agents_core.trajectory import Trajectories

Int64s = npt.NDArray[np.int64]


class CriticMemory:
    """Runs the critic over rollouts in the order of time and keeps its state of each episode that goes on.

    Args:
        network: Its critic has a memory of its own.
        memory: That memory.
        rows: About how many rows the network sees at once.
    """

    def __init__(self, network: ActorCritic, memory: Memory, rows: int) -> None:
        self._network = network
        self._memory = memory
        self._rows = rows
        self._episodes: Int64s = np.empty(0, np.int64)
        self._states = torch.empty(0, memory.state_size, device=network.log_std.device)

    @torch.no_grad()
    def evaluate(self, trajectories: Trajectories, batch: Batch, starts: Int64s) -> tuple[Tensor, Tensor, Tensor]:
        """Values of a rollout.

        Args:
            trajectories: The rollout.
            batch: Its rows.
            starts: int64[s], ascending, rows whose state is wanted; the first rows of trajectories are among them.

        Returns:
            Values [n, signals], values of what was seen after each trajectory [m, signals], and states
            [n, state_size] before the rows in `starts`, elsewhere 0.
        """
        columns = trajectories.columns
        lengths = np.diff(starts, append=len(batch))
        episode = columns["episode_id"][starts]
        order = np.lexsort((columns["tick"][starts], episode))
        # How many stretches of the same episode come before, along `order`.
        age = _position_in_run(episode[order])
        before = torch.zeros(len(starts), self._memory.state_size, device=self._states.device)
        first = order[age == 0]
        before[torch.from_numpy(first)] = self._carried(episode[first], batch["memory.actor"][starts[first]])
        after = torch.empty_like(before)
        values = torch.empty(len(batch), self._network.value_head.out_features, device=before.device)
        for current in range(int(age.max(initial=-1)) + 1):
            chosen = order[age == current]
            for part in even_parts(lengths[chosen], self._rows):
                self._advance(batch, starts, lengths, chosen[part], before, after, values)
            following = np.flatnonzero(age == current + 1)
            before[torch.from_numpy(order[following])] = after[torch.from_numpy(order[following - 1])]

        last = order[np.append(age[1:], 0) == 0]
        last_rows = starts[last] + lengths[last] - 1
        goes_on = last[~(columns["terminated"] | columns["truncated"])[last_rows]]
        self._carry(episode[last], episode[goes_on], after[torch.from_numpy(goes_on)])

        at_ends = np.searchsorted(starts, trajectories.last_rows, side="right") - 1
        states = torch.zeros(len(batch), self._memory.state_size, device=before.device)
        states[torch.from_numpy(starts)] = before
        final_values = values_after(
            self._network, self._memory, trajectories.final_observations, after[torch.from_numpy(at_ends)], self._rows
        )
        return values, final_values, states

    def _advance(
        self,
        batch: Batch,
        starts: Int64s,
        lengths: Int64s,
        chosen: Int64s,
        before: Tensor,
        after: Tensor,
        values: Tensor,
    ) -> None:
        """Fill in `after` and `values` of the chosen stretches."""
        device = before.device
        rows = torch.from_numpy(rows_of(starts[chosen], lengths[chosen])).to(device)
        stretches = torch.from_numpy(chosen).to(device)
        features = self._network.critic_body([observation[rows] for observation in batch.observations])
        hidden, state = self._memory.unroll(features, Sequences(lengths[chosen], device), before[stretches])
        after[stretches] = state
        values[rows] = self._network.value_head(hidden)

    def _carried(self, episodes: Int64s, actor_states: Tensor) -> Tensor:
        """States [n, state_size] of episodes that began in an earlier rollout, else 0.

        Numbers of episodes come again after the environments were reset, but an episode that goes on has left the zero
        state of its start.
        """
        found = torch.zeros(len(episodes), self._memory.state_size, device=self._states.device)
        if len(self._episodes):
            place = np.minimum(np.searchsorted(self._episodes, episodes), len(self._episodes) - 1)
            known = torch.from_numpy(self._episodes[place] == episodes).to(found.device)
            known &= (actor_states != 0).any(dim=1)
            found[known] = self._states[torch.from_numpy(place).to(found.device)][known]
        return found

    def _carry(self, seen: Int64s, episodes: Int64s, states: Tensor) -> None:
        """Keep the states of ascending `episodes`, and of open ones that are not among those `seen`."""
        others = ~np.isin(self._episodes, seen)
        kept = np.concatenate([self._episodes[others], episodes])
        order = np.argsort(kept, kind="stable")
        self._episodes = kept[order]
        self._states = torch.cat([self._states[torch.from_numpy(others)], states])[torch.from_numpy(order)]


def values_after(
    network: ActorCritic, memory: Memory, observations: Sequence[Array], states: Tensor, rows: int
) -> Tensor:
    """Values of observations, float32[m, signals].

    Args:
        network: Whose critic sees them.
        memory: The critic's.
        observations: One array [m, *shape] for each observation.
        states: float32[m, state_size], of the critic's memory before them.
        rows: About how many the network sees at once.
    """
    parts = []
    for part in even_slices(len(states), rows):
        seen = [torch.as_tensor(observation[part], device=states.device) for observation in observations]
        hidden, _ = memory.step(network.critic_body(seen), states[part])
        parts.append(network.value_head(hidden))
    return torch.cat(parts)


def _position_in_run(values: Int64s) -> Int64s:
    """Place of each element within its run of equal neighbours: [7, 7, 9, 9, 9] -> [0, 1, 0, 1, 2]."""
    starts = np.flatnonzero(np.diff(values, prepend=values[:1] - 1))
    return np.arange(len(values)) - np.repeat(starts, np.diff(starts, append=len(values)))

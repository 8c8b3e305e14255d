"""Running scale of the discounted return, by which rewards are normalised."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from agents_core.columns import Batch
from agents_core.learning.returns import linear_recurrence
from agents_core.networks.normaliser import RunningMoments


class ReturnScale:
    """Deviation of R_t = r_t + γ R_{t-1} over all agents and time, which rewards are divided by.

    Engstrom et al. (2020), as in the usual vectorised reward normalisation. A reward signal of any plugin may have one:
    `update` it in `observe`, multiply by `factor` in `evaluate`.

    Args:
        gamma: Discount of the return.
        crosses_episodes: Whether R goes on from an agent's episode to its next one, as Burda et al. (2018) do for
            rewards that ignore the ends of episodes; otherwise it starts from 0 in each.

    Attributes:
        factor: 1 / deviation; 1 while nothing varies.
    """

    MOST_AGENTS = 65536
    """Agents whose return is kept until they are seen again; where there are more, the longest unseen are forgotten."""

    def __init__(self, gamma: float, *, crosses_episodes: bool = False) -> None:
        self._gamma = gamma
        self._crosses_episodes = crosses_episodes
        self._moments = RunningMoments(1)
        self._agents = np.empty(0, np.int64)
        self._episodes = np.empty(0, np.int64)
        self._returns = np.empty(0)
        self._last_seen = np.empty(0, np.int64)
        self._updates = 0
        self.factor = 1.0

    def update(self, batch: Batch, rewards: npt.NDArray[np.float32]) -> None:
        """Take in new transitions with their `rewards`, float32[n].

        Args:
            batch: `agent_id`, `episode_id`, `terminated`, `truncated`; rows of different agents may be mixed. With
                `tick` they may come in any order, without it those of an agent in the order of time.
            rewards: Of each row.
        """
        agent, episode = (batch[name].cpu().numpy() for name in ("agent_id", "episode_id"))
        if not len(agent):
            return
        tick = batch["tick"].cpu().numpy() if "tick" in batch else np.arange(len(agent))
        if self._crosses_episodes:
            episode = np.zeros_like(episode)
        order = np.lexsort((tick, episode, agent))
        agent, episode = agent[order], episode[order]
        is_first = np.ones(len(agent), np.bool_)
        is_first[1:] = (agent[1:] != agent[:-1]) | (episode[1:] != episode[:-1])
        first = np.flatnonzero(is_first)
        lengths = np.diff(np.append(first, len(agent)))
        carried = self._carried(agent[first], episode[first])
        returns = linear_recurrence(rewards[order], lengths, self._gamma, carried)
        self._moments.update(returns[:, None])
        self.factor = float(self._moments.factor()[0]) or 1.0

        last = first + lengths - 1
        ended = torch.logical_or(batch["terminated"], batch["truncated"]).cpu().numpy()[order][last]
        self._carry(agent[last], episode[last], returns[last], ended & (not self._crosses_episodes))

    def _carried(self, agent: npt.NDArray[np.int64], episode: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """Return so far of the episodes that began in an earlier batch, else 0."""
        if not len(self._agents):
            return np.zeros(len(agent))
        found = np.minimum(np.searchsorted(self._agents, agent), len(self._agents) - 1)
        known = (self._agents[found] == agent) & (self._episodes[found] == episode)
        return np.where(known, self._returns[found], 0.0)

    def _carry(
        self,
        agent: npt.NDArray[np.int64],
        episode: npt.NDArray[np.int64],
        returns: npt.NDArray[np.float64],
        ended: npt.NDArray[np.bool_],
    ) -> None:
        """Keep the open episode of each agent, of those not in this batch too; agents are sorted."""
        self._updates += 1
        others = ~np.isin(self._agents, agent)
        agents = np.concatenate([self._agents[others], agent[~ended]])
        episodes = np.concatenate([self._episodes[others], episode[~ended]])
        carried = np.concatenate([self._returns[others], returns[~ended]])
        seen = np.concatenate([self._last_seen[others], np.full(len(agents) - others.sum(), self._updates)])
        kept = np.sort(np.argsort(-seen, kind="stable")[: self.MOST_AGENTS])
        order = kept[np.argsort(agents[kept], kind="stable")]
        self._agents, self._episodes = agents[order], episodes[order]
        self._returns, self._last_seen = carried[order], seen[order]

    def state_dict(self) -> dict[str, Any]:
        return {
            "moments": self._moments.state_dict(),
            "agents": self._agents.copy(),
            "episodes": self._episodes.copy(),
            "returns": self._returns.copy(),
            "last_seen": self._last_seen.copy(),
            "updates": self._updates,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._moments.load_state_dict(state["moments"])
        self._agents = np.array(state["agents"], np.int64)
        self._episodes = np.array(state["episodes"], np.int64)
        self._returns = np.array(state["returns"], np.float64)
        self._last_seen = np.array(state["last_seen"], np.int64)
        self._updates = int(state["updates"])
        self.factor = float(self._moments.factor()[0]) or 1.0

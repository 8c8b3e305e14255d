"""Recording the episodes of an evaluation, column by column."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.columns import Array, Columns
from agents_core.contracts.demonstration import Demonstration
from agents_core.contracts.environment import Actions, DecisionSteps, TerminalSteps
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

Int64s = npt.NDArray[np.int64]


class EpisodeRecorder:
    """Collects the steps of episodes that have numbers; what has a negative number is passed over.

    Args:
        spec: What the agents see and do.
    """

    def __init__(self, spec: BehaviorSpec) -> None:
        self._spec = spec
        self._rows: dict[str, list[Array]] = {}
        self._rewards: dict[str, list[Array]] = {}
        self._ends: dict[str, list[Array]] = {}

    def act(self, episode: Int64s, decision: DecisionSteps, actions: Actions) -> None:
        """Agents that decide: what they see, and what they do.

        Args:
            episode: int64[n], number of each agent's episode.
            decision: Of the same agents.
            actions: Row for row.
        """
        kept = episode >= 0
        rows = len(episode)
        mask = decision.action_mask
        group = decision.group_id
        columns: dict[str, Array] = {
            "episode_id": episode,
            "agent_id": decision.agent_id,
            "action.continuous": actions.continuous.reshape(rows, -1),
            "action.discrete": actions.discrete.reshape(rows, -1),
            "action_mask": np.ones((rows, self._spec.action.mask_size), np.bool_) if mask is None else mask,
            "group_id": np.full(rows, -1) if group is None else group,
        }
        columns.update({f"obs.{i}": array for i, array in enumerate(decision.observations)})
        _append(self._rows, kept, **columns)

    def reward(self, episode: Int64s, decision: DecisionSteps) -> None:
        """Rewards of the actions before, of agents whose episode goes on."""
        _append(self._rewards, episode >= 0, episode_id=episode, **_rewards(decision.reward, decision.group_reward))

    def end(self, episode: Int64s, terminal: TerminalSteps, rows: Int64s) -> None:
        """Episodes that ended.

        Args:
            episode: int64[n], their numbers.
            terminal: Holds them among others.
            rows: int64[n], where.
        """
        group_reward = None if terminal.group_reward is None else terminal.group_reward[rows]
        rewards = _rewards(terminal.reward[rows], group_reward)
        every = np.ones(len(rows), np.bool_)
        _append(self._rewards, every, episode_id=episode, **rewards)
        finals = {f"obs.{i}": array[rows] for i, array in enumerate(terminal.observations)}
        _append(self._ends, every, episode_id=episode, truncated=terminal.truncated[rows], **finals)

    def demonstration(self, behavior: str) -> Demonstration:
        """The episodes by their numbers; all of them must have ended."""
        fields, rewards, ends = (_by_episode(part) for part in (self._rows, self._rewards, self._ends))
        numbers, lengths = np.unique(fields["episode_id"], return_counts=True)
        last = np.cumsum(lengths) - 1
        terminated, truncated = np.zeros((2, len(fields["episode_id"])), np.bool_)
        truncated[last], terminated[last] = ends["truncated"], ~ends["truncated"]
        fields.update(
            reward=rewards["reward"],
            group_reward=rewards["group_reward"],
            terminated=terminated,
            truncated=truncated,
            agent_id=np.unique(fields["agent_id"], return_inverse=True)[1].astype(np.int64),
            episode_id=np.repeat(np.arange(len(numbers)), lengths),
        )
        if fields["action_mask"].all():
            del fields["action_mask"]
        if (fields["group_id"] < 0).all():
            del fields["group_id"], fields["group_reward"]
        finals = tuple(ends[f"obs.{i}"] for i in range(len(self._spec.observations)))
        return Demonstration(self._spec, Trajectories(Columns(fields), lengths, finals), behavior)


def _rewards(reward: Array, group_reward: Array | None) -> dict[str, Array]:
    return {"reward": reward, "group_reward": np.zeros_like(reward) if group_reward is None else group_reward}


def _append(table: dict[str, list[Array]], kept: npt.NDArray[np.bool_], **fields: Array) -> None:
    """Copy the kept rows of every field; what is given may be overwritten by the environment's next step."""
    for name, array in fields.items():
        table.setdefault(name, []).append(array[kept])


def _by_episode(table: dict[str, list[Array]]) -> dict[str, Array]:
    """The columns by episode, in the order of time within each; chunks are forgotten on the way."""
    episode = np.concatenate(table["episode_id"])
    order = np.argsort(episode, kind="stable")
    return {name: np.concatenate(table.pop(name))[order] for name in list(table)}

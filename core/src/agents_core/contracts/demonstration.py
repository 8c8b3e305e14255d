"""Demonstrations: episodes that somebody has acted already, and the contract of the formats that keep them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from agents_core.errors import UserError
from agents_core.spec import BehaviorSpec
from agents_core.trajectory import Trajectories

ConfigT = TypeVar("ConfigT")


class DemonstrationError(UserError):
    """A demonstration cannot be read, written or used; the message names the file and the reason."""


@dataclass(frozen=True, slots=True)
class RecordSummary:
    """What a file holds in its own terms, where these are not transitions.

    Attributes:
        records: How many; of a `.demo` file one for each decision and one for each end of an episode.
        reward_sum: Over all of them, also those that no transition has.
        pairing: How records became transitions.
    """

    records: int
    reward_sum: float
    pairing: str


@dataclass(frozen=True, slots=True, eq=False)
class Demonstration:
    """Episodes of one behavior.

    Attributes:
        spec: What was seen and done.
        episodes: Each trajectory is an episode, or what was recorded of it. Its last row is `terminated` or
            `truncated`; the latter also where the recording stopped. The columns are `obs.<i>`, `action.continuous`,
            `action.discrete`, `reward`, `terminated`, `truncated`, `agent_id`, `episode_id` (numbered from 0) and,
            where anything was forbidden, `action_mask`; `group_id` and `group_reward` of agents in groups.
        behavior: Name of the behavior, where the source knows it.
        summary: What the file holds, where that is not transitions.
        warnings: What the user should know of the source, one line each.
    """

    spec: BehaviorSpec
    episodes: Trajectories
    behavior: str = ""
    summary: RecordSummary | None = None
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        """Transitions."""
        return len(self.episodes)


class DemonstrationFormat(ABC):
    """Reads and writes demonstrations.

    A source is a path; of a format without suffixes, what stands after the name in `name:source`.
    """

    @abstractmethod
    def read(self, source: str) -> Demonstration:
        """Everything that the source holds.

        Raises:
            DemonstrationError: It cannot be read; the message says where in the file, and why.
        """

    def write(self, target: str, demonstration: Demonstration) -> None:  # noqa: ARG002
        """Write it, in place of what may be there; a failure leaves the old content and nothing half-written.

        Raises:
            DemonstrationError: The format cannot hold it.
        """
        raise DemonstrationError(f"{target}: demonstrations in this format can be read only")

    def append(self, target: str, demonstration: Demonstration) -> None:  # noqa: ARG002
        """Add episodes behind those that are there, in the manner of `write`.

        Raises:
            DemonstrationError: The format cannot, or the target holds another behavior spec.
        """
        raise DemonstrationError(f"{target}: nothing can be appended to this format; append to an .h5 file")

    def exists(self, target: str) -> bool:
        """Whether `write` would replace something."""
        return Path(target).exists()


@dataclass(frozen=True, slots=True)
class DemonstrationFormatContext(Generic[ConfigT]):
    """What the factory of a demonstration format is called with.

    Attributes:
        config: The format's own config model, validated.
    """

    config: ConfigT

"""The tasks that both sides of the speed benchmark train, with the same numbers for both."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass


@dataclass(frozen=True)
class Task:
    """One PPO training, described for any library.

    Attributes:
        environment: Gymnasium id, or `simple1d` for the toy whose agents share one environment, or `visual` for that
            toy on images of 84 x 84 x 3 bytes, where actor and critic share the convolutions of Mnih et al. (2015).
        agents: Environments, or agents in the one environment of the toy.
        rollout: Steps of each agent between two updates.
        batch_size: Rows of a minibatch.
        epochs: Passes over each rollout.
        normalize: Whether observations and rewards are normalised by running statistics.
        hidden_units: Width of both hidden layers (tanh) of the separate actor and critic; on images, of the code.
        precision: Of the arithmetic on images. The peer knows float32 only.
    """

    name: str
    environment: str
    agents: int
    rollout: int
    batch_size: int
    epochs: int
    normalize: bool = False
    hidden_units: int = 64
    precision: str = "float32"
    learning_rate: float = 3e-4
    gamma: float = 0.99
    gae_lambda: float = 0.95
    clip_range: float = 0.2

    @property
    def is_visual(self) -> bool:
        """Whether it is about images."""
        return self.environment == "visual"

    @property
    def buffer_size(self) -> int:
        """Rows of one update."""
        return self.agents * self.rollout


_VISUAL = Task("visual", "visual", agents=8, rollout=128, batch_size=256, epochs=4, hidden_units=512)

TASKS = {
    task.name: task
    for task in (
        Task("cartpole", "CartPole-v1", agents=8, rollout=128, batch_size=256, epochs=4),
        Task("halfcheetah", "HalfCheetah-v5", agents=8, rollout=256, batch_size=256, epochs=10, normalize=True),
        Task("simple1d", "simple1d", agents=64, rollout=32, batch_size=256, epochs=4),
        _VISUAL,
        dataclasses.replace(_VISUAL, name="visual_bfloat16", precision="bfloat16"),
    )
}


def crowd(agents: int) -> Task:
    """The toy with any number of agents, for the cost of acting and collecting per agent-step."""
    return Task(f"simple1d-{agents}", "simple1d", agents=agents, rollout=64, batch_size=256, epochs=1)


@dataclass(frozen=True)
class Measurement:
    """What one training in a process of its own gave.

    Attributes:
        steps_per_second: Steps over the seconds of collecting and updating; start-up is left out.
        cpu_microseconds: The main process's CPU time for each step, start-up left out; other load on the machine
            hardly moves it.
        cpu_seconds: Of the process and its workers, start-up included.
        peak_mib: Largest resident memory of the main process.
        seconds: Where the time went, by part.
        mean_return: Of the last 100 finished episodes, to see that it really learned.
    """

    library: str
    task: str
    setting: str
    steps: int
    steps_per_second: float
    cpu_microseconds: float
    cpu_seconds: float
    peak_mib: float
    seconds: dict[str, float]
    mean_return: float | None

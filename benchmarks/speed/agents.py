"""One PPO training by agents, through the Python door."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Any

import agents_core

from speed import observer
from speed.process import cpu_seconds, peak_mib
from speed.tasks import Measurement, Task

PARTS = ("environment", "act", "collect", "update")


def measure(task: Task, steps: int, seed: int, threads: int, workers: int) -> Measurement:
    """Train and time it.

    Args:
        threads: Threads of torch.
        workers: Worker processes that step the environments; 0 = they step in this process.
    """
    run = agents_core.train(_experiment(task, steps, seed, threads, workers), run_id=task.name)
    summary = json.loads((run.directory / "summary.json").read_text(encoding="utf-8"))
    timers = json.loads((run.directory / "timers.json").read_text(encoding="utf-8"))
    (behavior,) = summary["behaviors"].values()
    started, finished = observer.marks
    return Measurement(
        library=f"agents {version('agents-core')}",
        task=task.name,
        setting=f"threads={threads} workers={workers}",
        steps=behavior["steps"],
        steps_per_second=behavior["steps_per_second"],
        cpu_microseconds=(finished - started) / behavior["steps"] * 1e6,
        cpu_seconds=cpu_seconds(),
        peak_mib=peak_mib(),
        seconds={part: _seconds(timers, part) for part in PARTS},
        mean_return=behavior["mean_return"],
    )


def _experiment(task: Task, steps: int, seed: int, threads: int, workers: int) -> dict[str, Any]:
    environment: dict[str, Any]
    if task.environment == "simple1d":
        environment = {"type": "toy", "id": "simple1d", "action": "continuous", "agents": task.agents}
    elif task.is_visual:
        environment = {
            "type": "gymnasium",
            "entry_point": "speed.visual_environment:VisualSimple1D",
            "num_envs": task.agents,
        }
    else:
        environment = {"type": "gymnasium", "id": task.environment, "num_envs": task.agents}
    if workers:
        environment["workers"] = {"type": "process", "count": workers}
    return {
        "seed": seed,
        "plugins": ["agents_core.testing.plugin", observer.__name__],
        "environment": environment,
        "behaviors": {
            "*": {
                "max_steps": steps,
                "time_horizon": task.rollout,
                "summary_freq": 10_000,
                "network": _network(task),
                "trainer": {
                    "type": "ppo",
                    "learning_rate": task.learning_rate,
                    "batch_size": task.batch_size,
                    "buffer_size": task.buffer_size,
                    "num_epoch": task.epochs,
                    "epsilon": task.clip_range,
                    "lambd": task.gae_lambda,
                    "beta": 0,
                },
                "reward_signals": {"extrinsic": {"gamma": task.gamma, "normalize": task.normalize}},
            }
        },
        "stats": {"console": {}},
        "checkpoints": {"interval": steps},
        "evaluation": {"interval": 0},
        "torch": {"threads": threads, "device": "cpu"},
    }


def _network(task: Task) -> dict[str, Any]:
    if task.is_visual:
        encoders = {"observation": {"type": "nature_cnn", "precision": task.precision}}
        return {"hidden_units": task.hidden_units, "num_layers": 1, "shared": True, "encoders": encoders}
    return {"hidden_units": task.hidden_units, "num_layers": 2, "normalize": task.normalize}


def _seconds(timers: Any, part: str) -> float:
    """Seconds of a timed block wherever it is in the hierarchy."""
    children = timers.get("children", {})
    return sum(
        child["total"] if name == part else 0.0 if child.get("is_parallel") else _seconds(child, part)
        for name, child in children.items()
    )

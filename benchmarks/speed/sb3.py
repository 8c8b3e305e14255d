"""One PPO training by Stable-Baselines3, set as well as it can be: threads chosen, fused Adam."""

from __future__ import annotations

import time
from typing import Any

import stable_baselines3
import torch
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecNormalize

from speed.process import cpu_seconds, peak_mib
from speed.simple1d_vec import Simple1DVecEnv
from speed.tasks import Measurement, Task
from speed.visual_environment import VisualSimple1D


class Stopwatch(BaseCallback):
    """Times from the first environment step on, apart for collecting and updating."""

    def __init__(self) -> None:
        super().__init__()
        self.collect = 0.0
        self.update = 0.0
        self.cpu = 0.0
        self._mark = 0.0

    def _on_training_start(self) -> None:
        self.cpu = -time.process_time()

    def _on_rollout_start(self) -> None:
        now = time.perf_counter()
        if self._mark:
            self.update += now - self._mark
        self._mark = now

    def _on_rollout_end(self) -> None:
        now = time.perf_counter()
        self.collect += now - self._mark
        self._mark = now

    def _on_step(self) -> bool:
        return True

    def finish(self) -> None:
        """Call right after `learn`: the last update has no rollout after it."""
        self.update += time.perf_counter() - self._mark
        self.cpu += time.process_time()


def measure(task: Task, steps: int, seed: int, threads: int, workers: int) -> Measurement:
    """Train and time it.

    Args:
        threads: Threads of torch.
        workers: 0 = environments in this process, else each in a process of its own.
    """
    torch.set_num_threads(threads)
    environments = _make_environments(task, seed, workers)
    optimiser = {"eps": 1e-5, "fused": True}
    # Its own default on images: one encoder for both, and no hidden layer after it.
    layers: dict[str, Any] = {"features_extractor_kwargs": {"features_dim": task.hidden_units}}
    if not task.is_visual:
        layers = {"net_arch": [task.hidden_units] * 2}
    model = stable_baselines3.PPO(
        "CnnPolicy" if task.is_visual else "MlpPolicy",
        environments,
        n_steps=task.rollout,
        batch_size=task.batch_size,
        n_epochs=task.epochs,
        learning_rate=task.learning_rate,
        gamma=task.gamma,
        gae_lambda=task.gae_lambda,
        clip_range=task.clip_range,
        seed=seed,
        device="cpu",
        policy_kwargs={**layers, "optimizer_kwargs": optimiser},
    )
    stopwatch = Stopwatch()
    model.learn(steps, callback=stopwatch)
    stopwatch.finish()
    environments.close()
    episodes = [episode["r"] for episode in model.ep_info_buffer or []]
    return Measurement(
        library=f"stable-baselines3 {stable_baselines3.__version__}",
        task=task.name,
        setting=f"threads={threads} workers={workers}",
        steps=model.num_timesteps,
        steps_per_second=model.num_timesteps / (stopwatch.collect + stopwatch.update),
        cpu_microseconds=stopwatch.cpu / model.num_timesteps * 1e6,
        cpu_seconds=cpu_seconds(),
        peak_mib=peak_mib(),
        seconds={"collect": stopwatch.collect, "update": stopwatch.update},
        mean_return=sum(episodes) / len(episodes) if episodes else None,
    )


def _make_environments(task: Task, seed: int, workers: int) -> VecEnv:
    environments: VecEnv
    if task.environment == "simple1d":
        environments = Simple1DVecEnv(task.agents, seed)
    else:
        pool: Any = SubprocVecEnv if workers else DummyVecEnv
        environment: Any = VisualSimple1D if task.is_visual else task.environment
        environments = make_vec_env(environment, task.agents, seed=seed, vec_env_cls=pool)
    if task.normalize:
        environments = VecNormalize(environments, gamma=task.gamma)
    return environments

"""Train Stable-Baselines3's SAC and write its learning curve as a run directory does, for `plot_curve.py --peer`.

    python benchmarks/sac_peer.py HalfCheetah-v5 --steps 50000 --seed 1 --output results/sb3-halfcheetah-1

Needs Stable-Baselines3. Its own defaults, with fused Adam, but for what the options say.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import gymnasium
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, VecEnv, VecNormalize


class _Curve(BaseCallback):
    """Gathers the returns of training episodes and writes their mean at every multiple of some steps."""

    def __init__(self, every: int, path: Path) -> None:
        super().__init__()
        self._every = every
        self._path = path
        self._returns: list[float] = []

    def _on_step(self) -> bool:
        self._returns += [info["episode"]["r"] for info in self.locals["infos"] if "episode" in info]
        if self.num_timesteps % self._every == 0 and self._returns:
            stats = {"rollout/mean_return": sum(self._returns) / len(self._returns)}
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"step": self.num_timesteps, "stats": stats}) + "\n")
            self._returns.clear()
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("environment", help="Gymnasium id")
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--output", type=Path, required=True, help="folder for metrics.jsonl")
    parser.add_argument("--hidden", type=int, default=256, help="width of both hidden layers (default 256)")
    parser.add_argument("--learning-rate", type=float, default=3e-4, help="default 3e-4")
    parser.add_argument("--tau", type=float, default=0.005, help="default 0.005")
    parser.add_argument("--learning-starts", type=int, default=1000, help="random steps at the start (default 1000)")
    parser.add_argument("--normalize", action="store_true", help="VecNormalize around the environment")
    parser.add_argument("--every", type=int, default=500, help="steps between two points of the curve (default 500)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.output.mkdir(parents=True)
    environment: VecEnv = DummyVecEnv([lambda: Monitor(gymnasium.make(options.environment))])
    if options.normalize:
        environment = VecNormalize(environment, norm_reward=False, clip_obs=5.0)
    model = SAC(
        "MlpPolicy",
        environment,
        learning_rate=options.learning_rate,
        tau=options.tau,
        learning_starts=options.learning_starts,
        buffer_size=options.steps,
        policy_kwargs={"net_arch": [options.hidden] * 2, "optimizer_kwargs": {"fused": True}},
        seed=options.seed,
        device="cpu",
    )
    model.learn(options.steps, callback=_Curve(options.every, options.output / "metrics.jsonl"))


if __name__ == "__main__":
    main()

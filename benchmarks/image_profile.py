"""Where PPO's time goes on images: 8 agents, 84 x 84 x 3 bytes, nature_cnn, one torch thread.

    python benchmarks/image_profile.py

Prints the share of each kind of torch operation in acting and in an update, and the memory of a rollout.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import torch
from agents_core.config import load_experiment
from agents_core.experience.collector import TrajectoryCollector
from agents_core.registry import load_registry
from agents_core.testing.image_toys import VisualSimple1D
from agents_core.timers import Timers
from agents_core.training.build import make_trainer
from torch.profiler import ProfilerActivity, profile

AGENTS, ROLLOUT = 8, 128
KINDS = {"convolution": "convolutions", "conv": "convolutions", "mm": "matrix products", "relu": "rectifiers"}
EXPERIMENT = {
    "environment": {"type": "toy", "id": "visual_simple1d", "agents": AGENTS, "side": 84},
    "plugins": ["agents_core.testing.plugin"],
    "behaviors": {
        "*": {
            "network": {
                "hidden_units": 512,
                "num_layers": 1,
                "shared": True,
                "encoders": {"camera": {"type": "nature_cnn"}},
            },
            "trainer": {"type": "ppo", "buffer_size": AGENTS * ROLLOUT, "batch_size": 256, "num_epoch": 4},
        }
    },
}


def main() -> None:
    torch.set_num_threads(1)
    environment = VisualSimple1D(AGENTS, side=84)
    ((name, spec),) = environment.behavior_specs.items()
    experiment = load_experiment(EXPERIMENT, load_registry())
    trainer = make_trainer(experiment, name, experiment.behavior(name), spec, Timers())
    collector = TrajectoryCollector(spec, trainer.rollout_size, 128)
    collector.receive(environment.reset(seed=1).behaviors[name])

    def collect() -> None:
        while collector.rows < trainer.rollout_size:
            assert collector.decision is not None
            actions = trainer.policy.act(collector.observations)
            collector.record(actions)
            collector.receive(environment.step({name: actions}).behaviors[name])

    def learn() -> None:
        rollout = collector.take()
        images = rollout.columns["obs.0"]
        print(f"rollout: {images.dtype}{list(images.shape)}, {images.nbytes / 2**20:.0f} MiB")
        trainer.process(rollout, collector.steps)
        trainer.update()

    for part in (collect, learn, collect, learn):
        _report(part)


def _report(part: Callable[[], None]) -> None:
    started = time.process_time()
    with profile(activities=[ProfilerActivity.CPU]) as recorded:
        part()
    shares: Counter[str] = Counter()
    total = 0.0
    for event in recorded.key_averages():
        total += event.self_cpu_time_total
        shares[next((kind for word, kind in KINDS.items() if word in event.key), "other")] += event.self_cpu_time_total
    shown = ", ".join(f"{kind} {seconds / total:.0%}" for kind, seconds in shares.most_common())
    print(f"{part.__name__}: {time.process_time() - started:.1f} s of CPU, torch {total / 1e6:.1f} s: {shown}")


if __name__ == "__main__":
    main()

"""Where PPO's time goes on images: 8 agents, 84 x 84 x 3 bytes, nature_cnn, one torch thread.

    python benchmarks/image_profile.py
    python benchmarks/image_profile.py --hidden-units 128    # the default of experiments; 512 are those of the paper

Prints the share of each kind of torch operation in acting and in an update, the memory of a rollout, and how much
arithmetic there is: the seconds it would take at the speed of a large matrix product are what no implementation in
float32 can do without.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

import torch
from agents_core.config import load_experiment
from agents_core.experience.collector import TrajectoryCollector
from agents_core.registry import load_registry
from agents_core.testing.image_toys import VisualSimple1D
from agents_core.timers import Timers
from agents_core.training.build import make_trainer
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode

AGENTS, ROLLOUT = 8, 128
KINDS = {"convolution": "convolutions", "conv": "convolutions", "mm": "matrix products", "relu": "rectifiers"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hidden-units", type=int, default=512, help="width of the image's code (default 512)")
    options = parser.parse_args()
    torch.set_num_threads(1)
    environment = VisualSimple1D(AGENTS, side=84)
    ((name, spec),) = environment.behavior_specs.items()
    registry = load_registry()
    experiment = load_experiment(_experiment(options.hidden_units), registry)
    trainer = make_trainer(experiment, name, experiment.behavior(name), spec, Timers(), registry)
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

    for part in (collect, learn):
        _report_arithmetic(part)
    for part in (collect, learn, collect, learn):
        _report_shares(part)


def _experiment(hidden_units: int) -> dict[str, Any]:
    network = {"hidden_units": hidden_units, "num_layers": 1, "shared": True}
    trainer = {"type": "ppo", "buffer_size": AGENTS * ROLLOUT, "batch_size": 256, "num_epoch": 4}
    return {
        "environment": {"type": "toy", "id": "visual_simple1d", "agents": AGENTS, "side": 84},
        "plugins": ["agents_core.testing.plugin"],
        "behaviors": {
            "*": {"network": {**network, "encoders": {"camera": {"type": "nature_cnn"}}}, "trainer": trainer}
        },
    }


def _report_arithmetic(part: Callable[[], None]) -> None:
    with FlopCounterMode(display=False) as counter:
        part()
    operations, speed = counter.get_total_flops(), _speed_of_matrix_products()
    print(
        f"{part.__name__}: {operations / 1e9:.0f} GFLOP of convolutions and matrix products, "
        f"{operations / speed:.2f} s at the {speed / 1e9:.0f} GFLOP/s of a large matrix product"
    )


def _speed_of_matrix_products(size: int = 2048) -> float:
    """Floating-point operations a second of CPU time, the median of five."""
    matrix, speeds = torch.randn(size, size), []
    for _ in range(5):
        started = time.process_time()
        matrix @ matrix
        speeds.append(2 * size**3 / (time.process_time() - started))
    return statistics.median(speeds)


def _report_shares(part: Callable[[], None]) -> None:
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

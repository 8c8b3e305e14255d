"""How fast PPO trains, next to Stable-Baselines3 in the same run where it is installed.

    python benchmarks/ppo_speed.py                               # every task, five rounds
    python benchmarks/ppo_speed.py --task cartpole --rounds 3
    python benchmarks/ppo_speed.py --crowd                       # cost per agent-step with 8 and with 1,024 agents

Each measurement is a process of its own; the rounds of both libraries alternate, and ratios are medians over the
rounds. Each library runs with those threads and worker processes that were fastest for it in a shorter trial, and
Stable-Baselines3 with fused Adam.
"""

from __future__ import annotations

import argparse
import dataclasses
import importlib.util
import os
import statistics
from collections.abc import Sequence

from speed.measure import Library, Order, measure
from speed.tasks import TASKS, Measurement, Task, crowd

CORES = os.cpu_count() or 1
PEER: Library = "stable-baselines3"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", action="append", choices=list(TASKS), help="only this one; may be repeated")
    parser.add_argument("--rounds", type=int, default=5, help="measurements of each library (default 5)")
    parser.add_argument("--steps", type=int, default=100_000, help="steps of each training (default 100,000)")
    parser.add_argument("--crowd", action="store_true", help="measure 8 and 1,024 agents instead")
    options = parser.parse_args()
    if options.crowd:
        _report_crowd(options.rounds)
        return
    libraries: list[Library] = ["agents"]
    if importlib.util.find_spec("stable_baselines3") is not None:
        libraries.append(PEER)
    for task in [TASKS[name] for name in options.task or TASKS]:
        orders = [_best_order(library, task, options.steps) for library in libraries]
        rounds = [[measure(order) for order in orders] for _ in range(options.rounds)]
        _report(task, list(zip(*rounds, strict=True)))


def _best_order(library: Library, task: Task, steps: int) -> Order:
    """The fastest of a library's settings, in a trial of a quarter of the steps each."""
    settings = [(threads, 0) for threads in sorted({1, CORES})]
    if task.environment == "HalfCheetah-v5":
        # Slow enough for worker processes to pay on an idle machine; the peer knows only one an environment.
        settings.append((1, task.agents if library == PEER else CORES))
    orders = [Order(library, task, steps, seed=1, threads=threads, workers=workers) for threads, workers in settings]
    trials = [measure(dataclasses.replace(order, steps=steps // 4)).steps_per_second for order in orders]
    return orders[trials.index(max(trials))]


def _report(task: Task, columns: Sequence[Sequence[Measurement]]) -> None:
    """A table with one row a library, and the ratios.

    Args:
        columns: The rounds of each library; the first is ours.
    """
    print(
        f"\n## {task.name}: {task.environment}, {task.agents} x {task.rollout}, minibatch {task.batch_size}, ", end=""
    )
    layers = f"nature_cnn to {task.hidden_units} in {task.precision}" if task.is_visual else f"2 x {task.hidden_units}"
    print(f"{task.epochs} epochs, {layers}; load average {os.getloadavg()[0]:.2f} on {CORES} cores\n")
    print("| library | setting | steps/s | range | CPU µs/step | CPU s | peak MiB | return | where the time goes |")
    print("| --- | --- | ---: | --- | ---: | ---: | ---: | ---: | --- |")
    for rounds in columns:
        speeds = [one.steps_per_second for one in rounds]
        first = rounds[0]
        print(
            f"| {first.library} | {first.setting} | {statistics.median(speeds):,.0f} "
            f"| {min(speeds):,.0f} to {max(speeds):,.0f} | {_median(rounds, 'cpu_microseconds'):.1f} "
            f"| {_median(rounds, 'cpu_seconds'):.1f} "
            f"| {_median(rounds, 'peak_mib'):.0f} | {_median(rounds, 'mean_return'):.1f} | {_shares(rounds)} |"
        )
    if len(columns) == 2:
        ours, peers = columns
        print(f"\nMedian ratio of steps/s {_ratio(ours, peers, 'steps_per_second')}; ", end="")
        print(f"of the main process's CPU time {_ratio(peers, ours, 'cpu_microseconds')}", flush=True)


def _ratio(upper: Sequence[Measurement], lower: Sequence[Measurement], field: str) -> str:
    """Median and range of the ratios, round by round."""
    ratios = [getattr(one, field) / getattr(other, field) for one, other in zip(upper, lower, strict=True)]
    return f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"


def _median(rounds: Sequence[Measurement], field: str) -> float:
    values = [getattr(one, field) for one in rounds]
    return statistics.median(float("nan") if value is None else value for value in values)


def _shares(rounds: Sequence[Measurement]) -> str:
    """Median seconds of each part, with its share."""
    seconds = {part: statistics.median(one.seconds[part] for one in rounds) for part in rounds[0].seconds}
    total = sum(seconds.values())
    return ", ".join(f"{part} {value:.1f} s ({value / total:.0%})" for part, value in seconds.items())


def _report_crowd(number: int) -> None:
    """Cost of acting and collecting per agent-step with few and with many agents in one environment."""
    sizes = (8, 1024)
    orders = [
        Order("agents", crowd(agents), max(256 * agents, 32_768), seed=1, threads=1, workers=0) for agents in sizes
    ]
    rounds = [[measure(order) for order in orders] for _ in range(number)]
    print(
        "| agents | acting, µs per agent-step | collecting, µs per agent-step | both |\n| ---: | ---: | ---: | ---: |"
    )
    both = []
    for agents, column in zip(sizes, zip(*rounds, strict=True), strict=True):
        act, collect = (
            statistics.median(one.seconds[part] / one.steps * 1e6 for one in column) for part in ("act", "collect")
        )
        both.append(act + collect)
        print(f"| {agents:,} | {act:.3f} | {collect:.3f} | {act + collect:.3f} |")
    print(f"\nWith {sizes[1]:,} agents an agent-step costs {both[1] / both[0]:.3f} of what it costs with {sizes[0]}")


if __name__ == "__main__":
    main()

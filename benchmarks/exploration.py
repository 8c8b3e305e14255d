"""Does exploration pay? PPO alone, with random network distillation and with curiosity, settings and budgets the same.

    python benchmarks/exploration.py                                  # both tasks, five seeds, tables and pictures
    python benchmarks/exploration.py --task mountaincar --seeds 3

Each task has one experiment in `configs/` for each signal; they may differ in `reward_signals` only. PPO alone is the
same experiment with the extrinsic reward only. A run has reached a score when the mean return over the episodes of its
last two summaries (metrics.jsonl), with actions as they were drawn in training, is at least that. Runs stay in the
results folder and are not repeated.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import agents_core
import matplotlib as mpl
import numpy as np
import numpy.typing as npt
import yaml

mpl.use("Agg")
from matplotlib import pyplot as plt

ROOT = Path(__file__).resolve().parent.parent
RETURN, LENGTH = "rollout/mean_return", "rollout/mean_length"
PLAIN = "PPO"
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Curve:
    """The summaries of one run, float64[n] each.

    Attributes:
        steps: Steps so far.
        returns: Mean return of the episodes that ended since the summary before.
        episodes: About how many these are, up to a common factor.
    """

    steps: Floats
    returns: Floats
    episodes: Floats

    def steps_to(self, score: float) -> float:
        """Steps until the mean return over two summaries was at least the score; infinite if it never was."""
        total = self.returns * self.episodes
        means = (total[1:] + total[:-1]) / (self.episodes[1:] + self.episodes[:-1])
        reached = np.flatnonzero(means >= score)
        return float(self.steps[1 + reached[0]]) if len(reached) else math.inf


@dataclass(frozen=True)
class Task:
    """Experiments that differ in their reward signals.

    Attributes:
        title: Above the picture.
        score: Mean return that counts as success.
        configs: Files in `configs/`, by what tables and pictures call them.
    """

    title: str
    score: float
    configs: Mapping[str, str]

    def experiments(self) -> dict[str, dict[str, Any]]:
        """Of PPO alone and of each signal.

        Raises:
            SystemExit: They differ in more than their signals.
        """
        loaded = {name: _load(file) for name, file in self.configs.items()}
        plain = _load(next(iter(self.configs.values())))
        signals = plain["behaviors"]["*"]["reward_signals"]
        plain["behaviors"]["*"]["reward_signals"] = {"extrinsic": signals["extrinsic"]}
        for name, experiment in loaded.items():
            if _without_intrinsic(experiment) != plain:
                raise SystemExit(f"configs/{self.configs[name]} differs from the others in more than its signals")
        return {PLAIN: plain, **loaded}


TASKS = {
    "mountaincar": Task(
        "MountainCar-v0",
        -150,
        {"PPO + RND": "mountaincar_rnd.yaml"},
    ),
    "minigrid": Task(
        "MiniGrid-Empty-8x8-v0, 20 steps an episode",
        0.4,
        {"PPO + RND": "minigrid_sparse_rnd.yaml", "PPO + curiosity": "minigrid_sparse_curiosity.yaml"},
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--task", action="append", choices=list(TASKS), help="only this one; may be repeated")
    parser.add_argument("--seeds", type=int, default=5, help="seeds of each (default 5)")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "exploration", help="where runs are kept")
    parser.add_argument("--images", type=Path, help="folder for pictures (default: the results folder)")
    options = parser.parse_args()
    for name in options.task or TASKS:
        task = TASKS[name]
        curves = {
            arm: [
                _curve(experiment, options.results, f"{name}-{_slug(arm)}", seed + 1) for seed in range(options.seeds)
            ]
            for arm, experiment in task.experiments().items()
        }
        _report(task, curves)
        _draw(task, curves, (options.images or options.results) / f"exploration_{name}.png")


def _load(file: str) -> dict[str, Any]:
    experiment: dict[str, Any] = yaml.safe_load((ROOT / "configs" / file).read_text(encoding="utf-8"))
    return experiment


def _without_intrinsic(experiment: dict[str, Any]) -> dict[str, Any]:
    """The experiment with its extrinsic reward only."""
    behavior = experiment["behaviors"]["*"]
    extrinsic = {"extrinsic": behavior["reward_signals"]["extrinsic"]}
    return {**experiment, "behaviors": {"*": {**behavior, "reward_signals": extrinsic}}}


def _slug(arm: str) -> str:
    return arm.lower().replace(" + ", "-")


def _curve(experiment: dict[str, Any], results: Path, name: str, seed: int) -> Curve:
    """Of one run, which is made if it is not there."""
    run_id = f"{name}-{seed}"
    if not (results / run_id / "summary.json").exists():
        agents_core.train({**experiment, "seed": seed}, results=results, run_id=run_id, force=True)
    with (results / run_id / "metrics.jsonl").open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    stats = [(line["step"], line["stats"]) for line in lines if RETURN in line["stats"]]
    curve = Curve(
        np.array([step for step, _ in stats], np.float64),
        np.array([values[RETURN] for _, values in stats], np.float64),
        np.array([1 / values[LENGTH] for _, values in stats], np.float64),
    )
    print(f"{run_id}: best {curve.returns.max():.2f}", file=sys.stderr, flush=True)
    return curve


def _report(task: Task, curves: Mapping[str, list[Curve]]) -> None:
    print(f"\n{task.title}: steps until a mean return of {task.score:g}; load average {os.getloadavg()[0]:.2f}\n")
    print("| | seeds that reach it | median steps | steps of each seed | last return, median |")
    print("| --- | ---: | ---: | --- | ---: |")
    for arm, runs in curves.items():
        steps = [curve.steps_to(task.score) for curve in runs]
        last = statistics.median(curve.returns[-1] for curve in runs)
        reached = sum(math.isfinite(step) for step in steps)
        each = ", ".join(map(_steps_text, steps))
        print(f"| {arm} | {reached} of {len(runs)} | {_steps_text(statistics.median(steps))} | {each} | {last:.2f} |")


def _steps_text(steps: float) -> str:
    return f"{steps:,.0f}" if math.isfinite(steps) else "never"


def _draw(task: Task, curves: Mapping[str, list[Curve]], file: Path) -> None:
    """Median over seeds of each arm, the range between them shaded."""
    figure, axes = plt.subplots(figsize=(7, 3.6), dpi=120)
    for arm, runs in curves.items():
        steps = np.linspace(max(run.steps[0] for run in runs), min(run.steps[-1] for run in runs), 200)
        values = np.stack([np.interp(steps, run.steps, run.returns) for run in runs])
        axes.fill_between(steps, values.min(axis=0), values.max(axis=0), alpha=0.2, linewidth=0)
        axes.plot(steps, np.median(values, axis=0), linewidth=2, label=arm)
    axes.axhline(task.score, color="0.4", linestyle="--", linewidth=1)
    axes.set(xlabel="steps (decisions)", ylabel=RETURN, title=f"{task.title}, {len(next(iter(curves.values())))} seeds")
    axes.grid(alpha=0.3)
    axes.legend(loc="best")
    figure.tight_layout()
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


if __name__ == "__main__":
    main()

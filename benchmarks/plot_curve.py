"""Draw the learning curve of one or several runs from their metrics.jsonl.

    python benchmarks/plot_curve.py results/cartpole-* --output docs/images/cartpole.png --title CartPole-v1

Runs of the same experiment with other seeds become one curve: the median, with the range between them shaded. `--peer`
draws a second one beside it, such as of runs of `sac_peer.py`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

mpl.use("Agg")
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

Curve = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path, help="run directories")
    parser.add_argument("--peer", nargs="+", type=Path, default=[], help="runs of another library to compare with")
    parser.add_argument("--output", type=Path, required=True, help="PNG to write")
    parser.add_argument("--metric", default="rollout/mean_return", help="what to draw (default rollout/mean_return)")
    parser.add_argument("--title", default="", help="above the picture")
    parser.add_argument("--goal", type=float, help="score to mark by a line")
    options = parser.parse_args()
    figure, axes = plt.subplots(figsize=(7, 3.6), dpi=120)
    _draw(axes, options.runs, options.metric, "agents, " if options.peer else "")
    if options.peer:
        _draw(axes, options.peer, options.metric, "Stable-Baselines3, ")
    if options.goal is not None:
        axes.axhline(options.goal, color="0.4", linestyle="--", linewidth=1, label=f"solved: {options.goal:g}")
    axes.set(xlabel="steps (decisions)", ylabel=options.metric, title=options.title)
    axes.grid(alpha=0.3)
    axes.legend(loc="lower right")
    figure.tight_layout()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.output)


def _draw(axes: Axes, runs: list[Path], metric: str, who: str) -> None:
    """The median of some runs, with their range shaded."""
    curves = [_read(run, metric) for run in runs]
    steps = np.linspace(max(curve[0][0] for curve in curves), min(curve[0][-1] for curve in curves), 200)
    values = np.stack([np.interp(steps, *curve) for curve in curves])
    axes.fill_between(steps, values.min(axis=0), values.max(axis=0), alpha=0.25, linewidth=0)
    axes.plot(steps, np.median(values, axis=0), linewidth=2, label=f"{who}median of {len(curves)} seeds, range shaded")


def _read(run: Path, metric: str) -> Curve:
    """Steps and values of a metric, float64[n] each."""
    with (run / "metrics.jsonl").open(encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    points = [(line["step"], line["stats"][metric]) for line in lines if metric in line["stats"]]
    if not points:
        raise SystemExit(f"{run}: no line of metrics.jsonl has {metric}")
    steps, values = np.array(points, np.float64).T
    return steps, values


if __name__ == "__main__":
    main()

"""Does it learn? Every experiment of `configs/` with a score to reach, over several seeds.

    python benchmarks/learning.py                          # the whole table, hours on two cores
    python benchmarks/learning.py --config cartpole --seeds 2 --jobs 2

Each seed is one `agents run` and one `agents evaluate` over 100 fixed starts, as anyone would type them. Prints a
Markdown table; ends with exit code 1 where a score was not reached. Runs stay in the results folder, and a seed that
is already evaluated there is not run again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
AGENTS = [sys.executable, "-m", "agents_core"]
EPISODES = 100


@dataclass(frozen=True)
class Goal:
    """What an experiment must reach.

    Attributes:
        config: Name of the file in `configs/`.
        score: Mean return over the evaluation episodes.
        passes: Seeds of `seeds` that must reach it; 0 = their median must.
    """

    config: str
    score: float
    seeds: int
    passes: int

    @property
    def path(self) -> Path:
        return ROOT / "configs" / f"{self.config}.yaml"

    @property
    def steps(self) -> int:
        """The budget that the experiment gives itself."""
        return int(yaml.safe_load(self.path.read_text(encoding="utf-8"))["behaviors"]["*"]["max_steps"])

    @property
    def rule(self) -> str:
        return f"{self.passes} of {self.seeds} seeds" if self.passes else f"median of {self.seeds} seeds"

    def is_met(self, scores: Sequence[float]) -> bool:
        """Whether these scores are enough; with fewer seeds than the rule names, all or the median must be."""
        if not self.passes:
            return statistics.median(scores) >= self.score
        needed = math.ceil(self.passes / self.seeds * len(scores))
        return sum(score >= self.score for score in scores) >= needed


GOALS = (
    Goal("cartpole", 475, seeds=5, passes=5),
    Goal("acrobot", -100, seeds=5, passes=5),
    Goal("lunarlander", 200, seeds=5, passes=4),
    Goal("pendulum", -220, seeds=5, passes=4),
    Goal("halfcheetah", 2000, seeds=3, passes=0),
    Goal("sac_pendulum", -180, seeds=5, passes=5),
    Goal("sac_lunarlander", 200, seeds=2, passes=2),
    Goal("sac_halfcheetah", 2000, seeds=2, passes=2),
    Goal("sac_cartpole", 450, seeds=3, passes=3),
    Goal("simple1d", 0.99, seeds=5, passes=5),
    Goal("simple1d_discrete", 0.99, seeds=5, passes=5),
    Goal("simple1d_64_agents", 0.99, seeds=5, passes=5),
    Goal("two_branch", 0.95, seeds=5, passes=5),
    Goal("hybrid", 0.95, seeds=5, passes=5),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    names = [goal.config for goal in GOALS]
    parser.add_argument("--config", action="append", choices=names, help="only this one; may be repeated")
    parser.add_argument("--seeds", type=int, help="fewer or more seeds than the rule names")
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time (default 1)")
    parser.add_argument("--results", type=Path, default=ROOT / "results" / "learning", help="where runs are kept")
    options = parser.parse_args()
    goals = [goal for goal in GOALS if not options.config or goal.config in options.config]
    jobs = [(goal, seed) for goal in goals for seed in range(1, (options.seeds or goal.seeds) + 1)]
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = {job: pool.submit(_score, *job, options.results) for job in jobs}
        scores = {job: outcome.result() for job, outcome in outcomes.items()}
    sys.exit(0 if _report(goals, scores) else 1)


def _score(goal: Goal, seed: int, results: Path) -> float:
    """Mean return of one seed's evaluation."""
    run_id = f"{goal.config}-{seed}"
    place = ["--results", str(results)]
    cached = results / run_id / "score.json"
    if not cached.exists():
        _agents("run", str(goal.path), *place, "--run-id", run_id, "--seed", str(seed), "--quiet", "--force")
        cached.write_text(_agents("evaluate", run_id, *place, "--episodes", str(EPISODES), "--json"))
    behaviors: Mapping[str, Mapping[str, float]] = json.loads(cached.read_text())["behaviors"]
    score = statistics.mean(behavior["mean_return"] for behavior in behaviors.values())
    print(f"{run_id}: {score:.2f}", file=sys.stderr, flush=True)
    return score


def _agents(*arguments: str) -> str:
    """Standard output of an `agents` command; its failure ends the benchmark with what it said."""
    command = [*AGENTS, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def _report(goals: Sequence[Goal], scores: Mapping[tuple[Goal, int], float]) -> bool:
    """Print the table; whether every goal was met."""
    met = True
    print(f"Mean return over {EPISODES} fixed starts; load average {os.getloadavg()[0]:.2f}\n")
    print("| config | steps | required | rule | median | range | seeds | met |")
    print("| --- | ---: | ---: | --- | ---: | --- | ---: | --- |")
    for goal in goals:
        own = sorted(score for (other, _), score in scores.items() if other == goal)
        met = met and goal.is_met(own)
        print(
            f"| {goal.config} | {goal.steps:,} | {goal.score:g} | {goal.rule} | {statistics.median(own):.2f} "
            f"| {own[0]:.2f} to {own[-1]:.2f} | {len(own)} | {'yes' if goal.is_met(own) else 'NO'} |"
        )
    return met


if __name__ == "__main__":
    main()

"""A stats writer that keeps to the contract, and one for each way not to."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.options import ConfigModel
from agents_core.plugin import StatsWriterSpec, hookimpl


class Right(StatsWriter):
    """One line a summary or text."""

    def __init__(self, context: StatsWriterContext[ConfigModel]) -> None:
        self.directory, self.quiet = context.run_directory, context.quiet
        self.file = (self.directory / "lines.txt").open("a", encoding="utf-8")

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        self.file.write(json.dumps([behavior, step, wall_time, dict(stats)], ensure_ascii=False) + "\n")

    def text(self, title: str, content: str) -> None:
        self.file.write(f"{title}: {content}\n")

    def close(self) -> None:
        self.file.close()


class KnowsOneSet(Right):
    names: tuple[str, ...] | None = None

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        if step > 100:  # more than one summary
            self.names = self.names or tuple(stats)
            stats = {name: stats[name] for name in self.names}
        super().write(behavior, step, wall_time, stats)


class ShortTexts(Right):
    def text(self, title: str, content: str) -> None:
        assert len(content) < 1000
        super().text(title, content)


class NeedsReturns(Right):
    def progress(self, behavior: str, step: int, stats: Mapping[str, float]) -> None:
        del behavior, step
        stats["rollout/mean_return"]


class Latin(Right):
    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        behavior.encode("latin-1")
        super().write(behavior, step, wall_time, stats)


class Wordless(Right):
    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        if any(value != value for value in stats.values()):
            raise ValueError("Out of range float values are not JSON compliant")
        super().write(behavior, step, wall_time, stats)


class ClosesOnce(Right):
    def close(self) -> None:
        self.file.write("")
        super().close()


class OpensLate(Right):
    """Fails to close where nothing was written."""

    lines = 0

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        self.lines += 1
        super().write(behavior, step, wall_time, stats)

    def text(self, title: str, content: str) -> None:
        self.lines += 1
        super().text(title, content)

    def close(self) -> None:
        assert 1 / self.lines
        super().close()


class OpensNew(Right):
    def __init__(self, context: StatsWriterContext[ConfigModel]) -> None:
        (context.run_directory / "new.txt").open("x").close()
        super().__init__(context)


class WritesBeside(Right):
    def close(self) -> None:
        (self.directory.parent / "beside.txt").write_text("here")
        super().close()


class Talks(Right):
    def close(self) -> None:
        print("closed")
        super().close()


class PopsStats(Right):
    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:
        super().write(behavior, step, wall_time, stats)
        stats.pop("env/lap", None)  # type: ignore[attr-defined]


class DrawsGlobally(Right):
    def __init__(self, context: StatsWriterContext[ConfigModel]) -> None:
        super().__init__(context)
        self.name = random.random()


EXPECTED = {
    KnowsOneSet: "test_summaries_are_taken",
    ShortTexts: "test_texts_are_taken",
    NeedsReturns: "test_progress_is_taken",
    Latin: "test_any_name_is_taken",
    Wordless: "test_a_number_that_is_not_finite_is_taken_or_named",
    ClosesOnce: "test_closing_twice_is_allowed",
    OpensLate: "test_a_writer_without_events_closes",
    OpensNew: "test_a_resumed_run_opens_it_again",
    WritesBeside: "test_it_stays_in_the_run_directory",
    Talks: "test_quiet_means_quiet",
    PopsStats: "test_statistics_stay_as_they_are",
    DrawsGlobally: "test_global_generators_are_left_alone",
}
"""The one check that each fails."""


@hookimpl
def agents_stats_writers() -> list[StatsWriterSpec]:
    return [
        StatsWriterSpec(
            name=writer.__name__.lower(),
            summary="A test writer",
            config="agents_core.options:ConfigModel",
            factory=f"faulty_writers:{writer.__name__}",
        )
        for writer in (Right, *EXPECTED)
    ]

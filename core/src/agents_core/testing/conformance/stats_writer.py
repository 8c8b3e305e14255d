"""What is checked of every stats writer."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.registry.names import describe
from agents_core.testing.conformance.checks import require
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.isolation import GENERATORS, global_seed, read

STATS = {"rollout/mean_return": 1.5, "rollout/mean_length": 20.0, "train/policy_loss": -0.25, "env/lap": 3.0}
_PROGRESS = {"time/steps_per_second": 1000.0, "rollout/mean_return": 1.0}


class StatsWriterConformance(ComponentConformance):
    """Subclass it in a test, and name the writer: `component = "jsonl"`."""

    kind = "stats-writer"

    def make(self, directory: Path, *, resumed_at: Mapping[str, int] | None = None, quiet: bool = True) -> StatsWriter:
        """A writer as a run would open it."""
        context = StatsWriterContext(self.options(), directory, {"*": 1000}, resumed_at or {}, quiet)
        writer = self.found().load_factory()(context)
        require(
            isinstance(writer, StatsWriter), "the factory returns a StatsWriter", type(writer).__name__, "StatsWriter"
        )
        made: StatsWriter = writer
        return made

    @contextlib.contextmanager
    def run_directory(self) -> Iterator[Path]:
        """`results/<run-id>` of a run, gone afterwards."""
        with TemporaryDirectory() as folder:
            directory = Path(folder) / "results" / "run-1"
            directory.mkdir(parents=True)
            yield directory

    @contextlib.contextmanager
    def opened(self, *, quiet: bool = True) -> Iterator[StatsWriter]:
        """A writer that is closed afterwards."""
        with self.run_directory() as directory, contextlib.redirect_stdout(io.StringIO()):
            writer = self.make(directory, quiet=quiet)
            try:
                yield writer
            finally:
                writer.close()

    def test_summaries_are_taken(self) -> None:
        """Summaries of several behaviors, whose sets of statistics differ and whose names come up late.

        Mend: make no assumption on which keys come, and keep what you hold by behavior.
        """
        with self.opened() as writer:
            for step in (100, 200, 300):
                writer.write("Runner", step, step / 50, dict(STATS))
                writer.write("Catcher?team=1", step, step / 50, {"rollout/mean_return": -1.0, "eval/mean_return": 2.0})
            writer.write("Late", 300, 6.0, {})

    def test_texts_are_taken(self) -> None:
        """Texts such as the resolved experiment: long ones, of many lines.

        Mend: leave `text` out where the writer has no place for texts.
        """
        with self.opened() as writer:
            writer.text("hyperparameters", "trainer:\n  type: ppo\n" * 500)
            writer.text("note", "")

    def test_progress_is_taken(self) -> None:
        """Progress comes a few times a second, before any summary too, with and without a return.

        Mend: leave `progress` out where there is nothing to show.
        """
        with self.opened(quiet=False) as writer:
            writer.progress("Runner", 1, {"time/steps_per_second": 1000.0})
            for step in range(2, 50):
                writer.progress("Runner", step, dict(_PROGRESS))
            writer.write("Runner", 50, 1.0, dict(STATS))
            writer.progress("Runner", 51, dict(_PROGRESS))

    def test_any_name_is_taken(self) -> None:
        """Behaviors and statistics have the names that people give them, in any script.

        Mend: open files with `encoding="utf-8"`; make file names of behaviors safe.
        """
        with self.opened() as writer:
            for name in ("Läufer?team=0", "走者", "a b/c:d", "🏃"):
                writer.write(name, 1, 0.5, {**STATS, "env/größe": 1.0, "env/a key": 2.0})
                writer.progress(name, 2, dict(_PROGRESS))
            writer.text("Überschrift", "Zeile eins\n二行目 🏃\n")

    def test_a_number_that_is_not_finite_is_taken_or_named(self) -> None:
        """NaN and infinities are written, or refused with a ValueError that names them; the writer goes on.

        Mend: raise `ValueError(f"{name} is {value}")` before anything is written.
        """
        with self.opened() as writer:
            for number in (float("nan"), float("inf")):
                rule = f"a statistic of {number} is taken, or refused with a ValueError that names it"
                try:
                    writer.write("Runner", 1, 0.5, {"train/odd_loss": number})
                except ValueError as error:
                    require("odd_loss" in str(error), rule, describe(error), "a message with 'train/odd_loss'")
                except Exception as error:
                    require(False, rule, describe(error), "a ValueError")
            writer.write("Runner", 2, 1.0, dict(STATS))

    def test_closing_twice_is_allowed(self) -> None:
        """A run that fails closes its writers again.

        Mend: remember that it is closed.
        """
        with self.opened() as writer:
            writer.write("Runner", 1, 0.5, dict(STATS))
            writer.close()
            try:
                writer.close()
            except Exception as error:
                require(False, "closing twice is allowed", describe(error), "nothing happens")

    def test_a_writer_without_events_closes(self) -> None:
        """A run may end before its first summary.

        Mend: `close` copes with what was never opened.
        """
        with self.opened():
            pass

    def test_a_resumed_run_opens_it_again(self) -> None:
        """The folder of a run that is resumed holds what was written before; what came after the checkpoint goes.

        Mend: open for appending, and drop what is beyond `context.resumed_at`.
        """
        with self.run_directory() as directory, contextlib.redirect_stdout(io.StringIO()):
            for resumed_at in ({}, {"Runner": 100}, {"Runner": 150}):
                writer = self.make(directory, resumed_at=resumed_at)
                for step in (100, 200):
                    writer.write("Runner", step, step / 50, dict(STATS))
                writer.close()

    def test_it_stays_in_the_run_directory(self) -> None:
        """Files are written under `context.run_directory` only.

        Mend: `context.run_directory / "name"`; no relative paths.
        """
        with self.run_directory() as directory, contextlib.redirect_stdout(io.StringIO()):
            places = (Path.cwd(), directory.parent, directory.parent.parent)
            before = [_content(place) for place in places]
            writer = self.make(directory)
            writer.write("Runner", 1, 0.5, dict(STATS))
            writer.text("note", "text")
            writer.close()
            new = [
                str(place / name)
                for place, known in zip(places, before, strict=True)
                for name in _content(place) - known
            ]
            require(not new, "files are written in the run directory", ", ".join(new), "none outside")

    def test_quiet_means_quiet(self) -> None:
        """With `quiet` nothing appears on the screen.

        Mend: print only if not `context.quiet`; log with `logging`.
        """
        screen = io.StringIO()
        with self.run_directory() as directory, contextlib.redirect_stdout(screen), contextlib.redirect_stderr(screen):
            writer = self.make(directory, quiet=True)
            writer.progress("Runner", 1, dict(_PROGRESS))
            writer.write("Runner", 1, 0.5, dict(STATS))
            writer.text("note", "text")
            writer.close()
        require(not screen.getvalue(), "with `quiet` nothing is printed", repr(screen.getvalue())[:200], "nothing")

    def test_statistics_stay_as_they_are(self) -> None:
        """All writers get the same mapping.

        Mend: copy it before changing it.
        """
        stats, progress = dict(STATS), dict(_PROGRESS)
        with self.opened() as writer:
            writer.write("Runner", 1, 0.5, stats)
            writer.progress("Runner", 2, progress)
        found, expected = (stats, progress), (STATS, _PROGRESS)
        require(found == expected, "the mapping of statistics stays as it is", found, expected)

    def test_global_generators_are_left_alone(self) -> None:
        """Nothing draws from the global generators of torch, NumPy or `random`.

        Mend: use `random.Random()` of your own, or `uuid.uuid4` for names.
        """
        with global_seed(0):
            before = read(GENERATORS)
            with self.opened() as writer:
                writer.write("Runner", 1, 0.5, dict(STATS))
            after = read(GENERATORS)
        used = [name for name in before if before[name] != after[name]]
        require(not used, "global generators are not used", f"drawn from: {', '.join(used)}", "none")


def _content(directory: Path) -> set[str]:
    return {entry.name for entry in directory.iterdir()}

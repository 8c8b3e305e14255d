"""For tests of plugins and of core: the conformance kit, toy environments, and ways to look at a trainer.

**The kit.** A class for each kind of component holds what every component of the kind must do. A plugin's whole
conformance test is a subclass that names it:

    from agents_core.testing import RewardSignalConformance

    class TestNovelty(RewardSignalConformance):
        component = "novelty"

pytest runs every check as a test; `agents plugins check novelty` runs the same without pytest. The name is the one of
experiment files; the plugin must be installed, or named in `plugins = ["my_signal.py"]`, a path from the folder of the
test. `config = {"count": 3}` gives options where the defaults do not suit a small test or where some have none.
The classes: `TrainerConformance`, `RewardSignalConformance`, `BufferConformance`, `StatsWriterConformance`,
`EnvironmentConformance`, `EncoderConformance`; further attributes and methods to replace stand in each.

Each check says in its docstring what it is for and how to mend a failure, and in its message which rule is broken, what
was found and what is expected. A check that does not apply is skipped with the reason. Replacing one needs a reason:

    @overrides("the reward is of a pair of rows by definition")
    def test_rewards_do_not_depend_on_other_rows(self) -> None: ...

**For tests of a plugin's own.** `contexts` has what signals, trainers and buffers are made with, `transitions` draws
experience, and `driver` steps an environment and trains on it.

Nothing here needs more than pytest (`pip install "agents-core[testing]"`), and importing this package imports nothing
until a name is used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agents_core.testing.conformance.buffer import BufferConformance
    from agents_core.testing.conformance.checks import ConformanceError, overrides
    from agents_core.testing.conformance.encoder import EncoderConformance
    from agents_core.testing.conformance.environment import EnvironmentConformance
    from agents_core.testing.conformance.reward_signal import RewardSignalConformance
    from agents_core.testing.conformance.stats_writer import StatsWriterConformance
    from agents_core.testing.conformance.trainer import TrainerConformance

_HOMES = {
    "BufferConformance": "buffer",
    "ConformanceError": "checks",
    "EncoderConformance": "encoder",
    "EnvironmentConformance": "environment",
    "RewardSignalConformance": "reward_signal",
    "StatsWriterConformance": "stats_writer",
    "TrainerConformance": "trainer",
    "overrides": "checks",
}

__all__ = [
    "BufferConformance",
    "ConformanceError",
    "EncoderConformance",
    "EnvironmentConformance",
    "RewardSignalConformance",
    "StatsWriterConformance",
    "TrainerConformance",
    "overrides",
]


def __getattr__(name: str) -> Any:
    """A name of the kit, imported when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.conformance.{_HOMES[name]}"), name)

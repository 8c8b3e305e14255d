"""What plugin authors import: the hook marker and the specs that hooks return.

Specs hold lazy `module:attribute` strings, so that a plugin's `plugin.py` imports nothing heavy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pluggy

PROJECT = "agents"
ENTRY_POINT_GROUP = "agents.plugins"

hookimpl = pluggy.HookimplMarker(PROJECT)

Kind = Literal[
    "trainer",
    "reward-signal",
    "buffer",
    "stats-writer",
    "environment",
    "worker-pool",
    "encoder",
    "demonstration-format",
    "exporter",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSpec:
    """One component that a plugin offers.

    Attributes:
        name: What experiment files call it.
        summary: One line for lists.
        factory: `module:attribute` of what makes it, called with the kind's context object.
        config: `module:attribute` of its pydantic model, a subclass of `agents_core.options.ConfigModel`.
        tags: Free words for searching, such as `on-policy`.
    """

    name: str
    summary: str
    factory: str
    config: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerSpec(ComponentSpec):
    """A trainer; `factory(TrainerContext) -> Trainer`.

    Attributes:
        quickstart: `package:file` of an experiment YAML that `agents run --plugin NAME` runs on its own.
        offline: Whether it can train without an environment, from what `demo_path` of its config names.
        buffer: Buffer that it samples from where the experiment names none; None = it has no `buffer` option.
    """

    quickstart: str | None = None
    offline: bool = False
    buffer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewardSignalSpec(ComponentSpec):
    """A reward signal; `factory(RewardSignalContext) -> RewardSignal`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BufferSpec(ComponentSpec):
    """A buffer for off-policy trainers; `factory(BufferContext) -> Buffer`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsWriterSpec(ComponentSpec):
    """A stats writer; `factory(StatsWriterContext) -> StatsWriter`.

    Attributes:
        default: Whether it is on when the experiment has no `stats` section.
    """

    default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSpec(ComponentSpec):
    """An environment adapter; `factory(EnvironmentContext) -> Environment`.

    Attributes:
        hosts_many: Whether one `Environment` object hosts several instances.
        id_field: Config field that the part after the colon in `--env TYPE:ID` fills.
    """

    hosts_many: bool = False
    id_field: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPoolSpec(ComponentSpec):
    """A worker pool; `factory(WorkerPoolContext) -> WorkerPool`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderSpec(ComponentSpec):
    """An observation encoder; `factory(EncoderContext) -> torch.nn.Module` with `output_size`.

    Attributes:
        observation_kinds: Kinds of observation that it encodes; none = any.
    """

    observation_kinds: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DemonstrationFormatSpec(ComponentSpec):
    """A file format of demonstrations.

    Attributes:
        suffixes: File name endings, such as `.demo`.
        recognizes: Of a format that shares a suffix with another: `module:attribute` of a function from the path of a
            file to whether its content is in this format. Such files are read in this format, and all others in the one
            that the suffix belongs to, which is also the one that is written.
    """

    suffixes: tuple[str, ...] = ()
    recognizes: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExporterSpec(ComponentSpec):
    """Writes a trained policy for use elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandSpec:
    """A command of the `agents` program.

    Attributes:
        name: As typed.
        help: One line for `agents --help`.
        command: `module:attribute` of a click command, imported when it is called.
    """

    name: str
    help: str
    command: str

"""Config models of core's own stats writers."""

from __future__ import annotations

from agents_core.options import ConfigModel


class ConsoleConfig(ConfigModel):
    """The `stats.console` section; it has no keys. `--quiet` silences the console."""


class JsonlConfig(ConfigModel):
    """The `stats.jsonl` section; it has no keys. metrics.jsonl is always written."""

"""Core's stats writers keep to their contract."""

from __future__ import annotations

from agents_core.testing import StatsWriterConformance


class TestConsole(StatsWriterConformance):
    component = "console"


class TestJsonl(StatsWriterConformance):
    component = "jsonl"

"""A folder of installed plugins that only the test at hand sees."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder at the front of `sys.path`; what is imported from it is forgotten after the test."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    for variable in ("AGENTS_DISABLE_PLUGINS", "AGENTS_LOAD_PLUGINS", "AGENTS_PLUGIN_TRACEBACK", "AGENTS_TRACE_HOOKS"):
        monkeypatch.delenv(variable, raising=False)
    importlib.invalidate_caches()
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "") or ""):
            del sys.modules[name]
    importlib.invalidate_caches()

"""Plugins that look installed, written into a folder: for tests of what a plugin does to the program and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import dedent

HOOKS_HEADER = "from agents_core.plugin import *\n"


def install_plugin(
    site: Path,
    distribution: str,
    hooks: str,
    *,
    version: str = "0.3",
    requires: Sequence[str] = ("agents-core>=0.1,<0.2",),
    plugin: str | None = None,
    package: str | None = None,
    entry_points: str | None = None,
    metadata: bytes | None = None,
    files: Mapping[str, str] | None = None,
) -> None:
    """Write a distribution with one plugin into `site`, a folder that is or will be on `sys.path`.

    Args:
        site: The folder.
        distribution: Name of the distribution.
        hooks: Source of the package's `plugin.py`, below the import of `hookimpl` and the spec classes.
        version: Version of the distribution.
        requires: Its `Requires-Dist` lines.
        plugin: Name of the entry point; by default the distribution's without `agents-`.
        package: Import name; by default the distribution's with underscores.
        entry_points: Text of `entry_points.txt` in place of the usual one.
        metadata: Bytes of `METADATA` in place of the usual ones.
        files: Further modules of the package, by file name.
    """
    package = package or distribution.replace("-", "_")
    plugin = plugin or distribution.removeprefix("agents-")
    folder = site / package
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in {"__init__.py": "", "plugin.py": HOOKS_HEADER + dedent(hooks), **(files or {})}.items():
        (folder / name).write_text(dedent(source), encoding="utf-8")
    info = site / f"{distribution.replace('-', '_')}-{version}.dist-info"
    info.mkdir(exist_ok=True)
    if metadata is None:
        lines = ["Metadata-Version: 2.1", f"Name: {distribution}", f"Version: {version}", "Summary: A test plugin"]
        lines += ["License: MIT", "Project-URL: Source, https://example.org/source"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        metadata = ("\n".join(lines) + "\n\nA README that nobody parses.\n").encode()
    (info / "METADATA").write_bytes(metadata)
    if entry_points is None:
        entry_points = f"[agents.plugins]\n{plugin} = {package}.plugin\n"
    (info / "entry_points.txt").write_text(entry_points, encoding="utf-8")


def reward_signal_hooks(name: str, package: str, **overrides: str) -> str:
    """Source of a hook that offers one reward signal; `overrides` replace fields of its spec."""
    fields = {
        "name": name,
        "summary": "A test signal",
        "config": f"{package}.config:Config",
        "factory": f"{package}.signal:Signal",
        **overrides,
    }
    arguments = ", ".join(f"{field}={value!r}" for field, value in fields.items())
    return f"@hookimpl\ndef agents_reward_signals():\n    return [RewardSignalSpec({arguments})]\n"


SIGNAL_FILES = {
    "config.py": """
        from agents_core.options import RewardSignalConfig

        class Config(RewardSignalConfig):
            pass
        """,
    "signal.py": """
        class Signal:
            pass
        """,
}
"""Modules that the hooks of `reward_signal_hooks` point to."""

"""A signal or trainer that is not packaged: `plugins: [my_signal.py]` or a module name in an experiment file."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from agents_core.registry.errors import LocalPluginError
from agents_core.registry.records import Origin

_files: dict[str, tuple[Path, int]] = {}
"""Module name -> file of the local plugins in this process, and its time of change when it was imported."""
_directories: set[str] = set()
"""What this module added to `sys.path`."""


@dataclass(frozen=True, slots=True)
class LocalPlugin:
    """A plugin that an experiment names; `path` is None for a module."""

    origin: Origin
    module: str
    path: Path | None

    def load(self) -> ModuleType:
        """Import it, anew if the file has changed.

        A file is known by its stem from then on, so that its specs can say `my_signal:MySignal`.
        """
        if self.path is None:
            return importlib.import_module(self.module)
        version = (self.path, self.path.stat().st_mtime_ns)
        known = sys.modules.get(self.module)
        if known is not None and _files.get(self.module) == version:
            return known
        spec = spec_from_file_location(self.module, self.path)
        assert spec is not None  # the name ends in .py
        assert spec.loader is not None
        module = module_from_spec(spec)
        sys.modules[self.module] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            self.forget()
            raise
        _files[self.module] = version
        return module

    def forget(self) -> None:
        """Undo the import of a file that cannot be used, so that it can be repaired and tried again."""
        if self.path is not None:
            sys.modules.pop(self.module, None)
            _files.pop(self.module, None)


def locate(target: str, directory: Path) -> LocalPlugin:
    """Find a local plugin without importing it.

    Its directory goes to the end of `sys.path`: for files beside it, and for worker processes, which start with the
    same path.

    Args:
        target: A file, relative to `directory`, or a module name.
        directory: Where the experiment file lies.

    Raises:
        LocalPluginError: There is no such file or module, or the file's name belongs to another module.
    """
    if not (target.endswith(".py") or "/" in target or "\\" in target):
        _append_to_path(directory.resolve())
        if not _has_module(target):
            raise LocalPluginError(
                f"plugins: there is no module '{target}', neither installed nor in {directory.resolve()}; "
                f"a file is named with its ending: {target}.py"
            )
        return LocalPlugin(Origin(target, None, None, target), target, None)
    path = (directory / target).resolve()
    if not path.is_file():
        raise LocalPluginError(f"plugins: '{target}' is not there (looked for {path})")
    if path.suffix != ".py" or not path.stem.isidentifier():
        raise LocalPluginError(f"plugins: {path} cannot be imported; its name must be like my_signal.py")
    holder = _holder(path.stem)
    if holder is not None and holder != str(path):
        raise LocalPluginError(f"plugins: {path}: the name '{path.stem}' belongs to {holder}; rename the file")
    _append_to_path(path.parent)
    return LocalPlugin(Origin(path.stem, None, None, str(path)), path.stem, path)


def _append_to_path(directory: Path) -> None:
    if str(directory) not in sys.path:
        sys.path.append(str(directory))
        _directories.add(str(directory))
    importlib.invalidate_caches()


def _has_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ModuleNotFoundError, ValueError):  # a parent package is missing, or it is a name like `.x`
        return False
    except (Exception, SystemExit):  # a parent package raises: its import will say so
        return True


def _holder(name: str) -> str | None:
    """The file that owns a module name, unless it is a local plugin, whose name another experiment may take over."""
    if name in _files:
        return None
    try:
        spec = find_spec(name)
    except ValueError:  # loaded without a spec, such as `__main__`
        return "a module of this process"
    if spec is None:
        return None
    if spec.origin is None:
        return "an installed package"
    path = Path(spec.origin).resolve()
    return None if str(path.parent) in _directories else str(path) if path.exists() else spec.origin

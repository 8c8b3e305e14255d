"""Finds what an experiment file names as `module` or `module:attribute`."""

from __future__ import annotations

import difflib
import importlib
import sys
from pathlib import Path
from types import ModuleType

from agents_core.errors import UserError


def import_module(name: str, directory: Path, key: str) -> ModuleType:
    """Import a module; those in the folder of the experiment file are found too.

    Args:
        name: A dotted name, or a `.py` file relative to `directory`.
        directory: Folder of the experiment file.
        key: Config key that names the module, for messages.

    Raises:
        UserError: It is not there, or fails while it is imported.
    """
    if name.endswith(".py"):
        return _import_file((directory / name).resolve(), key)
    top = name.partition(".")[0]
    if (directory / f"{top}.py").is_file() or (directory / top).is_dir():
        _make_importable(directory)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not (name == error.name or name.startswith(f"{error.name}.")):
            raise _failed(name, key, error) from error
        raise UserError(
            f"{key}: there is no module '{error.name}', neither installed nor in {directory.resolve()}; "
            "install the package that holds it, or correct the name"
        ) from error
    except Exception as error:
        raise _failed(name, key, error) from error


def load(target: str, directory: Path, key: str) -> object:
    """The attribute that `module:attribute` names.

    Raises:
        UserError: Module or attribute is not there.
    """
    module_name, _, path = target.partition(":")
    module = import_module(module_name, directory, key)
    found: object = module
    for part in path.split("."):
        if not hasattr(found, part):
            nearest = difflib.get_close_matches(part, [name for name in dir(found) if not name.startswith("_")], n=3)
            hint = f"; nearest: {', '.join(nearest)}" if nearest else ""
            place = getattr(module, "__file__", None) or module_name
            raise UserError(f"{key}: '{target}' names no attribute '{part}' of {place}{hint}")
        found = getattr(found, part)
    return found


def _import_file(path: Path, key: str) -> ModuleType:
    """Import a file under its own name, so that `name:attribute` entry points that it registers work too."""
    if not path.is_file():
        raise UserError(f"{key}: there is no file {path}; paths are relative to the experiment file")
    _make_importable(path.parent)
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        raise _failed(str(path), key, error) from error
    origin = getattr(module, "__file__", None)
    if origin is None or Path(origin).resolve() != path:
        raise UserError(
            f"{key}: {path} cannot be imported, because another module '{path.stem}' is loaded already "
            f"({origin or 'built in'}); rename the file"
        )
    return module


def _make_importable(directory: Path) -> None:
    """First on the path, as for a script, so that the module is the one in the folder."""
    entry = str(directory.resolve())
    if entry not in sys.path:
        sys.path.insert(0, entry)
        importlib.invalidate_caches()


def _failed(name: str, key: str, error: Exception) -> UserError:
    return UserError(f"{key}: importing {name} failed with {type(error).__name__}: {error}")

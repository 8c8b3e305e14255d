"""Whether a lazy `module:attribute` can be there at all, judged without importing it.

An import could cost seconds (torch), so a list of plugins must do without. What this finds is certain; what it does
not find shows when the component is used, or in `agents plugins check`.
"""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path

# Ways to give a module a name that does not stand in its source.
_DYNAMIC = re.compile(r"import\s+\*|__getattr__|__dict__|\b(globals|vars|locals|setattr|exec|eval)\s*\(")


def why_missing(target: str) -> str | None:
    """Why `target` cannot be imported; None where it can, or where only an import would tell."""
    module, _, attribute = target.partition(":")
    path = module.split(".")
    for depth in range(1, len(path) + 1):
        package = ".".join(path[:depth])
        if package in sys.modules:
            continue
        if find_spec(package) is None:
            return f"there is no module '{package}'"
        break  # to look for what is inside would import it
    name = attribute.partition(".")[0]
    if name in vars(sys.modules.get(module, object)):
        return None
    source = _source(module)
    if source is None or _DYNAMIC.search(source) or re.search(rf"\b{name}\b", source):
        return None
    return f"module '{module}' has no '{name}'"


def why_no_model(target: str) -> str | None:
    """Why `target` is no config model; None where it is, or where only an import would tell."""
    module, _, name = target.partition(":")
    source = _source(module)
    if source is None:
        return None
    # `class X:` and `class X():` have no base, and a function is no class.
    plain = re.search(rf"^(class\s+{name}\s*(\(\s*\))?\s*:|(async\s+)?def\s+{name}\b)", source, re.MULTILINE)
    # With a decorator, a second definition, an assignment or an import, the name may mean something else.
    other = re.search(
        rf"^@.*\n(class|def)\s+{name}\b|class\s+{name}\s*[(\[]\s*[^)\s]|\b{name}\s*(:[^=\n]*)?=|(import|as)\b.*\b{name}\b",
        source,
        re.MULTILINE,
    )
    if plain and not other:
        return f"'{target}' is no subclass of agents_core.options.ConfigModel"
    return None


def _source(module: str) -> str | None:
    """The text of a module that is a Python file and can be found without an import."""
    parent = module.rpartition(".")[0]
    if parent and parent not in sys.modules:
        return None
    try:
        spec = find_spec(module)
    except ValueError:  # loaded without a spec
        return None
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None
    try:
        return Path(spec.origin).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None

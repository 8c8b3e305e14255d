"""What Python files say, without running them."""

from __future__ import annotations

import ast
from pathlib import Path


def imported_names(file: Path) -> list[str]:
    """Full dotted names that a file imports."""
    names = []
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return names

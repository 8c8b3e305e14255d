"""Complaints about `.demo` files: always with the file and the byte."""

from __future__ import annotations

from pathlib import Path

from agents_core.demonstrations import DemonstrationError


def damaged(path: Path, offset: int, reason: str) -> DemonstrationError:
    """An error that says where in the file something is wrong."""
    return DemonstrationError(f"{path}: byte {offset}: {reason}")

"""`.demo` files as a format of demonstrations."""

from __future__ import annotations

from pathlib import Path

from agents_core.demonstrations import (
    Demonstration,
    DemonstrationError,
    DemonstrationFormat,
    DemonstrationFormatContext,
    check_demonstration,
)

from agents_env_unity.config import DemoConfig
from agents_env_unity.demo.head import read_head
from agents_env_unity.demo.pairing import pair
from agents_env_unity.demo.records import read_records
from agents_env_unity.demo.writing import write_demo


class DemoFiles(DemonstrationFormat):
    """Reads files of every release of the Unity recorder; writes those that the newest ML-Agents reads."""

    def __init__(self, context: DemonstrationFormatContext[DemoConfig]) -> None:
        self._pairing = context.config.pairing

    def read(self, source: str) -> Demonstration:
        path = Path(source)
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                head = read_head(file, path, size)
                records = read_records(file, path, head, size)
        except OSError as error:
            raise DemonstrationError(f"{path}: cannot be read: {error.strerror or error}") from error
        return pair(records, head.action, head.behavior, path, self._pairing)

    def write(self, target: str, demonstration: Demonstration) -> None:
        check_demonstration(demonstration, target)
        write_demo(Path(target), demonstration)

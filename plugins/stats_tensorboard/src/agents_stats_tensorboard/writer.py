"""Writes a run's statistics for TensorBoard, without needing torch or TensorFlow."""

from __future__ import annotations

import time
from collections.abc import Mapping

from agents_core.contracts.stats import StatsWriter, StatsWriterContext
from agents_core.training.checkpoint_files import folder_name
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
from tensorboard.compat.proto.tensor_pb2 import TensorProto
from tensorboard.compat.proto.types_pb2 import DT_STRING

from agents_stats_tensorboard.config import TensorBoardConfig
from agents_stats_tensorboard.event_file import EventFile, purge


class TensorBoardWriter(StatsWriter):
    """Curves of each behavior in `tensorboard/<behavior>`, named as under `checkpoints/`; texts beside them.

    Tags are the metric names, the x axis is the step. Where a run resumes, everything beyond its checkpoint's step is
    cut out of the files, so that any reader sees each curve go on without overlap.
    """

    def __init__(self, context: StatsWriterContext[TensorBoardConfig]) -> None:
        self._root = context.run_directory / "tensorboard"
        self._resumed_at = dict(context.resumed_at)
        self._text_step = max(self._resumed_at.values(), default=0)
        self._curves: dict[str, EventFile] = {}
        self._texts: EventFile | None = None
        if self._root.is_dir():
            self._purge()

    def write(self, behavior: str, step: int, wall_time: float, stats: Mapping[str, float]) -> None:  # noqa: ARG002
        values = [Summary.Value(tag=name, simple_value=value) for name, value in stats.items()]
        # TensorBoard wants the time of day here; it shows the time since the first event by itself.
        self._file(behavior).add(Event(wall_time=time.time(), step=step, summary=Summary(value=values)))

    def text(self, title: str, content: str) -> None:
        """Show a text as it is, under the step that this process starts from."""
        verbatim = "\n".join(f"    {line}" for line in content.splitlines())  # an indented block is code in Markdown
        value = Summary.Value(
            tag=title,
            metadata=SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text")),
            tensor=TensorProto(dtype=DT_STRING, string_val=[verbatim.encode()]),
        )
        if self._texts is None:
            self._texts = EventFile(self._root)
        self._texts.add(Event(wall_time=time.time(), step=self._text_step, summary=Summary(value=[value])))

    def close(self) -> None:
        for file in self._curves.values():
            file.close()
        if self._texts is not None:
            self._texts.close()

    def _file(self, behavior: str) -> EventFile:
        if behavior not in self._curves:
            file = self._curves[behavior] = EventFile(self._root / folder_name(behavior))
            if behavior in self._resumed_at:
                # A TensorBoard that is running forgets what it has read beyond this step.
                status = SessionLog(status=SessionLog.START)
                file.add(Event(wall_time=time.time(), step=self._resumed_at[behavior] + 1, session_log=status))
        return self._curves[behavior]

    def _purge(self) -> None:
        last_steps = {folder_name(behavior): step for behavior, step in self._resumed_at.items()}
        for folder in self._root.iterdir():
            if folder.is_dir():
                purge(folder, last_steps.get(folder.name, -1))
        purge(self._root, self._text_step - 1)  # this process writes its texts anew

"""Base models of config sections, for core and for plugin authors.

Every field of a plugin's config model has a description and bounds; unknown keys are refused.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)

from agents_core.schedules import Schedule


class ConfigModel(BaseModel):
    """Base of every config section: unknown keys are errors, values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class NoOptions(ConfigModel):
    """For components that leave nothing to choose."""


class ScheduleModel(ConfigModel):
    """A scheduled value written out."""

    schedule: Literal["constant", "linear"] = Field(default="linear", description="How the value moves over the run.")
    initial: float = Field(description="Value at the first step.")
    final: float | None = Field(default=None, description="Value at `max_steps`, 0 if not given; linear only.")
    floor: float | None = Field(default=None, description="Never below this.")


_NUMBER = TypeAdapter(Annotated[float, Field(allow_inf_nan=False)])


def _reader(lowest: float | None, exclusive: bool, highest: float | None) -> Callable[[object], Schedule]:
    """A validator that turns a number or a mapping into a schedule whose values stay within the bounds."""

    def read(value: object) -> Schedule:
        if isinstance(value, bool):
            raise ValueError("expected a number or a section with schedule, initial, final, floor")
        schedule = _parse(value)
        named = isinstance(value, Mapping)
        check(schedule.initial, "`initial` " if named else "", is_start=True)
        check(schedule.final, "`final` ")
        check(schedule.floor, "`floor` ")
        return schedule

    def check(number: float | None, name: str, is_start: bool = False) -> None:
        # A positive value may fall to exactly 0 at the end of the run.
        if number is None:
            return
        if lowest is not None and (number < lowest or (exclusive and is_start and number == lowest)):
            least = "greater than" if exclusive and is_start else "at least"
            raise ValueError(f"{name}must be {least} {lowest:g}" + (f", found {number:g}" if name else ""))
        if highest is not None and number > highest:
            raise ValueError(f"{name}must be at most {highest:g}" + (f", found {number:g}" if name else ""))

    return read


def _parse(value: object) -> Schedule:
    if isinstance(value, Schedule):
        return value
    if not isinstance(value, Mapping):
        return Schedule(_NUMBER.validate_python(value))
    model = ScheduleModel.model_validate(value)
    if model.schedule == "constant":
        if model.final is not None:
            raise ValueError("a constant schedule has no `final`")
        return Schedule(model.initial, None, model.floor)
    return Schedule(model.initial, 0.0 if model.final is None else model.final, model.floor)


def write_schedule(schedule: Schedule) -> float | dict[str, Any]:
    """A schedule as experiment files write it: a number, or a mapping where it is more."""
    if schedule.final is None and schedule.floor is None:
        return schedule.initial
    kind = "constant" if schedule.final is None else "linear"
    written = {"schedule": kind, "initial": schedule.initial, "final": schedule.final, "floor": schedule.floor}
    return {key: value for key, value in written.items() if value is not None}


def _schema(**bounds: float) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "number", **bounds}, ScheduleModel.model_json_schema()]})


_WRITE = PlainSerializer(write_schedule)
PositiveSchedule = Annotated[Schedule, PlainValidator(_reader(0, True, None)), _WRITE, _schema(exclusiveMinimum=0)]
"""A scheduled value that starts above 0."""
NonNegativeSchedule = Annotated[Schedule, PlainValidator(_reader(0, False, None)), _WRITE, _schema(minimum=0)]
"""A scheduled value of at least 0."""
UnitSchedule = Annotated[Schedule, PlainValidator(_reader(0, False, 1)), _WRITE, _schema(minimum=0, maximum=1)]
"""A scheduled value from 0 to 1."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """Marks a path that must be there when a run starts."""


def _absolute(path: Path, info: ValidationInfo) -> Path:
    """The path from the folder of the experiment file, so that it means the same from everywhere."""
    directory = (info.context or {}).get("directory", Path())
    return Path(os.path.abspath(Path(directory) / path.expanduser()))  # noqa: PTH100  # links stay as they are


DataPath = Annotated[Path, AfterValidator(_absolute), DataFile()]
"""A file or folder that a run reads, relative to the experiment file. `config validate` warns where it is not there;
a run refuses to start. Also inside a list or a union: `DataPath | list[DataPath]`."""


_PREFIXED = re.compile("[a-z][a-z0-9_-]+:")


def is_prefixed(path: Path) -> bool:
    """Whether it is no path but a source in a format's own store, such as `minari:D4RL/door/human-v2`."""
    return _PREFIXED.match(path.as_posix()) is not None


def _absolute_unless_prefixed(path: Path, info: ValidationInfo) -> Path:
    return path if is_prefixed(path) else _absolute(path, info)


DemonstrationPath = Annotated[Path, AfterValidator(_absolute_unless_prefixed), DataFile()]
"""A demonstration: a file, a folder of files, or `format:name`; see `agents_core.demonstrations`. As `DataPath`, except
that what a format keeps in a store of its own is looked for by the format."""


class Conflict(NamedTuple):
    """An option that does not go with others of its behavior.

    Attributes:
        keys: Of the option, from the behavior on: `("trainer", "n_step")`.
        message: What was found and what is allowed.
    """

    keys: tuple[str, ...]
    message: str


class RewardSignalConfig(ConfigModel):
    """Keys that every reward signal has; a signal's own model derives from it."""

    strength: NonNegativeSchedule = Field(default=Schedule(1.0), description="Factor on the reward in the objective.")
    gamma: float = Field(default=0.99, ge=0, le=1, description="Discount of the signal's return.")


class MemoryConfig(ConfigModel):
    """A recurrent layer after the body: state that an agent keeps from one decision to the next in an episode."""

    type: Literal["lstm", "gru"] = Field(default="lstm", description="Kind of recurrent layer.")
    size: int = Field(default=128, ge=1, le=8192, description="Width of the recurrent layer.")
    sequence_length: int = Field(
        default=32,
        ge=1,
        le=65536,
        description="Steps that gradients go back through; trajectories are split into these.",
    )
    burn_in: int = Field(
        default=0,
        ge=0,
        description="Steps before each sequence that only bring its state up to date, without a loss of their own.",
    )

    @model_validator(mode="after")
    def _burn_in_fits(self) -> MemoryConfig:
        if self.burn_in > self.sequence_length:
            raise ValueError(
                f"burn_in ({self.burn_in}) must not be larger than sequence_length ({self.sequence_length})"
            )
        return self

    def misfits(self, batch_size: int) -> Iterator[Conflict]:
        """That sequences do not fit into the minibatches of a trainer, where they do not."""
        if self.sequence_length > batch_size:
            yield Conflict(
                ("network", "memory", "sequence_length"),
                f"found {self.sequence_length}, more than trainer.batch_size ({batch_size}), so that no sequence fits; "
                f"expected {batch_size} or less, or a larger batch_size",
            )


class BodyConfig(ConfigModel):
    """What turns observations into features; the `network:` section of parts that have a network of their own."""

    hidden_units: int = Field(default=128, ge=1, le=8192, description="Width of each hidden layer.")
    num_layers: int = Field(default=2, ge=1, le=16, description="Hidden layers.")
    activation: Literal["tanh", "relu", "swish"] = Field(
        default="tanh", description="Non-linearity of the hidden layers."
    )
    normalize: bool = Field(
        default=False, description="Normalise vector observations by their running mean and deviation."
    )
    conditioning: Literal["concat", "hyper"] = Field(
        default="concat",
        description="What goals do: `concat`, join the other observations, or `hyper`, make the last layer's weights.",
    )
    initialization: Literal["orthogonal", "kaiming"] = Field(
        default="orthogonal", description="How first weights are drawn: orthogonal, or normal by Kaiming He's rule."
    )


class NetworkConfig(BodyConfig):
    """The `network:` section of a behavior."""

    shared: bool = Field(default=False, description="Let actor and critic share the body.")
    memory: MemoryConfig | None = Field(
        default=None, description="Recurrent layer of actor and critic, one each (one in all if `shared`); null = none."
    )
    std: Literal["free", "state"] = Field(
        default="free",
        description="Deviation of continuous actions: `free`, a parameter each, or `state`, an output of the actor.",
    )
    squash: bool = Field(
        default=False, description="Bring continuous actions into [-1, 1] by tanh instead of clipping them."
    )


@dataclass(frozen=True, slots=True)
class BehaviorOptions:
    """What a behavior's sections say beside that of its trainer.

    Attributes:
        network: The `network:` section.
        reward_signals: Options of the signals, by name.
        buffer: Options of the buffer, where the trainer samples from one.
    """

    network: NetworkConfig
    reward_signals: Mapping[str, ConfigModel]
    buffer: ConfigModel | None


class TrainerConfig(ConfigModel):
    """Options of a trainer; its own model derives from it."""

    def conflicts(self, others: BehaviorOptions) -> Iterator[Conflict]:  # noqa: ARG002
        """What does not go together with the other sections of the behavior, of which there is nothing by default.

        An experiment is refused with all of it, each at its line, before anything is made.
        """
        yield from ()

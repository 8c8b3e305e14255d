"""Base models of config sections, for core and for plugin authors.

Every field of a plugin's config model has a description and bounds; unknown keys are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, PlainValidator, TypeAdapter, WithJsonSchema

from agents_core.schedules import Schedule


class ConfigModel(BaseModel):
    """Base of every config section: unknown keys are errors, values do not change after validation."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class ScheduleModel(ConfigModel):
    """A scheduled value written out."""

    schedule: Literal["constant", "linear"] = Field("linear", description="How the value moves over the run.")
    initial: float = Field(description="Value at the first step.")
    final: float | None = Field(None, description="Value at `max_steps`; linear only.")
    floor: float | None = Field(None, description="Never below this.")


_NUMBER = TypeAdapter(float)


def _reader(lowest: float | None, exclusive: bool, highest: float | None) -> Callable[[object], Schedule]:
    """A validator that turns a number or a mapping into a schedule whose values stay within the bounds."""

    def read(value: object) -> Schedule:
        schedule = _parse(value)
        for number in (schedule.initial, schedule.final, schedule.floor):
            if number is not None:
                _check_bounds(number, is_start=number is schedule.initial)
        return schedule

    def _check_bounds(number: float, is_start: bool) -> None:
        # A positive value may fall to exactly 0 at the end of the run.
        if lowest is not None and (number < lowest or (exclusive and is_start and number == lowest)):
            raise ValueError(f"must be {'greater than' if exclusive else 'at least'} {lowest:g}, found {number:g}")
        if highest is not None and number > highest:
            raise ValueError(f"must be at most {highest:g}, found {number:g}")

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


def _write_schedule(schedule: Schedule) -> Any:
    if schedule.final is None and schedule.floor is None:
        return schedule.initial
    kind = "constant" if schedule.final is None else "linear"
    written = {"schedule": kind, "initial": schedule.initial, "final": schedule.final, "floor": schedule.floor}
    return {key: value for key, value in written.items() if value is not None}


def _schema(**bounds: float) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": "number", **bounds}, ScheduleModel.model_json_schema()]})


_WRITE = PlainSerializer(_write_schedule)
PositiveSchedule = Annotated[Schedule, PlainValidator(_reader(0, True, None)), _WRITE, _schema(exclusiveMinimum=0)]
"""A scheduled value that starts above 0."""
NonNegativeSchedule = Annotated[Schedule, PlainValidator(_reader(0, False, None)), _WRITE, _schema(minimum=0)]
"""A scheduled value of at least 0."""
UnitSchedule = Annotated[Schedule, PlainValidator(_reader(0, False, 1)), _WRITE, _schema(minimum=0, maximum=1)]
"""A scheduled value from 0 to 1."""


class RewardSignalConfig(ConfigModel):
    """Keys that every reward signal has; a signal's own model derives from it."""

    strength: NonNegativeSchedule = Field(Schedule(1.0), description="Factor on the reward in the objective.")
    gamma: float = Field(0.99, ge=0, le=1, description="Discount of the signal's return.")


class NetworkConfig(ConfigModel):
    """The `network:` section of a behavior."""

    hidden_units: int = Field(128, ge=1, le=8192, description="Width of each hidden layer.")
    num_layers: int = Field(2, ge=1, le=16, description="Hidden layers.")
    activation: Literal["tanh", "relu", "swish"] = Field("tanh", description="Non-linearity of the hidden layers.")
    normalize: bool = Field(False, description="Normalise vector observations by their running mean and deviation.")
    shared: bool = Field(False, description="Let actor and critic share the body.")

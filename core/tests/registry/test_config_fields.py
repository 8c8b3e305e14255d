"""A config model as a table: type, default, bounds and description of every field, nested ones too."""

from __future__ import annotations

from typing import Literal

from agents_core.options import ConfigModel, PositiveSchedule
from agents_core.registry.config_fields import ConfigField, config_fields, open_sections
from agents_core.schedules import Schedule
from pydantic import ConfigDict, Field


class Inner(ConfigModel):
    width: int = Field(64, ge=1, le=512, description="Units.")


class Example(ConfigModel):
    path: str = Field(min_length=1, description="Where.")
    rate: PositiveSchedule = Field(Schedule(3e-4), description="Step size.")
    limit: float | None = Field(None, gt=0, description="Largest norm.")
    mode: Literal["fast", "slow"] = Field("fast", description="How.")
    sizes: list[int] = Field(default_factory=lambda: [1, 2], max_length=4, description="Sizes.")
    inner: Inner = Field(Inner(width=32), description="The network.")
    extra: Inner | None = Field(None, description="Another one.")
    silent: bool = False


def rows() -> dict[str, ConfigField]:
    return {field.name: field for field in config_fields(Example)}


def test_a_required_field_has_no_default() -> None:
    assert rows()["path"] == ConfigField("path", "text", None, True, "length >= 1", "Where.")


def test_a_schedule_shows_as_the_number_that_people_write() -> None:
    assert rows()["rate"] == ConfigField("rate", "number | schedule", "0.0003", False, "> 0", "Step size.")


def test_alternatives_literals_and_lists_are_readable() -> None:
    assert rows()["limit"] == ConfigField("limit", "number | null", "null", False, "> 0", "Largest norm.")
    assert rows()["mode"].type == '"fast" | "slow"'
    assert rows()["sizes"] == ConfigField("sizes", "list of integer", "[1, 2]", False, "length <= 4", "Sizes.")


def test_nested_sections_show_their_fields_below_them_with_the_section_s_defaults() -> None:
    names = [field.name for field in config_fields(Example)]
    assert names[names.index("inner") + 1] == "inner.width"
    assert rows()["inner"].type == "section"
    assert rows()["inner"].default is None
    assert rows()["inner.width"] == ConfigField("inner.width", "integer", "32", False, ">= 1, <= 512", "Units.")
    assert rows()["extra"].default == "null"
    assert rows()["extra.width"].default == "64"


def test_a_field_without_description_has_none() -> None:
    assert rows()["silent"].description is None


def test_a_model_that_drops_keys_is_open_and_a_nested_one_may_take_them() -> None:
    class Dropping(ConfigModel):
        model_config = ConfigDict(extra="ignore")

    class Taking(ConfigModel):
        model_config = ConfigDict(extra="allow")

    class Outer(ConfigModel):
        dropping: Dropping = Dropping()
        taking: Taking = Taking()

    assert open_sections(Example) == []
    assert open_sections(Outer) == ["Dropping"]
    assert open_sections(Taking) == ["Taking"]

"""What plugin authors build their options from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from agents_core.config.data_files import data_files
from agents_core.options import (
    ConfigModel,
    DataPath,
    DemonstrationPath,
    NetworkConfig,
    NonNegativeSchedule,
    PositiveSchedule,
    RewardSignalConfig,
    UnitSchedule,
)
from agents_core.schedules import Schedule
from pydantic import Field, ValidationError


class Options(ConfigModel):
    rate: PositiveSchedule = Field(default=Schedule(3e-4), description="Above 0.")
    bonus: NonNegativeSchedule = Field(default=Schedule(0.0), description="At least 0.")
    share: UnitSchedule = Field(default=Schedule(0.5), description="From 0 to 1.")


class Files(ConfigModel):
    one: DataPath
    many: DataPath | list[DataPath] = Field(default=[], description="Some.")


def problem(model: type[ConfigModel], **values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        model.model_validate(values)
    (error,) = caught.value.errors()
    return f"{'.'.join(map(str, error['loc']))}: {error['msg']}"


@pytest.mark.parametrize(
    ("written", "schedule"),
    [
        (0.1, Schedule(0.1)),
        (1, Schedule(1.0)),
        ({"initial": 0.1}, Schedule(0.1, 0.0)),
        ({"schedule": "linear", "initial": 0.1, "final": 0.05, "floor": 0.02}, Schedule(0.1, 0.05, 0.02)),
        ({"schedule": "constant", "initial": 0.1}, Schedule(0.1)),
        ({"schedule": "constant", "initial": 0.1, "floor": 0.2}, Schedule(0.1, None, 0.2)),
        (Schedule(0.1, 0.2), Schedule(0.1, 0.2)),
    ],
)
def test_a_schedule_is_a_number_or_a_section_and_writes_itself_back(written: object, schedule: Schedule) -> None:
    options = Options.model_validate({"rate": written})
    assert options.rate == schedule
    assert Options.model_validate(options.model_dump(mode="json")) == options


def test_a_plain_number_is_written_as_one() -> None:
    assert Options().model_dump(mode="json") == {"rate": 3e-4, "bonus": 0.0, "share": 0.5}


@pytest.mark.parametrize(
    ("key", "written", "message"),
    [
        ("rate", 0, "rate: Value error, must be greater than 0"),
        ("rate", {"initial": 0}, "rate: Value error, `initial` must be greater than 0, found 0"),
        ("rate", {"initial": 1, "final": -1}, "rate: Value error, `final` must be at least 0, found -1"),
        ("bonus", -0.1, "bonus: Value error, must be at least 0"),
        ("share", 1.5, "share: Value error, must be at most 1"),
        ("share", {"initial": 1, "floor": 2}, "share: Value error, `floor` must be at most 1, found 2"),
        (
            "share",
            {"schedule": "constant", "initial": 1, "final": 1},
            "share: Value error, a constant schedule has no ",
        ),
        ("share", {"initial": 1, "slope": 1}, "share.slope: Extra inputs are not permitted"),
        ("share", {"final": 1}, "share.initial: Field required"),
        ("share", True, "share: Value error, expected a number or a section"),
        ("share", float("nan"), "share: Input should be a finite number"),
        ("share", float("inf"), "share: Input should be a finite number"),
    ],
)
def test_a_schedule_outside_its_bounds_is_refused(key: str, written: object, message: str) -> None:
    assert problem(Options, **{key: written}).startswith(message)


def test_a_positive_schedule_may_fall_to_zero_at_the_end() -> None:
    assert Options.model_validate({"rate": {"initial": 1e-3, "final": 0}}).rate.value(10, 10) == 0


def test_the_schema_of_a_schedule_knows_its_bounds() -> None:
    schema = Options.model_json_schema()["properties"]["rate"]
    for value, is_valid in ((0.1, True), ({"initial": 0.1}, True), (0, False), ({"initial": 1, "x": 1}, False)):
        assert jsonschema.Draft202012Validator(schema).is_valid(value) is is_valid


def test_paths_start_at_the_folder_of_the_experiment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    context = {"directory": tmp_path}
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    files = Files.model_validate({"one": "a/../b.demo", "many": ["c", tmp_path / "d", "~/e"]}, context=context)
    assert files.one == tmp_path / "b.demo"
    assert files.many == [tmp_path / "c", tmp_path / "d", tmp_path / "home" / "e"]
    monkeypatch.chdir(tmp_path)
    assert Files.model_validate({"one": "b.demo"}).one == tmp_path / "b.demo"
    assert Files.model_validate(files.model_dump(mode="json")) == files


def test_a_source_in_the_store_of_a_format_is_no_path(tmp_path: Path) -> None:
    class Expert(ConfigModel):
        demo_path: DemonstrationPath | list[DemonstrationPath]

    written = ["minari:D4RL/door/human-v2", "expert.h5"]
    expert = Expert.model_validate({"demo_path": written}, context={"directory": tmp_path})
    assert expert.demo_path == [Path(written[0]), tmp_path / written[1]]
    assert [file for _, file in data_files(expert)] == [tmp_path / written[1]]


def test_options_refuse_unknown_keys_and_do_not_change() -> None:
    assert problem(NetworkConfig, hidden_unit=1).startswith("hidden_unit: Extra inputs")
    with pytest.raises(ValidationError):
        NetworkConfig().hidden_units = 3


@pytest.mark.parametrize(("key", "value"), [("strength", -1), ("gamma", 1.1), ("gamma", -0.1), ("gamma", float("nan"))])
def test_reward_signals_have_bounds(key: str, value: float) -> None:
    assert problem(RewardSignalConfig, **{key: value}).startswith(key)

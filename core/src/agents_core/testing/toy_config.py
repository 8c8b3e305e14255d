"""Config model of the toy environments."""

from __future__ import annotations

from typing import Literal, get_args

from pydantic import Field, model_validator

from agents_core.options import ConfigModel

Failure = Literal[
    "raises",
    "raises_in_reset",
    "raises_in_close",
    "exits",
    "killed",
    "hangs",
    "hangs_in_close",
    "nan_observation",
    "nan_reward",
    "wrong_shape",
]
OneStepName = Literal["constant_reward", "observation_reward", "action_reward", "observation_action_reward"]
ToyName = Literal[
    "simple1d",
    "visual_simple1d",
    "two_cameras",
    "nearest_entity",
    "goal_line",
    "remembered_cue",
    "masked_branches",
    "masked_hybrid",
    OneStepName,
    "delayed_reward",
    "time_limit",
    "ragged",
    Failure,
]
_WITHOUT_OPTIONS = ("masked_branches", "masked_hybrid", "two_cameras", "nearest_entity", "goal_line")


class ToyConfig(ConfigModel):
    """`environment: {type: toy, id: …}`."""

    id: ToyName = Field("simple1d", description="Which toy, probe, or way to fail.")
    agents: int = Field(1, ge=1, le=1_000_000, description="Agents of each behavior in one environment.")
    action: Literal["discrete", "continuous"] = Field(
        "discrete", description="Kind of action of `simple1d`, `visual_simple1d`, `remembered_cue` and the probes."
    )
    side: int = Field(36, ge=4, le=1024, description="`visual_simple1d` only: length of the image's sides.")
    behaviors: tuple[str, ...] = Field(
        ("Ragged",), min_length=1, description="`ragged` only: names of its behaviors, such as `Ragged?team=1`."
    )
    late_after: int = Field(0, ge=0, description="`ragged` only: steps before the last of several behaviors shows up.")
    groups: bool = Field(False, description="`ragged` only: whether agents share groups and group rewards.")
    image: bool = Field(False, description="`ragged` only: whether there is an image observation too.")
    at_step: int = Field(1, ge=1, description="Failing toys only: the step that fails.")
    failing_env: int = Field(0, ge=0, description="Failing toys only: number of the environment that fails.")

    @model_validator(mode="after")
    def _refuse_what_has_no_effect(self) -> ToyConfig:
        # By value: a resolved config names every field.
        fields = type(self).model_fields
        useless = {name for name in fields if getattr(self, name) != fields[name].default} - {"id", "agents"}
        if self.id == "ragged":
            useless -= {"behaviors", "late_after", "groups", "image"}
        elif self.id in get_args(Failure):
            useless -= {"at_step", "failing_env"}
        elif self.id not in _WITHOUT_OPTIONS:
            useless -= {"action", "side"} if self.id == "visual_simple1d" else {"action"}
        if useless:
            raise ValueError(f"{', '.join(sorted(useless))} has no effect on '{self.id}'; remove it")
        if self.late_after and len(self.behaviors) == 1:
            raise ValueError("late_after needs a second behavior in `behaviors`")
        return self

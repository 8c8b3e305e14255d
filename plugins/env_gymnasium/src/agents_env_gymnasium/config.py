"""The `environment` section with `type: gymnasium`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from agents_core.options import ConfigModel
from pydantic import ConfigDict, Field, StringConstraints, model_validator

ImageLayout = Literal["channels_last", "channels_first", "vector"]
Target = Annotated[str, StringConstraints(pattern=r"^[^:\s]+:[A-Za-z_][\w.]*$")]
"""`module:attribute`; the module may be a dotted name or a `.py` file relative to the experiment file."""
ImportTarget = Annotated[str, StringConstraints(pattern=r"^[^:\s]+(:[A-Za-z_][\w.]*)?$")]
"""`module` or `module:function`."""
WrapperTarget = Annotated[str, StringConstraints(pattern=r"^([^:\s]+:)?[A-Za-z_][\w.]*$")]
"""`module:Class`, or the name of a class in `gymnasium.wrappers`."""


class WrapperConfig(ConfigModel):
    """One wrapper with its arguments; every key but `type` goes to the wrapper."""

    model_config = ConfigDict(extra="allow")

    type: WrapperTarget = Field(description="`module:Class`, or the name of a class in `gymnasium.wrappers`.")

    @property
    def kwargs(self) -> dict[str, Any]:
        """Keyword arguments of the wrapper, apart from the environment."""
        return dict(self.model_extra or {})


class GymnasiumConfig(ConfigModel):
    """What to make, and how to see it."""

    id: str | None = Field(
        None,
        min_length=1,
        description="Registered id such as `CartPole-v1`; `module:Id-v0` imports the module that registers it first.",
    )
    entry_point: Target | None = Field(
        None, description="`module:callable` that makes the environment; instead of `id`."
    )
    imports: tuple[ImportTarget, ...] = Field(
        (), description="Modules to import, or `module:function` to call, before the environment is made."
    )
    kwargs: dict[str, Any] = Field({}, description="Keyword arguments of the environment's constructor.")
    wrappers: tuple[WrapperTarget | WrapperConfig, ...] = Field(
        (),
        description="Wrappers from the inside out: a name in `gymnasium.wrappers`, `module:Class`, "
        "or `{type: ..., <arguments>}`.",
    )
    stats: tuple[str, ...] = Field(
        (), description="Keys of scalars in `info`, logged as `env/<key>`; `a.b` reads `info['a']['b']`."
    )
    max_episode_steps: int | None = Field(
        None, ge=1, description="Truncate episodes after this many steps; null = as registered."
    )
    vectorization: Literal["auto", "sync", "own"] = Field(
        "auto",
        description="`sync`: single environments stepped in turn. `own`: the environment's own vector entry point. "
        "`auto`: its own where it has one and at least 16 environments without wrappers are wanted.",
    )
    image_layout: ImageLayout | dict[str, ImageLayout] | None = Field(
        None,
        description="Layout of image observations, for all or by observation name; `vector` = not an image. "
        "null = uint8 observations with three axes are images whose layout is detected.",
    )

    @model_validator(mode="after")
    def _has_one_source(self) -> GymnasiumConfig:
        if (self.id is None) == (self.entry_point is None):
            found = "neither" if self.id is None else "both"
            raise ValueError(f"needs either `id` or `entry_point`, found {found}")
        return self

    @model_validator(mode="after")
    def _wraps_single_environments(self) -> GymnasiumConfig:
        if self.vectorization == "own" and self.wrappers:
            raise ValueError(
                "`wrappers` wrap single environments: remove them, or set `vectorization: sync` instead of `own`"
            )
        return self

    @property
    def name(self) -> str:
        """What messages call the environment."""
        return self.id or self.entry_point or ""

"""The toy environments keep to the contract of environments."""

from __future__ import annotations

from agents_core.testing import EnvironmentConformance

PLUGINS = ["agents_core.testing.plugin"]


class TestSimple1D(EnvironmentConformance):
    component = "toy"
    plugins = PLUGINS
    config = {"id": "simple1d", "agents": 3}  # noqa: RUF012


class TestImages(EnvironmentConformance):
    component = "toy"
    plugins = PLUGINS
    config = {"id": "visual_simple1d", "action": "continuous", "side": 12}  # noqa: RUF012


class TestMasks(EnvironmentConformance):
    component = "toy"
    plugins = PLUGINS
    config = {"id": "masked_hybrid", "agents": 2}  # noqa: RUF012


class TestAgentsThatComeAndGo(EnvironmentConformance):
    component = "toy"
    plugins = PLUGINS
    config = {  # noqa: RUF012
        "id": "ragged",
        "agents": 6,
        "behaviors": ["Ragged", "Ragged?team=1"],
        "late_after": 3,
        "groups": True,
    }

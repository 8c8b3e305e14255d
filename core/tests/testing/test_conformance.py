"""The kit itself: what is checked of every component, the guard against silent overrides, no need of pytest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from agents_core.registry import load_registry
from agents_core.testing import ConformanceError, RewardSignalConformance, overrides
from agents_core.testing.conformance.checks import run_checks
from agents_core.testing.conformance.component import ComponentConformance
from agents_core.testing.conformance.readme import check_readme
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks

CONFIG = """
from typing import Annotated, Any
from agents_core.options import ConfigModel, RewardSignalConfig
from pydantic import ConfigDict, Field, PlainSerializer, WithJsonSchema
"""
HOOKS = reward_signal_hooks("novelty", "agents_x")
README = "\n```yaml\nreward_signals:\n  novelty: {strength: 0.1}\n```\n"


def common_failures(
    site: Path, *, hooks: str = HOOKS, readme: str = README, config: str = "", signal: str = "", **options: object
) -> set[str]:
    """The checks that are made of every component and that fail for a signal with these parts."""
    files = {**SIGNAL_FILES, **({"config.py": CONFIG + config} if config else {})}
    files |= {"signal.py": signal} if signal else {}
    install_plugin(site, "agents-x", hooks, files=files, **options)  # type: ignore[arg-type]
    metadata = next(site.glob("*.dist-info")) / "METADATA"
    metadata.write_text(metadata.read_text().replace("A README that nobody parses.", readme))

    class Checked(ComponentConformance):
        kind = "reward-signal"
        component = "novelty"

    return {outcome.check for outcome in run_checks(Checked) if outcome.status == "failed"}


def test_a_plugin_in_order_passes(site: Path) -> None:
    assert common_failures(site) == set()


@pytest.mark.parametrize(
    ("parts", "check"),
    [
        ({"hooks": "import numpy\n" + HOOKS}, "test_importing_hooks_and_options_is_light"),
        ({"requires": ["agents-core>=0.1"]}, "test_the_requirement_on_core_is_bounded"),
        ({"requires": []}, "test_the_requirement_on_core_is_bounded"),
        ({"readme": "No block."}, "test_the_readme_shows_a_config_that_is_valid"),
        ({"readme": README.replace("strength", "strenght")}, "test_the_readme_shows_a_config_that_is_valid"),
        (
            {"config": "class Config(RewardSignalConfig):\n    x: int = 1"},
            "test_options_are_described",
        ),
        (
            {"config": "class Config(RewardSignalConfig):\n    model_config = ConfigDict(extra='ignore')"},
            "test_unknown_options_are_refused",
        ),
        (
            {
                "config": "class Config(RewardSignalConfig):\n"
                "    x: Annotated[int, PlainSerializer(lambda x: f'{x} cm'), WithJsonSchema({'type': 'string'})] = (\n"
                "        Field(1, description='Size.'))"
            },
            "test_options_survive_an_experiment_file",
        ),
        (
            {
                "config": "class Config(RewardSignalConfig):\n"
                "    x: Annotated[int, WithJsonSchema({'type': 'string'})] = Field(1, description='Size.')"
            },
            "test_options_have_a_json_schema",
        ),
    ],
)
def test_what_is_checked_of_every_component(site: Path, parts: dict[str, object], check: str) -> None:
    found = common_failures(site, **parts)  # type: ignore[arg-type]
    spawned = {"test_a_spawned_process_computes_the_same"} if "survive" in check else set()
    assert found - spawned == {check}


def test_names_must_lead_somewhere(site: Path) -> None:
    found = common_failures(site, signal="raise ImportError('a library is missing')\nclass Signal: ...\n")
    assert found == {"test_names_in_the_spec_lead_somewhere", "test_a_spawned_process_computes_the_same"}


class Replaces(RewardSignalConformance):
    component = "extrinsic"

    def test_rewards_are_finite(self) -> None:
        """It says nothing of why."""


class Explains(RewardSignalConformance):
    component = "extrinsic"

    @overrides("rewards come from outside")
    def test_rewards_are_finite(self) -> None:
        """It says why."""


class Removes(RewardSignalConformance):
    component = "extrinsic"
    test_rewards_are_finite = None  # type: ignore[assignment]


def test_a_check_is_replaced_with_a_reason_only() -> None:
    Explains().test_replaced_checks_have_a_reason()
    with pytest.raises(ConformanceError, match=r"found:    Replaces\.test_rewards_are_finite"):
        Replaces().test_replaced_checks_have_a_reason()
    with pytest.raises(ConformanceError, match=r"found:    Removes\.test_rewards_are_finite"):
        Removes().test_replaced_checks_have_a_reason()
    with pytest.raises(ValueError, match="say why"):
        overrides(" ")


def test_a_class_must_name_its_component() -> None:
    class Nameless(RewardSignalConformance):
        pass

    with pytest.raises(TypeError, match='set `component = "NAME"`'):
        Nameless().test_unknown_options_are_refused()


def test_every_check_says_how_to_mend_a_failure() -> None:
    import agents_core.testing as kit

    for name in kit.__all__:
        cls = getattr(kit, name)
        if name.endswith("Conformance"):
            for check in cls.names():
                text = getattr(cls, check).__doc__
                assert "Mend: " in text, check


def test_the_package_is_light_to_import() -> None:
    script = "import sys, agents_core.testing; print([m for m in ('torch', 'numpy', 'pytest') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_kit_needs_no_pytest() -> None:
    script = (
        "import sys; sys.modules['pytest'] = None\n"
        "from agents_core.testing.conformance.checks import run_checks\n"
        "from agents_core.testing import RewardSignalConformance\n"
        "class T(RewardSignalConformance):\n    component = 'extrinsic'\n"
        "outcomes = list(run_checks(T, without=['test_a_spawned_process_computes_the_same']))\n"
        "print({o.status for o in outcomes})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "failed" not in done.stdout
    assert "passed" in done.stdout


def test_a_readme_block_of_another_place_does_not_count() -> None:
    registry = load_registry()
    component = registry.find("reward-signal", "extrinsic")
    with pytest.raises(ConformanceError, match="1 YAML blocks, none with it"):
        check_readme("```yaml\nextrinsic: {strength: 1.0}\n```", component, registry, Path())
    check_readme("```yaml\nreward_signals: {extrinsic: {strength: 1.0}}\n```", component, registry, Path())

"""`requires:` of an experiment is judged by what is installed and whether it loaded."""

from __future__ import annotations

from pathlib import Path

import agents_core
import pytest
from agents_core.registry import RequirementError, load_registry
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks


@pytest.fixture(autouse=True)
def novelty(site: Path) -> None:
    install_plugin(site, "agents-x", reward_signal_hooks("novelty", "agents_x"), version="0.3", files=SIGNAL_FILES)
    install_plugin(site, "agents-bad", "1 / 0", version="1.0")


@pytest.mark.parametrize(
    "requirement",
    [
        "agents-x",
        "agents-x>=0.3",
        "Agents_X~=0.3",
        f"agents-core=={agents_core.__version__}",
        "gone; python_version<'3'",
    ],
)
def test_what_is_met_passes(requirement: str) -> None:
    load_registry().check_requirements([requirement])


@pytest.mark.parametrize(
    ("requirement", "message"),
    [
        ("agents-rnd>=0.3", r"agents-rnd is not installed\. Install it with: pip install 'agents-rnd>=0\.3'"),
        ("agents-x<2,>=0.4", r"agents-x>=0\.4,<2 is needed, but 0\.3 is installed\. Change it with: pip install -U"),
        ("agents-core>=7", rf"agents-core>=7 is needed, but {agents_core.__version__} is installed"),
        ("agents-x => 1", r"'agents-x => 1' is no requirement \(.*\); write it like 'agents-ppo>=0\.1'"),
        ("agents-bad", r"agents-bad 1\.0 is installed, but its plugin 'bad' is broken: ZeroDivisionError"),
    ],
)
def test_what_is_not_met_says_what_to_do(requirement: str, message: str) -> None:
    with pytest.raises(RequirementError, match=message):
        load_registry().check_requirements([requirement])


def test_a_blocked_plugin_does_not_meet_a_requirement() -> None:
    with pytest.raises(RequirementError, match=r"its plugin 'x' is blocked: --without agents-x"):
        load_registry(without=["agents-x"]).check_requirements(["agents-x"])


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(RequirementError, match=r"agents-one is not installed.*; agents-two is not installed"):
        load_registry().check_requirements(["agents-one", "agents-x", "agents-two"])

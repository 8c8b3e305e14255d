"""What the user does not want is not loaded; what everything stands on cannot be taken away."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from agents_core.errors import UserError
from agents_core.registry import BlockedNameError, BrokenPluginError, Registry, load_registry
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks


@pytest.fixture(autouse=True)
def novelty(site: Path) -> None:
    hooks = reward_signal_hooks("novelty", "agents_reward_new")
    install_plugin(site, "agents-reward-new", hooks, plugin="reward-new", files=SIGNAL_FILES)


def status_of(registry: Registry, distribution: str = "agents-reward-new") -> tuple[str, str | None]:
    (record,) = [record for record in registry.records if record.distribution == distribution]
    return record.status, record.reason


@pytest.mark.parametrize("name", ["reward-new", "Reward_New", "agents-reward-new", "agents.reward.new"])
def test_a_plugin_is_blocked_by_its_name_or_its_distribution_before_it_is_imported(name: str) -> None:
    registry = load_registry(without=[name])
    assert status_of(registry) == ("blocked", f"--without {name}")
    assert "agents_reward_new.plugin" not in sys.modules


def test_a_plugin_is_blocked_by_the_name_of_its_component() -> None:
    registry = load_registry(without=["novelty"])
    assert status_of(registry) == ("blocked", "--without novelty")
    assert "novelty" not in [component.name for component in registry.components()]


def test_a_plugin_that_is_blocked_by_its_component_watches_no_run(site: Path) -> None:
    hooks = reward_signal_hooks("loud", "agents_loud") + "@hookimpl\ndef agents_run_started():\n    1 / 0\n"
    install_plugin(site, "agents-watching", hooks, package="agents_loud", files=SIGNAL_FILES)
    load_registry(without=["loud"]).run_started(Path("run"), {})


def test_two_names_for_one_plugin_are_both_matched() -> None:
    registry = load_registry(without=["reward-new", "agents-reward-new"])
    assert status_of(registry)[0] == "blocked"


def test_a_name_of_a_plugin_does_not_block_another_one_with_such_a_component(site: Path) -> None:
    install_plugin(site, "agents-other", reward_signal_hooks("reward-new", "agents_other"), files=SIGNAL_FILES)
    registry = load_registry(without=["reward-new"])
    assert status_of(registry)[0] == "blocked"
    assert status_of(registry, "agents-other")[0] == "ok"


def test_a_broken_plugin_can_be_blocked(site: Path) -> None:
    install_plugin(site, "agents-bad", "1 / 0")
    assert status_of(load_registry(without=["bad"]), "agents-bad")[0] == "blocked"


def test_disabling_by_environment_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS_DISABLE_PLUGINS", "not-installed-here, reward-new")
    assert status_of(load_registry()) == ("blocked", "AGENTS_DISABLE_PLUGINS names reward-new")


def test_loading_only_some_by_environment_variable(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(site, "agents-other", reward_signal_hooks("other", "agents_other"), files=SIGNAL_FILES)
    monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "agents-other")
    registry = load_registry()
    assert status_of(registry) == ("blocked", "not named in AGENTS_LOAD_PLUGINS")
    assert status_of(registry, "agents-other") == ("ok", None)


def test_an_empty_list_to_load_leaves_core_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "")
    registry = load_registry()
    assert {record.name for record in registry.records if record.status == "ok"} == {"core"}


def test_blocking_also_binds_what_is_to_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "reward-new")
    assert status_of(load_registry(without=["reward-new"]))[0] == "blocked"


def test_an_unknown_name_is_an_error_with_the_nearest() -> None:
    with pytest.raises(BlockedNameError, match=r"--without reward-nwe: .* Did you mean 'reward-new'\?") as caught:
        load_registry(without=["reward-nwe"])
    assert isinstance(caught.value, UserError)
    with pytest.raises(
        BlockedNameError, match=r"no plugin, distribution or component .* Installed: .*agents-reward-new"
    ):
        load_registry(without=["zzzzzz"])


@pytest.mark.parametrize("name", ["core", "agents-core", "Agents_Core"])
def test_core_refuses_to_be_blocked(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BlockedNameError, match=f"--without {name}: '{name}' is essential and cannot be blocked"):
        load_registry(without=[name])
    monkeypatch.setenv("AGENTS_DISABLE_PLUGINS", name)
    with pytest.raises(BlockedNameError, match="AGENTS_DISABLE_PLUGINS names"):
        load_registry()


@pytest.mark.parametrize("name", ["console", "extrinsic", "inline"])
def test_components_of_core_refuse_to_be_blocked(name: str) -> None:
    with pytest.raises(BlockedNameError, match=f"'{name}' is built into agents-core and cannot be blocked"):
        load_registry(without=[name])


def test_using_what_is_blocked_says_that_it_is_blocked() -> None:
    registry = load_registry(without=["reward-new"])
    with pytest.raises(
        BrokenPluginError,
        match=r"reward signal 'new' cannot be used: plugin 'reward-new' of agents-reward-new 0\.3 "
        r"\(agents_reward_new\.plugin\) is blocked: --without reward-new\. Take the block away to use it\.",
    ):
        registry.find("reward-signal", "new")

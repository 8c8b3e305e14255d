"""A name means one component, or an error that says what is the matter and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.errors import UserError
from agents_core.registry import (
    AmbiguousComponentError,
    BrokenPluginError,
    PluginRecord,
    Registry,
    UnknownComponentError,
    load_registry,
)
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks


def install_signal(site: Path, distribution: str, name: str, plugin: str | None = None) -> None:
    hooks = reward_signal_hooks(name, distribution.replace("-", "_"))
    install_plugin(site, distribution, hooks, plugin=plugin, files=SIGNAL_FILES)


def record_of(registry: Registry, distribution: str) -> PluginRecord:
    (record,) = [record for record in registry.records if record.distribution == distribution]
    return record


@pytest.mark.parametrize("name", ["novelty", "agents-x:novelty", "Agents_X:novelty", "x:novelty"])
def test_a_component_is_found_by_its_plain_or_qualified_name(site: Path, name: str) -> None:
    install_signal(site, "agents-x", "novelty")
    assert load_registry().find("reward-signal", name).distribution == "agents-x"


def test_a_misspelt_name_gets_the_nearest_with_its_distribution(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    with pytest.raises(
        UnknownComponentError,
        match=r"no installed plugin provides reward signal 'novlety'\. Did you mean 'novelty' \(agents-x\)\? "
        r"Installed reward signals: .*extrinsic.*novelty",
    ) as caught:
        load_registry().find("reward-signal", "novlety")
    assert isinstance(caught.value, UserError)
    assert caught.value.exit_code == 2


def test_case_never_decides_but_is_suggested() -> None:
    with pytest.raises(UnknownComponentError, match=r"'Extrinsic'\. Did you mean 'extrinsic' \(agents-core\)\?"):
        load_registry().find("reward-signal", "Extrinsic")


def test_a_first_party_name_that_is_not_installed_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTS_LOAD_PLUGINS", "")
    registry = load_registry()
    with pytest.raises(UnknownComponentError, match=r"'onnx'\. Install it with: pip install agents-export-onnx\."):
        registry.find("exporter", "onnx")
    with pytest.raises(
        UnknownComponentError, match=r"Did you mean 'onnx'\? Install it with: pip install agents-export"
    ):
        registry.find("exporter", "onxn")
    with pytest.raises(UnknownComponentError, match="Install it with: pip install agents-export-onnx"):
        registry.find_any("onnx")
    with pytest.raises(UnknownComponentError, match="Install it with: pip install agents-export-onnx"):
        registry.find_any("agents-export-onnx")


def test_a_name_of_another_kind_says_of_which() -> None:
    with pytest.raises(UnknownComponentError, match="'inline' is a worker pool"):
        load_registry().find("trainer", "inline")


def test_an_unknown_name_mentions_plugins_that_did_not_load(site: Path) -> None:
    install_plugin(site, "agents-bad", "1 / 0")
    with pytest.raises(
        UnknownComponentError, match=r"Not loaded: .*agents-bad 0\.3 \(broken\); see `agents plugins list`"
    ):
        load_registry().find("reward-signal", "zzz")


@pytest.mark.parametrize(
    ("distribution", "name"), [("agents-reward-odd", "odd"), ("odd", "odd"), ("agents-odd", "odd")]
)
def test_a_name_that_a_broken_plugin_seems_to_offer_blames_it(site: Path, distribution: str, name: str) -> None:
    install_plugin(site, distribution, "import missing_dependency")
    with pytest.raises(
        BrokenPluginError,
        match=rf"reward signal 'odd' cannot be used: plugin '.*' of {distribution} 0\.3 .* is broken: "
        rf"ModuleNotFoundError: No module named 'missing_dependency'\. Repair it \(pip install -U {distribution}\), "
        rf"remove it \(pip uninstall {distribution}\) or block it \(--without {distribution}\)",
    ) as caught:
        load_registry().find("reward-signal", name)
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_what_a_broken_plugin_had_offered_blames_it_too(site: Path) -> None:
    hooks = reward_signal_hooks("novelty", "agents_x") + "@hookimpl\ndef agents_trainers():\n    return 1\n"
    install_plugin(site, "agents-x", hooks, files=SIGNAL_FILES)
    with pytest.raises(BrokenPluginError, match="'novelty' cannot be used: plugin 'x' of agents-x"):
        load_registry().find("reward-signal", "novelty")
    with pytest.raises(BrokenPluginError, match="'novelty' cannot be used: plugin 'x' of agents-x"):
        load_registry().find_any("novelty")


def test_an_incompatible_plugin_is_blamed_with_what_to_install(site: Path) -> None:
    install_plugin(site, "agents-reward-odd", "", requires=["agents-core>=7"])
    with pytest.raises(BrokenPluginError, match=r"is incompatible: .*pip install -U 'agents-core>=7'"):
        load_registry().find("reward-signal", "odd")


def test_two_plugins_with_one_component_are_refused_only_when_it_is_used(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    install_signal(site, "agents-x-fork", "novelty")
    install_signal(site, "agents-y", "other")
    registry = load_registry()
    assert registry.find("reward-signal", "other").distribution == "agents-y"
    assert [record_of(registry, name).status for name in ("agents-x", "agents-x-fork", "agents-y")] == [
        "duplicate",
        "duplicate",
        "ok",
    ]
    assert record_of(registry, "agents-x").reason == "reward signal 'novelty' also belongs to agents-x-fork 0.3"
    with pytest.raises(AmbiguousComponentError) as caught:
        registry.find("reward-signal", "novelty")
    assert str(caught.value) == (
        "reward signal 'novelty' is offered by agents-x 0.3 and agents-x-fork 0.3. Name the one you mean, "
        "'agents-x:novelty' or 'agents-x-fork:novelty', or block the other: "
        "--without agents-x or --without agents-x-fork"
    )
    assert registry.find("reward-signal", "agents-x-fork:novelty").distribution == "agents-x-fork"


def test_the_ways_out_of_a_duplicate_lead_out(site: Path) -> None:
    install_signal(site, "agents-x", "novelty", plugin="same")
    install_signal(site, "agents-x-fork", "novelty", plugin="same")
    other = "also belongs to agents-x-fork 0.3"
    reason = f"plugin name 'same' {other}; reward signal 'novelty' {other}"
    assert record_of(load_registry(), "agents-x").reason == reason
    registry = load_registry(without=["agents-x-fork"])
    assert registry.find("reward-signal", "novelty").distribution == "agents-x"
    assert record_of(registry, "agents-x").status == "ok"


def test_one_distribution_with_two_plugins_of_one_component_is_told_apart_by_plugin(site: Path) -> None:
    entry_points = "[agents.plugins]\none = agents_x.plugin\ntwo = agents_x.second\n"
    hooks = reward_signal_hooks("novelty", "agents_x")
    second = "from agents_core.plugin import *\n" + hooks
    install_plugin(site, "agents-x", hooks, entry_points=entry_points, files={**SIGNAL_FILES, "second.py": second})
    registry = load_registry()
    with pytest.raises(
        AmbiguousComponentError, match=r"'one:novelty' or 'two:novelty'.*--without one or --without two"
    ):
        registry.find("reward-signal", "novelty")
    assert registry.find("reward-signal", "two:novelty").plugin == "two"


def test_two_distributions_over_one_module_are_duplicates_and_one_can_be_blocked(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    hooks = reward_signal_hooks("novelty", "agents_x")
    install_plugin(site, "agents-x-fork", hooks, package="agents_x", files=SIGNAL_FILES)
    registry = load_registry()
    assert record_of(registry, "agents-x").status == record_of(registry, "agents-x-fork").status == "duplicate"
    assert load_registry(without=["agents-x"]).find("reward-signal", "novelty").distribution == "agents-x-fork"


def test_a_name_of_core_stays_core_s_and_the_stranger_s_is_reached_by_its_qualified_name(site: Path) -> None:
    install_signal(site, "agents-x", "extrinsic")
    registry = load_registry()
    assert registry.find("reward-signal", "extrinsic").distribution == "agents-core"
    assert registry.find("reward-signal", "agents-x:extrinsic").distribution == "agents-x"
    assert record_of(registry, "agents-core").status == "ok"
    assert record_of(registry, "agents-x").status == "duplicate"


def test_a_broken_plugin_makes_no_duplicate_of_a_good_one(site: Path) -> None:
    install_signal(site, "agents-x", "novelty", plugin="same")
    hooks = reward_signal_hooks("novelty", "agents_z") + "1 / 0\n"
    install_plugin(site, "agents-z", hooks, plugin="same", files=SIGNAL_FILES)
    assert record_of(load_registry(), "agents-x").status == "ok"


def test_any_name_means_a_component_or_all_of_a_plugin(site: Path) -> None:
    install_signal(site, "agents-x", "novelty", plugin="things")
    registry = load_registry()
    for name in ("novelty", "things", "agents-x", "agents-x:novelty"):
        assert [component.name for component in registry.find_any(name)] == ["novelty"]
    with pytest.raises(UnknownComponentError, match=r"plugin 'things' of agents-x 0\.3 offers no trainer"):
        registry.find_any("things", kinds=["trainer"])
    with pytest.raises(UnknownComponentError, match=r"named 'noveltyy'\. Did you mean 'novelty'\?"):
        registry.find_any("noveltyy")


def test_any_name_that_two_plugins_offer_is_ambiguous(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    install_signal(site, "agents-y", "novelty")
    with pytest.raises(AmbiguousComponentError, match=r"agents-x 0\.3 and agents-y 0\.3"):
        load_registry().find_any("novelty")


def test_records_are_found_by_every_name_even_of_broken_plugins(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    install_signal(site, "agents-y", "novelty")
    install_plugin(site, "agents-bad", "1 / 0")
    registry = load_registry()
    assert [record.distribution for record in registry.find_records("novelty")] == ["agents-x", "agents-y"]
    assert [record.distribution for record in registry.find_records("agents-bad")] == ["agents-bad"]
    with pytest.raises(UnknownComponentError, match="named 'nothing-like-it'"):
        registry.find_records("nothing-like-it")


def test_loading_a_component_imports_its_config_and_factory(site: Path) -> None:
    install_signal(site, "agents-x", "novelty")
    component = load_registry().find("reward-signal", "novelty")
    assert component.load_config().__name__ == "Config"
    assert getattr(component.load_factory(), "__name__", None) == "Signal"


@pytest.mark.parametrize(
    ("module", "source", "reason"),
    [
        ("config.py", "import missing_dependency\nclass Config(missing_dependency.Base): ...", "ModuleNotFoundError: "),
        ("config.py", "import sys\nConfig = sys.exit('no')", r"it called sys\.exit\('no'\)"),
        ("config.py", "Config = dict", "is no subclass of agents_core.options.ConfigModel"),
        ("signal.py", "Signal = 1 / 0", "ZeroDivisionError: division by zero"),
        ("signal.py", "Signal = 5", "cannot be called"),
        ("signal.py", "globals()", "AttributeError: "),
    ],
)
def test_a_component_that_fails_when_used_names_plugin_distribution_and_way_out(
    site: Path, module: str, source: str, reason: str
) -> None:
    hooks = reward_signal_hooks("novelty", "agents_x")
    install_plugin(site, "agents-x", hooks, files={**SIGNAL_FILES, module: source})
    component = load_registry().find("reward-signal", "novelty")
    load = component.load_config if module == "config.py" else component.load_factory
    what = "config 'agents_x.config:Config'" if module == "config.py" else "factory 'agents_x.signal:Signal'"
    with pytest.raises(
        BrokenPluginError,
        match=rf"reward signal 'novelty': {what} of plugin 'x' of agents-x 0\.3 \(agents_x\.plugin\) .*{reason}.*"
        rf"--without agents-x",
    ):
        load()

"""Each plugin gets a status of its own, with the reason, and a bad one leaves nothing behind."""

from __future__ import annotations

import importlib.metadata
import sys
from pathlib import Path

import agents_core
import pytest
from agents_core.registry import PluginRecord, load_registry
from agents_core.testing.installed import SIGNAL_FILES, install_plugin, reward_signal_hooks


def record_of(distribution: str) -> PluginRecord:
    (record,) = [record for record in load_registry().records if record.distribution == distribution]
    return record


def test_a_good_plugin_is_ok_and_offers_its_component_with_its_origin(site: Path) -> None:
    hooks = reward_signal_hooks("novelty", "agents_novelty")
    install_plugin(site, "agents-novelty", hooks, version="0.3", files=SIGNAL_FILES)
    record = record_of("agents-novelty")
    assert (record.status, record.reason) == ("ok", None)
    assert (record.name, record.version, record.entry_point) == ("novelty", "0.3", "agents_novelty.plugin")
    assert record.hooks == ("agents_reward_signals",)
    (component,) = record.components
    assert (component.kind, component.name, component.plugin) == ("reward-signal", "novelty", "novelty")
    assert (component.distribution, component.version) == ("agents-novelty", "0.3")
    assert component.qualified_name == "agents-novelty:novelty"
    assert record.metadata is not None
    assert record.metadata.licence == "MIT"
    assert record.metadata.urls == ("Source, https://example.org/source",)


@pytest.mark.parametrize(
    ("hooks", "reason"),
    [
        ("import no_such_module_at_all", "ModuleNotFoundError: No module named 'no_such_module_at_all'"),
        ("def broken(:", "SyntaxError: "),
        ("import sys; sys.exit(3)", "it called sys.exit(3)"),
        ("def recurse():\n    recurse()\nrecurse()", "RecursionError"),
        (
            "class Mute(Exception):\n    def __str__(self):\n        raise ValueError\nraise Mute",
            "Mute",
        ),
        (
            "@hookimpl\ndef agents_trainers(config):\n    return []",
            "agents_trainers(config)",
        ),
        (
            "@hookimpl\ndef agents_trainer():\n    return []",
            "unknown hook 'agents_trainer'. Did you mean 'agents_trainers'?",
        ),
        (
            "@hookimpl\ndef agents_trainers():\n    pass",
            "agents_trainers returned None, expected a list of TrainerSpec",
        ),
        (
            "@hookimpl\ndef agents_trainers():\n    return {'ppo': 1}",
            "agents_trainers returned a value of type dict, expected a list of TrainerSpec",
        ),
        (
            "@hookimpl\ndef agents_trainers():\n    return ['ppo']",
            "agents_trainers returned a value of type str at [0], expected TrainerSpec",
        ),
        (
            "@hookimpl\ndef agents_trainers():\n    raise RuntimeError('no\\nlicence')",
            "RuntimeError: no licence",
        ),
        (
            "@hookimpl\ndef agents_trainers():\n    import sys\n    sys.exit('bye')",
            "it called sys.exit('bye')",
        ),
        (
            "@hookimpl(wrapper=True)\ndef agents_trainers():\n    return (yield)",
            "hook agents_trainers is a wrapper",
        ),
        (
            reward_signal_hooks("x", "p").replace("agents_reward_signals", "agents_trainers"),
            "agents_trainers returned a value of type RewardSignalSpec at [0], expected TrainerSpec",
        ),
        (
            reward_signal_hooks("My.Signal", "p"),
            "agents_reward_signals offers the name 'My.Signal'; names are lower-case",
        ),
        (reward_signal_hooks("x", "p", summary=" "), "agents_reward_signals offers 'x' without a line for lists"),
        (reward_signal_hooks("x", "p", factory="p.signal.Signal"), "expected 'module:attribute'"),
        (reward_signal_hooks("x", "agents_x_gone"), "there is no module 'agents_x_gone"),
        (
            "@hookimpl\ndef agents_commands():\n    return [CommandSpec(name='tune', help='', command='a:b')]",
            "agents_commands offers 'tune' without a line for lists",
        ),
    ],
)
def test_a_plugin_that_breaks_the_rules_is_broken_and_says_which(site: Path, hooks: str, reason: str) -> None:
    install_plugin(site, "agents-bad", hooks)
    record = record_of("agents-bad")
    assert record.status == "broken"
    assert record.reason is not None
    assert reason in record.reason
    assert "\n" not in record.complaint
    assert record.components == ()
    assert record.complaint.startswith("plugin 'bad' of agents-bad 0.3 (agents_bad.plugin) is broken: ")


def test_an_interrupt_while_a_plugin_loads_is_not_swallowed(site: Path) -> None:
    install_plugin(site, "agents-slow", "raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        load_registry()


def test_a_missing_factory_is_found_without_importing_it(site: Path) -> None:
    hooks = reward_signal_hooks("x", "agents_bad", factory="agents_bad.signal:Gone")
    install_plugin(site, "agents-bad", hooks, files=SIGNAL_FILES)
    record = record_of("agents-bad")
    assert record.status == "broken"
    assert record.reason is not None
    assert "factory 'agents_bad.signal:Gone' of 'x': module 'agents_bad.signal' has no 'Gone'" in record.reason
    assert "agents_bad.signal" not in sys.modules


def test_a_config_that_is_no_model_is_found_without_importing_it(site: Path) -> None:
    files = {**SIGNAL_FILES, "config.py": "class Config:\n    strength = 1.0\n"}
    install_plugin(site, "agents-bad", reward_signal_hooks("x", "agents_bad"), files=files)
    record = record_of("agents-bad")
    assert record.status == "broken"
    assert record.reason is not None
    assert "'agents_bad.config:Config' is no subclass of agents_core.options.ConfigModel" in record.reason
    assert "agents_bad.config" not in sys.modules


def test_a_broken_plugin_drops_everything_it_offered_and_leaves_no_hook(site: Path) -> None:
    hooks = (
        reward_signal_hooks("novelty", "agents_bad")
        + "@hookimpl\ndef agents_trainers():\n    return 7\n"
        + "@hookimpl\ndef agents_run_finished(status):\n    raise AssertionError('still registered')\n"
    )
    install_plugin(site, "agents-bad", hooks, files=SIGNAL_FILES)
    registry = load_registry()
    assert "novelty" not in [component.name for component in registry.components()]
    registry.run_finished(Path("run"), "finished")


def test_a_wrong_signature_leaves_no_other_hook_of_the_plugin_registered(site: Path) -> None:
    # `agents_run_finished` comes before the bad hook in the alphabet, so a half-done registration would have it.
    hooks = (
        "@hookimpl\ndef agents_run_finished(status):\n    raise AssertionError('still registered')\n"
        "@hookimpl\ndef agents_trainers(config):\n    return []\n"
    )
    install_plugin(site, "agents-bad", hooks)
    registry = load_registry()
    registry.run_finished(Path("run"), "finished")
    assert [record.status for record in registry.records if record.distribution == "agents-bad"] == ["broken"]


@pytest.mark.parametrize(
    ("hooks", "reason"),
    [
        ("VERSION = 1", "it has no function marked with @hookimpl"),
        ("def agents_trainers():\n    return []", "agents_trainers is not marked with @hookimpl"),
    ],
)
def test_a_module_without_hooks_is_empty(site: Path, hooks: str, reason: str) -> None:
    install_plugin(site, "agents-hollow", hooks)
    record = record_of("agents-hollow")
    assert record.status == "empty"
    assert record.reason is not None
    assert reason in record.reason


def test_an_optional_hook_of_a_newer_core_is_accepted(site: Path) -> None:
    install_plugin(site, "agents-new", "@hookimpl(optionalhook=True)\ndef agents_dreams():\n    return []")
    assert record_of("agents-new").status == "ok"


def test_a_plugin_for_a_newer_core_is_never_imported(site: Path) -> None:
    install_plugin(site, "agents-new", "raise AssertionError('imported')", requires=["agents-core<3,>=2"])
    record = record_of("agents-new")
    assert record.status == "incompatible"
    assert record.reason == (
        f"agents-new 0.3 needs agents-core>=2,<3, but {agents_core.__version__} is installed. "
        "Upgrade with: pip install -U 'agents-core>=2,<3'"
    )
    assert "agents_new.plugin" not in sys.modules


def test_a_plugin_for_an_older_core_says_to_look_for_a_newer_one(site: Path) -> None:
    install_plugin(site, "agents-old", "raise AssertionError('imported')", requires=["Agents_Core <0.0.5"])
    record = record_of("agents-old")
    assert record.status == "incompatible"
    assert record.reason == (
        f"agents-old 0.3 supports agents-core<0.0.5, but {agents_core.__version__} is installed. "
        "Look for a newer agents-old, or: pip install 'agents-core<0.0.5'"
    )


@pytest.mark.parametrize(
    "requires",
    [
        ["agents-core>=9; extra == 'future'"],
        ["agents-core>=9; python_version < '3'"],
        ["agents-core-extras>=9", "numpy>=99"],
        ["agents-core"],
        [],
    ],
)
def test_requirements_that_do_not_bear_on_the_core_here_are_not_judged(site: Path, requires: list[str]) -> None:
    install_plugin(
        site, "agents-fine", reward_signal_hooks("fine", "agents_fine"), requires=requires, files=SIGNAL_FILES
    )
    assert record_of("agents-fine").status == "ok"


def test_a_development_version_of_the_core_satisfies_its_range(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agents_core, "__version__", "0.9.1.dev3")
    hooks = reward_signal_hooks("fine", "agents_fine")
    install_plugin(site, "agents-fine", hooks, requires=["agents-core>=0.9,<0.10"], files=SIGNAL_FILES)
    assert record_of("agents-fine").status == "ok"


def test_a_requirement_that_cannot_be_read_breaks_only_its_plugin(site: Path) -> None:
    install_plugin(site, "agents-bad", "", requires=["agents-core=>1"])
    record = record_of("agents-bad")
    assert record.status == "broken"
    assert record.reason is not None
    assert record.reason.startswith("its requirement on agents-core cannot be read: InvalidRequirement: ")


def test_metadata_that_cannot_be_read_breaks_only_its_plugin(site: Path) -> None:
    install_plugin(site, "agents-bad", "", metadata=b"Name: agents-bad\nVersion: \xff\xfe\n")
    (record,) = [record for record in load_registry().records if record.name == "bad"]
    assert record.status == "broken"
    assert record.reason is not None
    assert record.reason.startswith("its METADATA cannot be read: UnicodeDecodeError: ")


def test_a_plugin_without_metadata_still_loads(site: Path) -> None:
    install_plugin(site, "agents-bare", reward_signal_hooks("bare", "agents_bare"), metadata=b"", files=SIGNAL_FILES)
    component = load_registry().find("reward-signal", "bare")
    assert component.distribution is None
    assert component.qualified_name == "bare:bare"


def test_an_entry_point_that_names_nothing_importable_is_broken(site: Path) -> None:
    install_plugin(site, "agents-bad", "", entry_points="[agents.plugins]\nbad = agents_bad.hooks\n")
    assert record_of("agents-bad").reason == "ModuleNotFoundError: No module named 'agents_bad.hooks'"
    install_plugin(site, "agents-worse", "", entry_points="[agents.plugins]\nworse = not a module!\n")
    assert record_of("agents-worse").status == "broken"


@pytest.mark.parametrize("value", ["NOTHING", "LIST"])
def test_an_entry_point_that_is_no_module_is_broken(site: Path, value: str) -> None:
    entry_points = f"[agents.plugins]\nbad = agents_bad.plugin:{value}\n"
    install_plugin(site, "agents-bad", "NOTHING = None\nLIST = []", entry_points=entry_points)
    install_plugin(site, "agents-fine", reward_signal_hooks("fine", "agents_fine"), files=SIGNAL_FILES)
    assert record_of("agents-bad").status == "broken"
    assert record_of("agents-fine").status == "ok"


def test_an_unreadable_list_of_entry_points_hides_no_other_plugin(site: Path) -> None:
    install_plugin(site, "agents-bad", "", entry_points="[agents.plugins]\nthis line has no equals sign\n")
    install_plugin(site, "unrelated", "", entry_points="[console_scripts]\nthis one neither\n")
    install_plugin(site, "agents-fine", reward_signal_hooks("fine", "agents_fine"), files=SIGNAL_FILES)
    registry = load_registry()
    assert registry.find("reward-signal", "fine").distribution == "agents-fine"
    record = record_of("agents-bad")
    assert record.status == "broken"
    assert record.reason is not None
    assert record.reason.startswith("its entry_points.txt cannot be read: ")
    assert "unrelated" not in [record.distribution for record in registry.records]


def test_what_a_plugin_prints_while_it_loads_stays_out_of_stdout(
    site: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install_plugin(
        site, "agents-chatty", "print('hello from a plugin')\n@hookimpl\ndef agents_trainers():\n    return []"
    )
    load_registry()
    assert capsys.readouterr().out == ""


def test_core_is_there_whatever_its_own_metadata_says(site: Path) -> None:
    # A stale egg-link or an old editable install: entry points that no longer exist, and another version.
    install_plugin(
        site, "agents-core", "", version="0.0.1", package="stale_core",
        entry_points="[agents.plugins]\ncore = agents_core.no_longer_here\nmore = stale_core.gone\n",
    )  # fmt: skip
    registry = load_registry()
    assert registry.find("reward-signal", "extrinsic").distribution == "agents-core"
    assert [record.status for record in registry.records if record.distribution == "agents-core"] == ["ok"]
    assert registry.records[0].version == agents_core.__version__


def test_core_is_there_without_any_metadata(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install_plugin(site, "agents-lost", "")
    monkeypatch.setattr(
        sys, "path", [entry for entry in sys.path if "site-packages" not in entry and entry != str(site)]
    )
    assert not list(importlib.metadata.entry_points(group="agents.plugins"))
    registry = load_registry()
    assert [record.name for record in registry.records] == ["core"]
    assert registry.find("worker-pool", "inline").plugin == "core"


def test_metadata_is_parsed_once_for_each_distribution(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_points = "[agents.plugins]\none = agents_two.plugin\ntwo = agents_two.second\n"
    second = "from agents_core.plugin import hookimpl\n@hookimpl\ndef agents_exporters():\n    return []\n"
    hooks = "@hookimpl\ndef agents_trainers():\n    return []"
    install_plugin(site, "agents-two", hooks, entry_points=entry_points, files={"second.py": second})
    reads: list[str] = []
    original = importlib.metadata.PathDistribution.read_text

    def counting(self: importlib.metadata.PathDistribution, filename: str) -> str | None:
        text = original(self, filename)
        if text and filename == "METADATA" and "Name: agents-two" in text:
            reads.append(filename)
        return text

    monkeypatch.setattr(importlib.metadata.PathDistribution, "read_text", counting)
    registry = load_registry()
    assert {"one", "two"} <= {record.name for record in registry.records if record.status == "ok"}
    assert len(reads) == 1

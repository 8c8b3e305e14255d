"""`agents plugins check` finds each fault that shows without running the plugin, and passes what is in order."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from agents_core.registry import load_registry
from agents_core.registry.conformance import check_plugin
from agents_core.testing.installed import HOOKS_HEADER, SIGNAL_FILES, install_plugin, reward_signal_hooks

CONFIG = "from agents_core.options import ConfigModel, RewardSignalConfig\nfrom pydantic import ConfigDict\n"


def problems(site: Path, hooks: str | None = None, **options: object) -> dict[str, str]:
    """The checks that fail for a reward signal whose hooks or modules are replaced."""
    files = {**SIGNAL_FILES, **options.pop("files", {})}  # type: ignore[dict-item]
    hooks = hooks or reward_signal_hooks("novelty", "agents_x")
    install_plugin(site, "agents-x", hooks, files=files, **options)  # type: ignore[arg-type]
    (record,) = load_registry().find_records("agents-x")
    return {check.name: check.problem for check in check_plugin(record) if check.problem is not None}


def test_a_plugin_in_order_has_no_problem(site: Path) -> None:
    assert problems(site) == {}


def test_core_s_own_components_have_none_but_what_needs_its_own_tests() -> None:
    core = load_registry().records[0]
    names = {check.name for check in check_plugin(core) if check.problem is None}
    assert "hooks and configs import nothing heavy" in names
    assert "reward signal 'extrinsic': config" in names


def test_a_plugin_that_is_not_ok_fails_with_its_reason(site: Path) -> None:
    assert problems(site, "1 / 0") == {"loads": "broken: ZeroDivisionError: division by zero"}


@pytest.mark.parametrize(
    ("requires", "problem"),
    [
        ([], "its metadata has no requirement on agents-core"),
        (["agents-core"], "'agents-core' lets in every later agents-core"),
        (["agents-core>=0.1"], "'agents-core>=0.1' lets in every later agents-core"),
    ],
)
def test_the_requirement_on_core_must_end_somewhere(site: Path, requires: list[str], problem: str) -> None:
    assert problem in problems(site, requires=requires)["requirement on agents-core has an upper bound"]


@pytest.mark.parametrize("bound", ["<1", "~=0.1", "==0.1.*", "<=0.9"])
def test_every_way_to_bound_it_passes(site: Path, bound: str) -> None:
    assert problems(site, requires=[f"agents-core{bound}"]) == {}


def test_a_heavy_import_of_the_hooks_or_the_config_is_found(site: Path) -> None:
    name = "hooks and configs import nothing heavy"
    hooks = "import numpy\n" + reward_signal_hooks("novelty", "agents_x")
    assert problems(site, hooks)[name] == "agents_x.plugin and agents_x.config import numpy"
    assert name in problems(
        site, files={"config.py": "import numpy\n" + CONFIG + "class Config(RewardSignalConfig): ..."}
    )


def test_a_heavy_import_of_the_factory_is_none_of_its_business(site: Path) -> None:
    assert problems(site, files={"signal.py": "import numpy\nclass Signal: ..."}) == {}


def test_a_plugin_that_only_imports_in_this_process_fails_in_a_fresh_one(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "only_here", sys)
    hooks = "import only_here\n" + reward_signal_hooks("novelty", "agents_x")
    found = problems(site, hooks)["hooks and configs import nothing heavy"]
    assert "in a fresh interpreter fails: ModuleNotFoundError: No module named 'only_here'" in found


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("class Config(ConfigModel):\n    x: int = 1", "no description: x"),
        (
            "class Config(ConfigModel):\n    model_config = ConfigDict(extra='ignore')",
            "Config lets unknown keys through; set extra='forbid'",
        ),
        ("class Config(ConfigModel):\n    x: undefined_name", "NameError: "),
        ("Config = dict", "is no subclass of agents_core.options.ConfigModel"),
    ],
)
def test_a_config_must_be_strict_and_described(site: Path, source: str, problem: str) -> None:
    assert problem in problems(site, files={"config.py": CONFIG + source})["reward signal 'novelty': config"]


@pytest.mark.parametrize("source", ["Signal = 5", "raise ImportError('a library is missing')\nSignal = 1"])
def test_a_factory_must_be_importable_and_callable(site: Path, source: str) -> None:
    assert (
        "factory 'agents_x.signal:Signal'"
        in problems(site, files={"signal.py": source})["reward signal 'novelty': factory"]
    )


def trainer_hooks(fields: Mapping[str, str]) -> str:
    hooks = reward_signal_hooks("novelty", "agents_x", **fields)
    return hooks.replace("agents_reward_signals", "agents_trainers").replace("RewardSignalSpec", "TrainerSpec")


def test_a_quickstart_must_be_a_file_of_its_package(site: Path) -> None:
    fields = {"quickstart": "agents_x:quickstart.yaml"}
    assert problems(site, trainer_hooks(fields)) == {
        "trainer 'novelty': quickstart": "there is no file agents_x:quickstart.yaml"
    }
    assert problems(site, trainer_hooks(fields), files={"quickstart.yaml": "seed: 1\n"}) == {}


@pytest.mark.parametrize(("source", "is_wrong"), [("recognizes = 5", True), ("def recognizes(path): ...", False)])
def test_what_recognizes_files_must_be_callable(site: Path, source: str, is_wrong: bool) -> None:
    hooks = reward_signal_hooks("novelty", "agents_x", recognizes="agents_x.files:recognizes")
    hooks = hooks.replace("agents_reward_signals", "agents_demonstration_formats")
    hooks = hooks.replace("RewardSignalSpec", "DemonstrationFormatSpec")
    found = problems(site, hooks, files={"files.py": source})
    assert list(found) == (["demonstration format 'novelty': recognizes"] if is_wrong else [])
    assert all("recognizes 'agents_x.files:recognizes'" in problem for problem in found.values())


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import click\n@click.command()\ndef tune(): ...", {}),
        ("def tune(): ...", {"command 'tune'": "'agents_x.cli:tune' is no click command"}),
    ],
)
def test_a_command_must_be_a_click_command(site: Path, source: str, expected: dict[str, str]) -> None:
    spec = "CommandSpec(name='tune', help='Tune.', command='agents_x.cli:tune')"
    hooks = f"@hookimpl\ndef agents_commands():\n    return [{spec}]\n"
    assert problems(site, hooks, files={"cli.py": source}) == expected


def test_a_local_plugin_is_checked_without_metadata(site: Path) -> None:
    folder = site.parent / "experiment"
    folder.mkdir()
    hooks = reward_signal_hooks(
        "novelty", "local_checked", config="local_checked:Config", factory="local_checked:Signal"
    )
    source = HOOKS_HEADER + CONFIG + "class Config(RewardSignalConfig): ...\nclass Signal: ...\n" + hooks
    (folder / "local_checked.py").write_text(source)
    registry = load_registry()
    registry.add_local("local_checked.py", folder)
    (record,) = registry.find_records("local_checked")
    assert [check for check in check_plugin(record) if check.problem is not None] == []

"""`plugins: [my_signal.py]`: a plugin without packaging, or an error that says why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from agents_core.errors import UserError
from agents_core.registry import AmbiguousComponentError, LocalPluginError, Registry, load_registry
from agents_core.testing.installed import HOOKS_HEADER, SIGNAL_FILES, install_plugin, reward_signal_hooks


@pytest.fixture
def folder(site: Path) -> Path:
    """Where the experiment file lies; it is not on `sys.path`."""
    folder = site.parent / "experiment"
    folder.mkdir()
    return folder


def write_signal(folder: Path, file: str, name: str = "novelty", value: int = 1) -> None:
    module = Path(file).stem
    hooks = reward_signal_hooks(name, module, config=f"{module}:Config", factory=f"{module}:Signal")
    source = f"from agents_core.options import RewardSignalConfig\nclass Config(RewardSignalConfig): ...\n"  # noqa: F541
    source += f"class Signal:\n    value = {value}\n"
    (folder / file).parent.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(HOOKS_HEADER + source + hooks)


def value_of(registry: Registry, name: str = "novelty") -> object:
    return getattr(registry.find("reward-signal", name).load_factory(), "value", None)


@pytest.mark.parametrize("target", ["local_one.py", "sub/local_two.py", "./local_three.py"])
def test_a_file_is_found_beside_the_experiment_and_its_lazy_strings_resolve(folder: Path, target: str) -> None:
    write_signal(folder, target)
    registry = load_registry()
    registry.add_local(target, folder)
    component = registry.find("reward-signal", "novelty")
    assert value_of(registry) == 1
    assert component.load_config().__name__ == "Config"
    assert component.distribution is None
    assert component.qualified_name == f"{Path(target).stem}:novelty"
    (record,) = [record for record in registry.records if record.distribution is None]
    assert record.entry_point == str((folder / target).resolve())


def test_an_absolute_path_works(folder: Path) -> None:
    write_signal(folder, "local_absolute.py")
    registry = load_registry()
    registry.add_local(str(folder / "local_absolute.py"), Path("/"))
    assert value_of(registry) == 1


def test_a_module_name_works_beside_the_experiment_and_installed(folder: Path, site: Path) -> None:
    write_signal(folder, "local_package/hooks.py", "first")
    hooks = (folder / "local_package/hooks.py").read_text().replace("'hooks:", "'local_package.hooks:")
    (folder / "local_package/hooks.py").write_text(hooks)
    write_signal(site, "installed_module.py", "second", value=2)
    registry = load_registry()
    registry.add_local("local_package.hooks", folder)
    registry.add_local("installed_module", folder)
    assert (value_of(registry, "first"), value_of(registry, "second")) == (1, 2)


def test_naming_a_plugin_twice_or_one_that_is_installed_changes_nothing(folder: Path, site: Path) -> None:
    install_plugin(site, "agents-x", reward_signal_hooks("installed", "agents_x"), files=SIGNAL_FILES)
    write_signal(folder, "local_twice.py")
    registry = load_registry()
    for target in ("local_twice.py", "local_twice.py", "agents_x.plugin"):
        registry.add_local(target, folder)
    assert value_of(registry) == 1
    assert registry.find("reward-signal", "installed").distribution == "agents-x"
    assert [record.status for record in registry.records if record.name in ("local_twice", "x")] == ["ok", "ok"]


def test_a_later_registry_has_it_only_if_it_is_named_again(folder: Path) -> None:
    write_signal(folder, "local_again.py")
    load_registry().add_local("local_again.py", folder)
    registry = load_registry()
    assert "novelty" not in [component.name for component in registry.components()]
    registry.add_local("local_again.py", folder)
    assert value_of(registry) == 1


def test_files_of_one_name_from_two_experiments_each_mean_their_own(folder: Path) -> None:
    write_signal(folder / "a", "local_shared.py", value=1)
    write_signal(folder / "b", "local_shared.py", value=2)
    for directory, value in (("a", 1), ("b", 2), ("a", 1)):
        registry = load_registry()
        registry.add_local("local_shared.py", folder / directory)
        assert value_of(registry) == value


def test_a_worker_process_that_inherits_the_path_can_import_it(folder: Path) -> None:
    write_signal(folder, "local_worker.py")
    load_registry().add_local("local_worker.py", folder)
    script = f"import sys; sys.path = {sys.path!r}; import local_worker; print(local_worker.Signal.value)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "1"


def test_a_clash_with_an_installed_plugin_is_ambiguous_until_qualified(folder: Path, site: Path) -> None:
    install_plugin(site, "agents-x", reward_signal_hooks("novelty", "agents_x"), files=SIGNAL_FILES)
    write_signal(folder, "local_clash.py")
    registry = load_registry()
    registry.add_local("local_clash.py", folder)
    with pytest.raises(AmbiguousComponentError, match="'agents-x:novelty' or 'local_clash:novelty'"):
        registry.find("reward-signal", "novelty")
    assert value_of(registry, "local_clash:novelty") == 1


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ("gone.py", None, r"plugins: 'gone\.py' is not there \(looked for .*experiment/gone\.py\)"),
        (
            "gone_module",
            None,
            r"there is no module 'gone_module', neither installed nor in .*experiment; .*gone_module\.py",
        ),
        ("gone.package", None, r"there is no module 'gone\.package'"),
        ("my-signal.py", "", r"my-signal\.py cannot be imported; its name must be like my_signal\.py"),
        ("random.py", "", r"random\.py: the name 'random' belongs to .*random.*; rename the file"),
        ("sys.py", "", r"sys\.py: the name 'sys' belongs to built-in; rename the file"),
        ("local_raises.py", "x = 1 / 0", r"'local_raises\.py' \(.*\) is broken: ZeroDivisionError: division by zero"),
        ("local_exits.py", "import sys; sys.exit(4)", r"is broken: it called sys\.exit\(4\)"),
        ("local_syntax.py", "def f(:", r"is broken: SyntaxError: .*local_syntax\.py, line 1"),
        ("local_empty.py", "x = 1", r"is empty: it has no function marked with @hookimpl"),
        ("local_rubbish.py", HOOKS_HEADER + "@hookimpl\ndef agents_buffers(): ...", "agents_buffers returned None"),
    ],
)
def test_what_cannot_be_used_is_the_user_s_error_and_leaves_nothing(
    folder: Path, target: str, source: str | None, message: str
) -> None:
    if source is not None:
        (folder / target).write_text(source)
    registry = load_registry()
    before = registry.records
    with pytest.raises(LocalPluginError, match=message) as caught:
        registry.add_local(target, folder)
    assert isinstance(caught.value, UserError)
    assert registry.records == before
    assert Path(target).stem not in sys.modules or target in ("random.py", "sys.py")


def test_a_file_can_be_repaired_and_loaded(folder: Path) -> None:
    (folder / "local_fixed.py").write_text("1 / 0")
    registry = load_registry()
    with pytest.raises(LocalPluginError) as caught:
        registry.add_local("local_fixed.py", folder)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    write_signal(folder, "local_fixed.py")
    registry.add_local("local_fixed.py", folder)
    assert value_of(registry) == 1


def test_a_file_that_changed_is_imported_anew(folder: Path) -> None:
    for value in (1, 22):
        write_signal(folder, "local_edited.py", value=value)
        registry = load_registry()
        registry.add_local("local_edited.py", folder)
        assert value_of(registry) == value

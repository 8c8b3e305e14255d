"""Observer hooks reach every plugin with the arguments it asked for; an exception names its plugin."""

from __future__ import annotations

from pathlib import Path

import pytest
from agents_core.errors import AgentsError
from agents_core.registry import ObserverError, Registry, load_registry
from agents_core.testing.installed import install_plugin

WATCHER = """
    seen = []

    @hookimpl
    def agents_run_started(run_directory, config):
        seen.append(("started", run_directory, config))

    @hookimpl
    def agents_update_finished(behavior, step, stats):
        seen.append(("updated", behavior, step, stats))

    @hookimpl
    def agents_checkpoint_saved(path):
        seen.append(("saved", path))

    @hookimpl
    def agents_evaluation_finished(step, behavior):
        seen.append(("evaluated", behavior, step))

    @hookimpl
    def agents_run_finished(status):
        seen.append(("finished", status))
    """


def tell_everything(registry: Registry) -> None:
    registry.run_started(Path("results/a"), {"seed": 1})
    registry.update_finished("walker", 10, {"train/entropy": 0.5})
    registry.checkpoint_saved("walker", 20, Path("results/a/checkpoints"))
    registry.evaluation_finished("walker", 30, {"eval/mean_return": 1.0})
    registry.run_finished(Path("results/a"), "finished")


def test_every_event_reaches_a_plugin_that_takes_some_of_its_arguments(site: Path) -> None:
    install_plugin(site, "agents-watch", WATCHER)
    registry = load_registry()
    tell_everything(registry)
    import agents_watch.plugin  # type: ignore[import-not-found]

    assert agents_watch.plugin.seen == [
        ("started", Path("results/a"), {"seed": 1}),
        ("updated", "walker", 10, {"train/entropy": 0.5}),
        ("saved", Path("results/a/checkpoints")),
        ("evaluated", "walker", 30),
        ("finished", "finished"),
    ]


def test_a_plugin_that_only_watches_is_ok_and_a_blocked_one_sees_nothing(site: Path) -> None:
    install_plugin(site, "agents-watch", WATCHER)
    (record,) = [record for record in load_registry().records if record.name == "watch"]
    assert record.status == "ok"
    assert "agents_update_finished" in record.hooks
    tell_everything(load_registry(without=["watch"]))
    import agents_watch.plugin

    assert agents_watch.plugin.seen == []


@pytest.mark.parametrize(
    ("statement", "reason"), [("1 / 0", "ZeroDivisionError: division by zero"), ("raise SystemExit(0)", "sys.exit")]
)
def test_an_exception_names_plugin_distribution_and_hook(site: Path, statement: str, reason: str) -> None:
    install_plugin(site, "agents-watch", f"@hookimpl\ndef agents_run_started():\n    {statement}\n")
    with pytest.raises(
        ObserverError, match=r"plugin 'watch' of agents-watch 0\.3: hook agents_run_started failed"
    ) as caught:
        load_registry().run_started(Path("a"), {})
    assert reason in str(caught.value)
    assert "block it (--without agents-watch)" in str(caught.value)
    assert caught.value.exit_code == 1
    assert caught.value.__cause__ is not None
    assert isinstance(caught.value, AgentsError)


def test_an_error_that_the_plugin_blames_on_the_user_keeps_its_exit_code(site: Path) -> None:
    hooks = (
        "from agents_core.errors import UserError\n"
        "@hookimpl\ndef agents_run_started():\n    raise UserError('no API key in the environment')\n"
    )
    install_plugin(site, "agents-watch", hooks)
    with pytest.raises(ObserverError, match="UserError: no API key in the environment") as caught:
        load_registry().run_started(Path("a"), {})
    assert caught.value.exit_code == 2


def test_an_interrupt_in_an_observer_is_an_interrupt(site: Path) -> None:
    install_plugin(site, "agents-watch", "@hookimpl\ndef agents_run_started():\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        load_registry().run_started(Path("a"), {})


def test_plugins_are_told_in_the_order_of_their_names(site: Path) -> None:
    for name in ("b", "c", "a"):
        hooks = f"@hookimpl(trylast={name == 'c'})\ndef agents_run_started(config):\n    config.append('{name}')\n"
        install_plugin(site, f"agents-{name}", hooks)
    order: list[str] = []
    load_registry().run_started(Path("a"), order)  # type: ignore[arg-type]
    assert order == ["a", "b", "c"]


def test_hook_calls_are_traced_on_request(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install_plugin(site, "agents-watch", WATCHER)
    monkeypatch.setenv("AGENTS_TRACE_HOOKS", "1")
    registry = load_registry()
    registry.run_finished(Path("a"), "failed")
    traced = capsys.readouterr().err
    assert "hook agents_run_finished(status='failed') by plugin 'watch' of agents-watch 0.3 -> None" in traced
    assert "hook agents_worker_pools() by plugin 'core' of agents-core" in traced

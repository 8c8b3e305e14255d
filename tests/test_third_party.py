"""A plugin that somebody else wrote, installed from its wheel, works like one of the project's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file
from source_files import imported_names
from wheel_environment import ROOT, WheelEnvironment, build_wheels

EXAMPLES = [ROOT / "examples" / name for name in ("third_party_reward", "third_party_trainer")]

EXPERIMENT = """
seed: 1
environment: {type: gymnasium, id: CartPole-v1, num_envs: 4}
behaviors:
  "*":
    max_steps: 1024
    summary_freq: 512
    network: {hidden_units: 16, num_layers: 1}
    trainer: {type: ppo, buffer_size: 256, batch_size: 128}
    reward_signals:
      extrinsic: {}
      novelty: {strength: 0.1}
evaluation: {interval: 0}
stats: {jsonl: {}}
"""

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def with_examples(wheel_environment: WheelEnvironment, tmp_path_factory: pytest.TempPathFactory) -> WheelEnvironment:
    wheel_environment.install(*build_wheels(EXAMPLES, tmp_path_factory.mktemp("wheels")))
    return wheel_environment


def _trainer_arrays(run: Path, step: int) -> dict[str, Any]:
    (behavior,) = [path for path in (run / "checkpoints").iterdir() if path.is_dir()]
    return load_file(behavior / str(step) / "trainer.safetensors")


def _metrics(run: Path) -> list[dict[str, float]]:
    lines = (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["stats"] for line in lines]


def test_environment_holds_wheels_only(wheel_environment: WheelEnvironment) -> None:
    listed = json.loads(wheel_environment.run("agents", "plugins", "list", "--json").stdout)["plugins"]
    assert {plugin["distribution"] for plugin in listed} >= {"agents-core", "agents-ppo", "agents-env-gymnasium"}
    assert "agents-stats-tensorboard" not in {plugin["distribution"] for plugin in listed}
    place = wheel_environment.run("python", "-c", "import agents_core; print(agents_core.__file__)").stdout
    assert ROOT not in Path(place.strip()).parents


def test_examples_pass_their_own_tests(with_examples: WheelEnvironment) -> None:
    options = ["-p", "no:cacheprovider", "--import-mode=importlib", "--rootdir", str(EXAMPLES[0].parent)]
    folders = [example / "tests" for example in EXAMPLES]
    done = with_examples.run("python", "-m", "pytest", "-c", EXAMPLES[0] / "pyproject.toml", *options, *folders)
    assert all(f"{example.name}/tests/test_conformance.py" in done.stdout for example in EXAMPLES)


def test_example_uses_public_names_only() -> None:
    imported = [name for example in EXAMPLES for file in example.rglob("*.py") for name in imported_names(file)]
    assert any(name.startswith("agents_core.") for name in imported)
    assert [name for name in imported if name.startswith("agents_core.") and "._" in name] == []
    assert not any(
        name.startswith(("agents_core.cli", "agents_core.registry", "agents_core.training")) for name in imported
    )


def test_the_whole_example_trainer_fits_on_two_pages() -> None:
    lines = (EXAMPLES[1] / "src" / "agents_reinforce" / "trainer.py").read_text(encoding="utf-8").splitlines()
    assert len(lines) < 120


def test_installed_signal_shows_its_options_trains_resumes_and_is_missed(
    with_examples: WheelEnvironment, tmp_path: Path
) -> None:
    page = with_examples.run("agents", "plugins", "show", "novelty").stdout
    assert "agents-reward-novelty 0.1.0" in page
    assert all(option in page for option in ("strength", "gamma", "bin_width", "table_size", "0.25", "> 0"))
    assert with_examples.run("agents", "plugins", "check", "novelty")

    (tmp_path / "experiment.yaml").write_text(EXPERIMENT, encoding="utf-8")
    run = tmp_path / "results" / "run"
    with_examples.run("agents", "run", "experiment.yaml", "--run-id", "run", cwd=tmp_path)
    arrays = _trainer_arrays(run, 1024)
    assert arrays["critic/weights/value_head.weight"].shape == (2, 16), "a value head each"
    assert arrays["signals/novelty/counts"].sum() == 1024, "each transition once"
    metrics = _metrics(run)
    assert all(0 < stats["reward/novelty/raw"] <= 1 for stats in metrics)
    assert metrics[0]["reward/novelty/scaled"] == pytest.approx(0.1 * metrics[0]["reward/novelty/raw"])
    assert metrics[-1]["reward/novelty/raw"] < metrics[0]["reward/novelty/raw"]

    with_examples.run("agents", "resume", "run", "--max-steps", "1536", cwd=tmp_path)
    assert _trainer_arrays(run, 1536)["signals/novelty/counts"].sum() == 1536, "counting went on"

    with_examples.uninstall("agents-reward-novelty")
    done = with_examples.run("agents", "run", "experiment.yaml", "--run-id", "other", cwd=tmp_path, code=2)
    assert "experiment.yaml:12:7: behaviors.*.reward_signals.novelty: " in done.stderr
    assert "no installed plugin provides reward signal 'novelty'" in done.stderr
    assert "Traceback" not in done.stderr
    done = with_examples.run("agents", "resume", "run", "--max-steps", "2048", cwd=tmp_path, code=2)
    assert "no installed plugin provides reward signal 'novelty'" in done.stderr

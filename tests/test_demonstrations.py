"""From a trained policy to demonstrations in every format: `agents record` and `agents demo`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import agents_core
import numpy as np
import pytest
from agents_core.cli.main import main
from agents_core.demonstrations import episode_returns, load_demonstrations
from agents_core.testing.demonstrations import differing_columns
from click.testing import CliRunner, Result

EXPERIMENT: dict[str, Any] = {
    "plugins": ["agents_core.testing.plugin"],
    "environment": {"type": "toy", "id": "masked_hybrid", "agents": 2},
    "behaviors": {
        "*": {
            "max_steps": 512,
            "trainer": {"type": "ppo", "batch_size": 64, "buffer_size": 256},
            "network": {"hidden_units": 16, "memory": {"size": 8, "sequence_length": 8}},
        }
    },
    "evaluation": {"interval": 0},
    "stats": {"jsonl": {}},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the run `expert` was trained."""
    folder = tmp_path_factory.mktemp("demonstrations")
    agents_core.train(EXPERIMENT, results=folder / "results", run_id="expert")
    return folder


@pytest.fixture(autouse=True)
def _here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(folder / "minari"))


def agents(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def told(*arguments: str) -> Any:
    result = agents(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("suffix", [".h5", ".demo"])
def test_the_recorded_episodes_are_those_that_evaluate_measures(suffix: str) -> None:
    file = f"expert{suffix}"
    result = agents("record", "expert", "-o", file, "--episodes", "6")
    assert result.exit_code == 0, result.stderr
    measured = told("evaluate", "expert", "--episodes", "6")["behaviors"]["MaskedHybrid"]
    found = told("demo", "info", file)
    assert (found["episodes"], measured["episodes"]) == (6, 6)
    assert np.mean(found["returns"]) == pytest.approx(measured["mean_return"], rel=1e-6)
    assert np.mean(found["lengths"]) == pytest.approx(measured["mean_length"])
    assert found["records"] == found["transitions"] + (6 if suffix == ".demo" else 0)
    assert found["behavior"] == "MaskedHybrid"


def test_every_format_holds_the_same_columns() -> None:
    assert agents("record", "expert", "-o", "same.h5", "--episodes", "4").exit_code == 0
    first = load_demonstrations("same.h5")
    assert "action_mask" in first.episodes.columns
    for target in ("same.demo", "minari:mine/same-v0"):
        assert agents("demo", "convert", "same.h5", target).exit_code == 0
        assert differing_columns(first, load_demonstrations(target, spec=first.spec)) == []


def test_samples_differ_from_the_most_likely_actions() -> None:
    for options in ([], ["--stochastic"], ["--checkpoint", "last"]):
        file = f"{'-'.join(options) or 'likely'}.h5"
        assert agents("record", "expert", "-o", file, "--episodes", "4", *options).exit_code == 0
    likely = load_demonstrations("likely.h5")
    assert differing_columns(likely, load_demonstrations("--checkpoint-last.h5")) == []
    assert not np.array_equal(episode_returns(likely), episode_returns(load_demonstrations("--stochastic.h5")))


def test_a_recording_is_appended_or_replaces_but_never_unasked() -> None:
    assert agents("record", "expert", "-o", "kept.h5", "--episodes", "2").exit_code == 0
    refused = agents("record", "expert", "-o", "kept.h5", "--episodes", "4")
    assert (refused.exit_code, "it is there already" in refused.stderr) == (2, True)
    assert told("demo", "info", "kept.h5")["episodes"] == 2
    assert agents("record", "expert", "-o", "kept.h5", "--episodes", "4", "--append").exit_code == 0
    assert told("demo", "info", "kept.h5")["episodes"] == 6
    assert agents("record", "expert", "-o", "kept.h5", "--episodes", "4", "--force").exit_code == 0
    assert told("demo", "info", "kept.h5")["episodes"] == 4


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["expert", "-o", "expert.xyz"], "no installed plugin knows demonstrations that end in '.xyz'"),
        (["gone", "-o", "gone.h5"], "gone"),
        (["expert", "-o", "other.h5", "--behavior", "Other"], "expert has no behavior 'Other'; it has MaskedHybrid"),
        (["expert", "-o", "other.h5", "--checkpoint", "7"], "7"),
    ],
)
def test_what_cannot_be_recorded_leaves_no_file(arguments: list[str], reason: str) -> None:
    before = sorted(Path().iterdir())
    result = agents("record", *arguments)
    assert result.exit_code == 2
    assert reason in result.stderr
    assert sorted(Path().iterdir()) == before


def test_the_old_pairing_can_be_looked_at() -> None:
    assert agents("record", "expert", "-o", "paired.demo", "--episodes", "2").exit_code == 0
    found = told("demo", "info", "paired.demo", "--option", "pairing=ml-agents")
    assert found["pairing"] == "ml-agents"
    assert found["transitions"] == found["records"] - 1
    refused = agents("demo", "info", "paired.demo", "--option", "pairing=other")
    assert (refused.exit_code, "pairing: found 'other'" in refused.stderr) == (2, True)

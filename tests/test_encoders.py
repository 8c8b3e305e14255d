"""Encoders through the front door: a stranger's in use, and what is refused before anything is learned."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from agents_core.cli.main import main
from click.testing import CliRunner, Result

WORLD = """
import pathlib

import gymnasium
import numpy as np


class World(gymnasium.Env):
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, side=20, dtype="uint8", highest=255, true_side=None):
        self.true_side = true_side or side
        camera = gymnasium.spaces.Box(0, highest, (side, side, 3), np.dtype(dtype).type)
        self.observation_space = gymnasium.spaces.Dict(
            {"camera": camera, "state": gymnasium.spaces.Box(-1, 1, (4,), np.float32)}
        )
        self.time = 0

    def _see(self):
        camera = self.observation_space["camera"]
        image = np.full((self.true_side, self.true_side, 3), camera.high.max(), camera.dtype)
        return {"camera": image, "state": np.zeros(4, np.float32)}

    def reset(self, *, seed=None, options=None):
        self.time = 0
        return self._see(), {}

    def step(self, action):
        pathlib.Path("stepped").touch()
        self.time += 1
        return self._see(), float(action), self.time == 10, False, {}
"""
STRANGER = """
from agents_core.options import ConfigModel
from agents_core.plugin import EncoderSpec, hookimpl
from pydantic import Field


class StrangerConfig(ConfigModel):
    width: int = Field(default=6, ge=1, description="Width of the code.")
    says: int | None = Field(default=None, description="Width that is claimed.")


def make_stranger(context):
    import torch
    from torch import nn

    class Stranger(nn.Module):
        def __init__(self):
            super().__init__()
            self.output_size = context.config.says or context.config.width
            self.linear = nn.Linear(3, context.config.width)

        def forward(self, images):
            return torch.tanh(self.linear(images.float().mean(dim=(1, 2)) / 255))

    return Stranger()


@hookimpl
def agents_encoders():
    return [
        EncoderSpec(name="stranger", summary="Mean colour", config="stranger:StrangerConfig",
                    factory="stranger:make_stranger", observation_kinds=("image",))
    ]
"""
EXPERIMENT = """
plugins: [stranger.py]
environment: {{type: gymnasium, entry_point: "world:World", image_layout: {{camera: channels_last}}{environment}}}
behaviors:
  "*":
    max_steps: 200
    network: {{hidden_units: 16, encoders: {encoders}}}
    trainer: {{type: ppo, buffer_size: 64, batch_size: 32}}
evaluation: {{interval: 0}}
"""


@pytest.fixture
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the environment and the encoder, and nothing else."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "world.py").write_text(WORLD, encoding="utf-8")
    (tmp_path / "stranger.py").write_text(STRANGER, encoding="utf-8")
    return tmp_path


def run(workplace: Path, encoders: str, environment: str = "") -> Result:
    text = EXPERIMENT.format(encoders=encoders, environment=environment)
    (workplace / "experiment.yaml").write_text(text, encoding="utf-8")
    return CliRunner().invoke(main, ["run", "experiment.yaml", "--run-id", "one", "--quiet"])


def test_an_encoder_of_a_third_party_trains_is_saved_and_acts(workplace: Path) -> None:
    done = run(workplace, "{camera: {type: stranger, width: 7}}")
    assert done.exit_code == 0, done.output
    done = CliRunner().invoke(main, ["evaluate", "one", "--episodes", "2", "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)


@pytest.mark.parametrize(
    ("encoders", "environment", "words"),
    [
        (
            "{camera: {type: nature_cnn}}",
            "",
            ["'camera'", "(20, 20, 3)", "too small", "at least 36", "simple (from 20)"],
        ),
        ("{camra: {type: simple}}", "", ["no observation 'camra'", "'camera', 'state'", "did you mean 'camera'"]),
        ("{state: {type: simple}}", "", ["network.encoders.state", "'image'", "'vector'"]),
        ("{camera: {type: stranger, says: 9}}", "", ["'stranger'", "output_size 9", "float32[2, 6]"]),
        ("{camera: {type: strangr}}", "", ["strangr", "stranger"]),
        ("{camera: {type: stranger, widht: 3}}", "", ["widht", "width"]),
        ("{}", ", kwargs: {dtype: float32}", ["'camera'", "from 255 to 255", "[0, 1]", "scale: none"]),
    ],
)
def test_what_cannot_be_encoded_is_refused_in_one_message_before_the_first_step(
    workplace: Path, encoders: str, environment: str, words: list[str]
) -> None:
    done = run(workplace, encoders, environment)
    assert done.exit_code == 2, done.output
    assert "Traceback" not in done.output
    for word in words:
        assert word in done.stderr
    assert not (workplace / "stepped").exists()


def test_images_of_another_size_than_declared_fail_before_the_first_step(workplace: Path) -> None:
    done = run(workplace, "{}", ", kwargs: {true_side: 18}")
    assert done.exit_code == 3, done.output
    assert "Traceback" not in done.output
    for word in ["camera", "(20, 20, 3)", "(18, 18, 3)"]:
        assert word in done.stderr
    assert not (workplace / "stepped").exists()


def test_floats_from_0_to_1_and_unscaled_ones_are_taken(workplace: Path) -> None:
    done = run(workplace, "{}", ", kwargs: {dtype: float32, highest: 1}")
    assert done.exit_code == 0, done.output
    assert (workplace / "stepped").exists()

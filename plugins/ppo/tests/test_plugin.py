"""What the distribution offers is found and loads."""

from __future__ import annotations

from importlib.resources import files

import yaml
from agents_core.contracts.trainer import Trainer
from agents_core.registry import load_registry
from agents_ppo.config import PPOConfig


def test_the_trainer_is_registered() -> None:
    component = load_registry().find("trainer", "ppo")
    assert component.distribution == "agents-ppo"
    assert component.load_config() is PPOConfig
    assert issubclass(component.load_factory(), Trainer)


def test_the_quickstart_is_shipped_and_valid() -> None:
    package, file = load_registry().find("trainer", "ppo").spec.quickstart.split(":")
    section = yaml.safe_load(files(package).joinpath(file).read_text(encoding="utf-8"))["behaviors"]["*"]["trainer"]
    assert section.pop("type") == "ppo"
    PPOConfig.model_validate(section)

"""Every ready experiment loads, validates against the exported schema and says what score it reaches."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from agents_core.config import load_experiment
from agents_core.config.editor_schema import export
from agents_core.registry import Registry, load_registry

ROOT = Path(__file__).resolve().parent.parent
CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


@pytest.fixture(scope="module")
def registry() -> Registry:
    return load_registry()


@pytest.fixture(scope="module")
def schema() -> Any:
    """What `agents config schema` prints, with the toys that some files name under `plugins` as if installed."""
    registry = load_registry()
    registry.add_local("agents_core.testing.plugin", ROOT)
    problems: list[str] = []
    schema = export(registry.components(), problems)
    assert problems == []
    return schema


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_config_loads_and_survives_a_round_trip(config: Path, registry: Registry) -> None:
    experiment = load_experiment(config, registry)
    assert load_experiment(experiment.to_dict(), registry).to_dict() == experiment.to_dict()


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_config_validates_against_the_exported_schema(config: Path, schema: Any) -> None:
    document = yaml.safe_load(config.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator(schema).validate(document)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.stem)
def test_config_states_the_score_it_reaches(config: Path) -> None:
    comment = [line for line in config.read_text(encoding="utf-8").splitlines() if line.startswith("#")]
    assert any("Reaches" in line for line in comment)

"""What the distribution offers is found, loads and is described."""

from __future__ import annotations

import pytest
from agents_bc.config import BCConfig
from agents_core.registry import load_registry
from pydantic import ValidationError


def test_the_trainer_is_registered() -> None:
    component = load_registry().find("trainer", "bc")
    assert component.distribution == "agents-bc"
    assert component.spec.offline
    assert component.load_config() is BCConfig
    assert callable(component.load_factory())


def test_every_option_is_described() -> None:
    assert all(field.description for field in BCConfig.model_fields.values())


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batch_size", 0),
        ("learning_rate", 0),
        ("max_grad_norm", 0),
        ("validation_split", 1),
        ("validation_split", -0.1),
        ("patience", 0),
        ("initial_std", 0),
        ("loss", "l1"),
        ("demo", "x.h5"),
    ],
)
def test_values_out_of_bounds_and_unknown_keys_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        BCConfig(demo_path="x.h5", **{key: value})


@pytest.mark.parametrize("options", [{}, {"demo_path": "x.h5", "teacher": "Other"}])
def test_there_is_one_source_to_learn_from(options: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"either `demo_path` .* or `teacher`"):
        BCConfig(**options)

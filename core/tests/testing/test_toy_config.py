"""The `toy` environment as experiments see it."""

from __future__ import annotations

import subprocess
import sys
from typing import get_args

import pytest
from agents_core.contracts.environment import Environment
from agents_core.testing.plugin import agents_environments
from agents_core.testing.toy_config import ToyConfig, ToyName
from agents_core.testing.toy_factory import ToyMaker
from pydantic import ValidationError


def names(literal: object) -> list[str]:
    """All values of a Literal, nested ones included."""
    return [name for value in get_args(literal) for name in ([value] if isinstance(value, str) else names(value))]


@pytest.mark.parametrize("name", names(ToyName))
def test_every_toy_can_be_made_and_reset(name: str) -> None:
    toy = ToyMaker(ToyConfig(id=name, agents=2))(first_env=1, num_envs=1)
    assert isinstance(toy, Environment)
    assert len(toy.reset(seed=1).behaviors) == 1


def test_a_written_out_config_reads_the_same() -> None:
    config = ToyConfig(id="ragged", behaviors=("A", "B?team=1"), late_after=3)
    assert ToyConfig.model_validate(config.model_dump(mode="json")) == config
    assert ToyConfig.model_validate(ToyConfig(agents=4).model_dump(mode="json")) == ToyConfig(agents=4)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"id": "simple1d", "late_after": 2, "groups": True}, "groups, late_after has no effect on 'simple1d'"),
        ({"id": "ragged", "at_step": 2}, "at_step has no effect on 'ragged'"),
        ({"id": "raises", "action": "continuous"}, "action has no effect on 'raises'"),
        ({"id": "masked_hybrid", "action": "continuous"}, "action has no effect on 'masked_hybrid'"),
        ({"id": "nearest_entity", "action": "continuous"}, "action has no effect on 'nearest_entity'"),
        ({"id": "two_cameras", "side": 84}, "side has no effect on 'two_cameras'"),
        ({"id": "ragged", "late_after": 2}, "late_after needs a second behavior"),
    ],
)
def test_options_without_effect_are_refused(config: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        ToyConfig.model_validate(config)


def test_the_hook_module_offers_the_toy_and_imports_nothing_heavy() -> None:
    (spec,) = agents_environments()
    assert (spec.name, spec.id_field, spec.hosts_many) == ("toy", "id", False)
    script = (
        "import sys, agents_core.testing.plugin, agents_core.testing.toy_config, agents_core.environments.config\n"
        "print([name for name in ('torch', 'numpy', 'pytest') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

"""Options of PPO are bounded, described and consistent."""

from __future__ import annotations

import pytest
from agents_core.schedules import Schedule
from agents_ppo.config import PPOConfig
from pydantic import ValidationError


def test_every_option_is_described() -> None:
    assert all(field.description for field in PPOConfig.model_fields.values())


def test_a_batch_larger_than_the_buffer_is_refused() -> None:
    with pytest.raises(ValidationError, match=r"batch_size \(512\) must not be larger than buffer_size \(256\)"):
        PPOConfig(batch_size=512, buffer_size=256)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("batch_size", 0),
        ("num_epoch", 0),
        ("learning_rate", 0),
        ("beta", -0.1),
        ("epsilon", 0),
        ("lambd", 1.1),
        ("vf_coef", -1),
        ("value_clip_range", 0),
        ("max_grad_norm", 0),
        ("target_kl", 0),
        ("learning_rat", 1e-3),
    ],
)
def test_values_out_of_bounds_and_unknown_keys_are_refused(key: str, value: object) -> None:
    with pytest.raises(ValidationError, match=key):
        PPOConfig.model_validate({key: value})


def test_rates_can_follow_a_schedule() -> None:
    config = PPOConfig.model_validate({"learning_rate": {"schedule": "linear", "initial": 1e-3}, "beta": 0})
    assert config.learning_rate == Schedule(1e-3, 0.0)
    assert config.beta == Schedule(0.0)

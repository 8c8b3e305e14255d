"""The `environment` section."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
from agents_env_gymnasium.config import GymnasiumConfig
from pydantic import ValidationError


def test_every_field_has_a_description() -> None:
    assert [name for name, field in GymnasiumConfig.model_fields.items() if not field.description] == []


@pytest.mark.parametrize(
    ("section", "message"),
    [
        ({}, "either `id` or `entry_point`, found neither"),
        ({"id": "CartPole-v1", "entry_point": "a:b"}, "either `id` or `entry_point`, found both"),
        ({"id": "CartPole-v1", "vectorization": "own", "wrappers": ["ClipReward"]}, "vectorization: sync"),
        ({"id": "CartPole-v1", "max_episode_steps": 0}, "greater than or equal to 1"),
        ({"id": "CartPole-v1", "wraper": []}, "Extra inputs are not permitted"),
        ({"entry_point": "no_attribute"}, "should match pattern"),
        ({"id": "CartPole-v1", "imports": ["a:b:c"]}, "should match pattern"),
        ({"id": "CartPole-v1", "wrappers": [{"min_reward": 0}]}, "Field required"),
        ({"id": "CartPole-v1", "image_layout": "chw"}, "channels_first"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_is_imported(section: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        GymnasiumConfig(**section)


def test_a_section_survives_being_written_and_read_again() -> None:
    config = GymnasiumConfig(
        id="my_tasks:Reach-v0",
        imports=["a", "b:register"],
        kwargs={"size": 3},
        wrappers=["FlattenObservation", {"type": "ClipReward", "min_reward": -1}],
        stats=["success"],
        image_layout={"camera": "channels_first"},
    )
    assert GymnasiumConfig(**config.model_dump(mode="json")) == config
    assert pickle.loads(pickle.dumps(config)) == config
    wrapper = config.wrappers[1]
    assert not isinstance(wrapper, str)
    assert wrapper.kwargs == {"min_reward": -1}

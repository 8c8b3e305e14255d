"""Gymnasium environments keep to the contract: a choice, a continuous action, and instances in turn."""

from __future__ import annotations

from agents_core.testing import EnvironmentConformance


class TestCartPole(EnvironmentConformance):
    component = "gymnasium"
    config = {"id": "CartPole-v1"}  # noqa: RUF012


class TestCartPoleInTurn(EnvironmentConformance):
    component = "gymnasium"
    config = {"id": "CartPole-v1", "vectorization": "sync"}  # noqa: RUF012


class TestPendulum(EnvironmentConformance):
    component = "gymnasium"
    config = {"id": "Pendulum-v1", "max_episode_steps": 50}  # noqa: RUF012


class TestFrozenLake(EnvironmentConformance):
    component = "gymnasium"
    config = {"id": "FrozenLake-v1"}  # noqa: RUF012

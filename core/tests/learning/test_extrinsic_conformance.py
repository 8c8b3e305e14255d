"""The extrinsic reward keeps to the contract of reward signals, plain and normalised."""

from __future__ import annotations

from agents_core.testing import RewardSignalConformance


class TestExtrinsic(RewardSignalConformance):
    component = "extrinsic"


class TestNormalisedExtrinsic(RewardSignalConformance):
    component = "extrinsic"
    config = {"normalize": True}  # noqa: RUF012  # as authors write it

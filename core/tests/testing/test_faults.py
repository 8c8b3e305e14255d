"""Each check of the kit finds a fault that no other check finds, and right components pass them all."""

from __future__ import annotations

import pytest
from agents_core.testing import (
    BufferConformance,
    EncoderConformance,
    EnvironmentConformance,
    RewardSignalConformance,
    StatsWriterConformance,
    TrainerConformance,
)
from planted import PACKAGING_TOO, SPAWNED, failures, load


class FastTrainers(TrainerConformance):
    """A trainer that does not learn need not try for long."""

    probe_steps = 6_000


KITS = {
    "faulty_signals": RewardSignalConformance,
    "faulty_trainers": FastTrainers,
    "faulty_writers": StatsWriterConformance,
    "faulty_encoders": EncoderConformance,
    "faulty_environments": EnvironmentConformance,
    "faulty_buffers": BufferConformance,
}
FAULTS = [(module, name, check) for module in KITS for name, check in load(module).items()]


@pytest.mark.parametrize(("module", "name", "check"), FAULTS, ids=[f"{module}-{name}" for module, name, _ in FAULTS])
def test_a_fault_fails_its_check_and_no_other(module: str, name: str, check: str) -> None:
    without = PACKAGING_TOO if check == SPAWNED else (*PACKAGING_TOO, SPAWNED)
    found = failures(KITS[module], module, name, {}, without)
    assert found.keys() == {check}, found


@pytest.mark.parametrize("module", KITS)
def test_what_keeps_to_the_contract_passes(module: str) -> None:
    assert failures(KITS[module], module, "right", {}, PACKAGING_TOO) == {}


@pytest.mark.parametrize("module", KITS)
def test_every_check_has_a_fault(module: str) -> None:
    assert set(KITS[module].names()) - set(PACKAGING_TOO) - {SPAWNED} <= set(load(module).values())

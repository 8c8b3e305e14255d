"""Whatever happens to a replay buffer, it is read or refused; `AGENTS_MUTATIONS=5000` tries that many."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError, read_demonstrations
from agents_core.registry import load_registry
from agents_core.spec import ActionSpec, BehaviorSpec
from agents_core.testing.demonstrations import HYBRID_SPEC, random_demonstration
from buffer_files import fields_of, save
from test_mutations import MOST_MEGABYTES, MUTATIONS, WANTED, mutated, peak_megabytes


@pytest.mark.timeout(3600)
def test_every_mutation_is_read_or_refused(tmp_path: Path) -> None:
    generator, registry = np.random.default_rng(8), load_registry()
    spec = BehaviorSpec(HYBRID_SPEC.observations, ActionSpec(2, (3,)))
    whole = save(tmp_path / "whole.hdf5", fields_of(random_demonstration(spec, masked=True))).read_bytes()
    mutation = tmp_path / "mutation.hdf5"
    read, messages = 0, []
    for _ in range(MUTATIONS):
        mutation.write_bytes(mutated(whole, generator))
        try:
            read_demonstrations(mutation, registry=registry)
            read += 1
        except DemonstrationError as error:
            messages.append(str(error))
    assert min(read, len(messages)) > 0
    assert all(message.startswith(f"{mutation}: ") for message in messages)
    if WANTED:
        print(f"{read} read, {len(messages)} refused, peak {peak_megabytes():.0f} MB")
        assert peak_megabytes() < MOST_MEGABYTES

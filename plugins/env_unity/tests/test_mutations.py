"""Whatever happens to a file, it is read or refused; no memory is taken for what is not there.

`AGENTS_MUTATIONS=5000` runs that many for each set of files, and holds each to 2 seconds and all to 1 GB.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from agents_core.demonstrations import DemonstrationError, read_demonstrations
from agents_core.registry import load_registry

ROOT = Path(__file__).resolve().parents[3]
MADE = [
    ROOT / "tests" / "data" / "demos" / f"{name}.demo"
    for name in ("continuous", "masks", "png-channels-first", "deprecated-converted", "flat-image")
]
RECORDINGS = ROOT.parent / "shared" / "data" / "demos"
RECORDED = [file for name in ("d05", "d07", "d12", "d15", "d16") for file in sorted(RECORDINGS.glob(f"{name}*.demo"))]

WANTED = os.environ.get("AGENTS_MUTATIONS")
MUTATIONS = 400 if WANTED is None else int(WANTED)
MOST_SECONDS = 2.0
MOST_MEGABYTES = 1024


def mutated(whole: bytes, generator: np.random.Generator) -> bytes:
    """The file after one to four accidents."""
    data = bytearray(whole)
    for _ in range(generator.integers(1, 5)):
        # A quarter of them hit the first bytes, which say how the rest is to be read.
        reach = len(data) if generator.random() < 0.75 else min(len(data), 200)
        place = int(generator.integers(max(reach, 1)))
        length = int(generator.integers(1, 9))
        match generator.integers(6):
            case 0:
                data[place : place + 1] = bytes(byte ^ 1 << length - 1 for byte in data[place : place + 1])
            case 1:
                data[place : place + length] = generator.bytes(length)
            case 2:
                data[place : place + length] = b"\xff" * length
            case 3:
                del data[place : place + length]
            case 4:
                data[place:place] = data[max(0, place - 40) : place + length]
            case 5:
                data = data[: max(place, 1)]
    return bytes(data)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize(
    "files",
    [MADE, pytest.param(RECORDED, marks=pytest.mark.skipif(not RECORDED, reason="no recordings here"))],
    ids=["made", "recorded"],
)
def test_every_mutation_is_read_or_refused(files: list[Path], tmp_path: Path) -> None:
    generator, registry = np.random.default_rng(6), load_registry()
    wholes = [file.read_bytes() for file in files]
    read, messages = 0, []
    slowest = 0.0
    mutation = tmp_path / "mutation.demo"
    for number in range(MUTATIONS if WANTED or files is MADE else MUTATIONS // 8):
        mutation.write_bytes(mutated(wholes[number % len(wholes)], generator))
        began = time.perf_counter()
        try:
            read_demonstrations(mutation, registry=registry)
            read += 1
        except DemonstrationError as error:
            messages.append(str(error))
        slowest = max(slowest, time.perf_counter() - began)
    assert min(read, len(messages)) > 0
    assert all("byte" in message or "it holds no transition" in message for message in messages)
    if WANTED:
        megabytes = peak_megabytes()
        print(f"{read} read, {len(messages)} refused, slowest {slowest:.2f} s, peak {megabytes:.0f} MB")
        assert slowest < MOST_SECONDS
        assert megabytes < MOST_MEGABYTES


def peak_megabytes() -> float:
    """The most memory that this process has had."""
    import resource

    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20

"""Generators go on with the numbers they would have drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.generators import generator_state, set_generator_state
from agents_core.training.state_files import decode_arrays, dump_document, encode_arrays, parse_document
from agents_core.training.state_tree import join_tree, split_tree

FILE = Path("state.json")


def through_files(tree: Any) -> Any:
    document, arrays = split_tree(tree)
    return join_tree(parse_document(dump_document(document), FILE), decode_arrays(encode_arrays(arrays), FILE), FILE)


@pytest.mark.parametrize(
    "kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox, np.random.SFC64]
)
def test_a_numpy_generator_continues_from_its_saved_state(kind: type[np.random.BitGenerator]) -> None:
    generator = np.random.Generator(kind(5))
    generator.standard_normal(7)
    generator.integers(0, 10, dtype=np.int32)  # Leaves half of a 64-bit draw behind, which is state as well.
    saved = through_files(generator_state(generator))
    expected = [generator.standard_normal(9).tolist(), generator.integers(0, 2**31, 9, dtype=np.int32).tolist()]
    other = np.random.Generator(kind(99))
    set_generator_state(other, saved)
    assert [other.standard_normal(9).tolist(), other.integers(0, 2**31, 9, dtype=np.int32).tolist()] == expected


def test_a_torch_generator_continues_from_its_saved_state() -> None:
    generator = torch.Generator().manual_seed(5)
    torch.randn(3, generator=generator)
    saved = through_files(generator_state(generator))
    expected = torch.randn(20, generator=generator)
    other = torch.Generator().manual_seed(6)
    set_generator_state(other, saved)
    assert torch.equal(torch.randn(20, generator=other), expected)


def test_the_saved_state_does_not_move_with_the_generator() -> None:
    generator = np.random.Generator(np.random.MT19937(1))
    saved = generator_state(generator)
    expected = generator.random(1000)
    set_generator_state(generator, saved)
    assert np.array_equal(generator.random(1000), expected)


def test_the_state_of_another_kind_is_refused() -> None:
    numpy_generator = np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"MT19937 generator cannot be given to a PCG64 generator"):
        set_generator_state(numpy_generator, generator_state(np.random.Generator(np.random.MT19937(1))))
    with pytest.raises(ValueError, match=r"torch:cpu generator cannot be given to a PCG64 generator"):
        set_generator_state(numpy_generator, generator_state(torch.Generator()))

"""Trees of state survive a trip through their files bit for bit, or are refused."""

from __future__ import annotations

import json
import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.training.state_files import (
    MAX_DOCUMENT_BYTES,
    DamagedFileError,
    UnsavableStateError,
    decode_arrays,
    dump_document,
    encode_arrays,
    parse_document,
)
from agents_core.training.state_tree import StateMismatchError, check_same_arrays, join_tree, split_tree
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

FILE = Path("state.json")


def through_files(tree: Any) -> Any:
    document, arrays = split_tree(tree)
    stored = decode_arrays(encode_arrays(arrays), FILE)
    return join_tree(parse_document(dump_document(document), FILE), stored, FILE)


def bits(tree: Any) -> Any:
    """A form of the tree in which only equal bits, types, shapes and orders are equal."""
    if isinstance(tree, dict):
        return ("dict", [(key, bits(value)) for key, value in tree.items()])
    if isinstance(tree, list):
        return ("list", [bits(value) for value in tree])
    if isinstance(tree, float):
        return ("float", struct.pack(">d", tree))
    if isinstance(tree, np.ndarray):
        return ("array", tree.dtype.str, tree.shape, tree.tobytes())
    if isinstance(tree, torch.Tensor):
        integers = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tree.itemsize]
        return ("tensor", str(tree.dtype), tuple(tree.shape), tree.detach().view(integers).tolist())
    return (type(tree).__name__, tree)


ARRAYS = st.sampled_from(
    ["bool", "uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float16", "float32", "float64"]
).flatmap(lambda dtype: npst.arrays(dtype, npst.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)))
TENSORS = ARRAYS.filter(lambda array: not array.dtype.name.startswith(("uint16", "uint32", "uint64"))).map(
    lambda array: torch.from_numpy(array.copy())
)
HALVES = ARRAYS.filter(lambda array: array.dtype.name == "int16").map(
    lambda array: torch.from_numpy(array.copy()).view(torch.bfloat16)
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["a.b", "a/b", "~", "~0", "$array", "$$int", "", "__metadata__", "\0", "é"]
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS | ARRAYS | TENSORS | HALVES
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=12
)


@settings(deadline=None, max_examples=200)
@given(TREES)
def test_a_tree_comes_back_bit_for_bit(tree: Any) -> None:
    assert bits(through_files(tree)) == bits(tree)


def test_keys_that_look_like_paths_or_tags_do_not_meet() -> None:
    tree = {
        "a/b": np.array(1),
        "a": {"b": np.array(2), "0": [np.array(3)]},
        "a~1b": np.array(4),
        "": np.array(5),
        "__metadata__": np.array(6),
        "tags": {"$array": "a", "$float": 1.0, "$$x": 2},
        "one": {"$int": "0x5"},
        "two": {"$$int": "0x5"},
    }
    assert bits(through_files(tree)) == bits(tree)


def test_numbers_that_json_cannot_say_keep_their_bits() -> None:
    odd_nan = struct.unpack(">d", bytes.fromhex("7ff8000000000123"))[0]
    numbers = [math.nan, odd_nan, -math.nan, math.inf, -math.inf, -0.0, 5e-324, 2**63, -(2**63), 2**128 - 1, 10**9000]
    assert bits(through_files(numbers)) == bits(numbers)


def test_views_and_shared_memory_are_saved_as_what_they_show() -> None:
    flat = torch.arange(6, dtype=torch.float32)
    grid = np.arange(12).reshape(3, 4)
    tree = {"weight": flat[:4].view(2, 2).T, "bias": flat[4:], "all": flat, "turned": grid.T, "stepped": grid[:, ::2]}
    loaded = through_files(tree)
    assert bits(loaded) == bits(tree)
    assert loaded["weight"].tolist() == [[0.0, 2.0], [1.0, 3.0]]
    loaded["bias"] += 1
    assert loaded["all"][4] == 4


def test_parameters_come_back_as_plain_tensors_and_ordered_dicts_as_dicts() -> None:
    layer = torch.nn.Linear(2, 3)
    loaded = through_files(layer.state_dict())
    assert type(loaded) is dict
    assert not loaded["weight"].requires_grad
    assert torch.equal(loaded["weight"], layer.weight)
    assert torch.equal(through_files({"raw": layer.weight})["raw"], layer.weight)


def test_loaded_arrays_can_be_written_to() -> None:
    loaded = through_files({"array": np.zeros(2), "tensor": torch.zeros(2), "empty": np.zeros(0)})
    loaded["array"][0] = 1
    loaded["tensor"][0] = 1
    assert loaded["array"].tolist() == loaded["tensor"].tolist() == [1, 0]


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ((0.9, 0.999), "builtins.tuple, which cannot be saved; use a list"),
        ({1, 2}, "builtins.set, which cannot be saved; use a sorted list"),
        (np.float64(1.0), r"numpy.float64, which cannot be saved; use `.item\(\)`"),
        (np.bool_(True), "numpy.bool"),
        (b"x", "builtins.bytes"),
        (object(), "builtins.object"),
        (1j, "builtins.complex"),
        ({3: "x"}, "has the key 3, a int; keys must be text"),
        ("\ud800", "UTF-8"),
        (np.zeros(1, dtype=">f4"), "cannot be saved"),
        (np.zeros(1, dtype=object), r"dtype\('O'\)"),
        (np.zeros(1, dtype=complex), "complex128"),
        (np.ma.zeros(1), "MaskedArray"),
        (torch.zeros(1, dtype=torch.complex64), "torch.complex64"),
        (torch.zeros(2, 2).to_sparse(), "torch.sparse_coo"),
        (torch.zeros(2, device="meta"), "meta"),
    ],
)
def test_anything_else_is_refused_with_its_path(value: object, found: str) -> None:
    with pytest.raises(UnsavableStateError, match=rf"(?s)^state_dict: \['optimizer'\]\['1'\].*{found}"):
        split_tree({"optimizer": [None, value]})


def test_a_tree_that_contains_itself_is_refused() -> None:
    tree: dict[str, Any] = {}
    tree["again"] = tree
    with pytest.raises(UnsavableStateError, match="nested deeper than 100 levels"):
        split_tree(tree)


def test_the_deepest_allowed_tree_can_be_read_again() -> None:
    tree: Any = np.ones(1)
    for _ in range(100):
        tree = [tree]
    assert bits(through_files(tree)) == bits(tree)
    with pytest.raises(UnsavableStateError, match="nested deeper"):
        split_tree([tree])


def test_what_cannot_be_read_is_not_written() -> None:
    with pytest.raises(UnsavableStateError, match="keep long lists of numbers in arrays"):
        dump_document("x" * MAX_DOCUMENT_BYTES)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b'{"a": 1',
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b"\xff\xfe",
        b"[" * 100_000,
        b"[" * 250 + b"]" * 250,
        b"1" * 1_000_000,
        b" " * (MAX_DOCUMENT_BYTES + 1),
    ],
    ids=["empty", "brace", "cut", "twice", "nan", "bytes", "open", "deep", "long number", "large"],
)
def test_documents_that_are_damaged_or_bombs_are_refused_with_the_file(text: bytes) -> None:
    with pytest.raises(DamagedFileError, match=r"^state\.json: "):
        parse_document(text, FILE)


@pytest.mark.parametrize(
    "document",
    [
        {"$array": "missing"},
        {"$tensor": 3},
        {"$array": ["x"]},
        {"$float": "zz"},
        {"$float": "00"},
        {"$int": "five"},
        {"$int": None},
        {"$pickle": "x"},
        {"$array": "x", "more": 1},
    ],
)
def test_tags_that_make_no_sense_are_refused_with_the_file(document: object) -> None:
    with pytest.raises(DamagedFileError, match=r"^state\.json: is damaged"):
        join_tree({"inner": [document]}, {}, FILE)


def test_every_cut_of_an_array_file_is_refused_with_the_file() -> None:
    whole = encode_arrays({"a": np.arange(5), "b": torch.zeros(3, dtype=torch.bfloat16)})
    for length in range(len(whole)):
        with pytest.raises(DamagedFileError, match=r"^policy\.safetensors: is damaged"):
            decode_arrays(whole[:length], Path("policy.safetensors"))


def test_array_files_whose_shapes_do_not_fit_their_data_are_refused() -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 4]}}).encode()
    with pytest.raises(DamagedFileError, match=r"^policy\.safetensors: is damaged"):
        decode_arrays(struct.pack("<Q", len(header)) + header + bytes(4), Path("policy.safetensors"))


def test_an_array_cannot_be_read_as_a_type_that_numpy_lacks() -> None:
    stored = decode_arrays(encode_arrays({"x": torch.zeros(1, dtype=torch.bfloat16)}), FILE)
    with pytest.raises(DamagedFileError):
        join_tree({"$array": "x"}, stored, FILE)


def test_other_programs_read_the_array_files() -> None:
    from safetensors.numpy import load as load_numpy
    from safetensors.torch import load as load_torch

    arrays = {
        "b/1": np.arange(3, dtype=np.int64),
        "a": np.array([True]),
        "c": np.float32([[1, 2]]),
        "d": np.zeros((0, 2)),
    }
    loaded = load_numpy(encode_arrays(arrays))
    assert {name: bits(array) for name, array in loaded.items()} == {
        name: bits(array) for name, array in arrays.items()
    }
    half = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    assert torch.equal(load_torch(encode_arrays({"half": half, "flag": np.array([True])}))["half"], half)


def test_other_shapes_names_or_dtypes_are_refused_with_the_file_and_both_sides() -> None:
    own = {"body": {"weight": torch.zeros(3, 2), "bias": torch.zeros(3)}, "steps": 1}
    check_same_arrays({"body": {"weight": torch.ones(3, 2), "bias": torch.ones(3)}, "steps": 9}, own, FILE)
    other = {"body": {"weight": torch.zeros(3, 4), "bias": torch.zeros(3).double()}, "head": np.zeros(1)}
    with pytest.raises(StateMismatchError) as caught:
        check_same_arrays(other, own, FILE)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("state.json: ")
    assert lines[1:4] == [
        "  body/bias: saved float64[3], here float32[3]",
        "  body/weight: saved float32[3, 4], here float32[3, 2]",
        "  head: saved float64[1], here nothing",
    ]

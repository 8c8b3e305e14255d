"""Names: which are allowed, which are equal, which is nearest."""

from __future__ import annotations

import pytest
from agents_core.registry.names import describe, is_component_name, nearest, normalise
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize("name", ["ppo", "a", "my_signal", "my-signal", "rnd2", "a1_b2-c3"])
def test_names_that_components_may_have(name: str) -> None:
    assert is_component_name(name)


@pytest.mark.parametrize("name", ["", "PPO", "2d", "_x", "x_", "a__b", "a.b", "a:b", "a/b", "a b", "ä", "ppo\n"])
def test_names_that_components_may_not_have(name: str) -> None:
    assert not is_component_name(name)


@given(st.text(alphabet="aB1-_.", min_size=1, max_size=12))
def test_normal_forms_are_stable_and_ignore_case_and_separators(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)
    assert normalise(name.upper().replace("-", "_")) == normalise(name)


def test_the_nearest_name_ignores_case_and_gives_up_on_strangers() -> None:
    assert nearest("RDN", ["curiosity", "rnd"]) == "rnd"
    assert nearest("zzz", ["curiosity", "rnd"]) is None


def test_exceptions_are_described_on_one_line() -> None:
    assert describe(ValueError("first\n  second")) == "ValueError: first second"
    assert describe(ValueError()) == "ValueError"
    assert describe(SystemExit(3)) == "it called sys.exit(3)"

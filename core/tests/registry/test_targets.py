"""Lazy strings are judged by the text of their module; whatever could be there is not called missing."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import pytest
from agents_core.registry.targets import why_missing, why_no_model


@pytest.fixture
def package(site: Path) -> Path:
    folder = site / "lazy_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    importlib.import_module("lazy_package")
    return folder


@pytest.mark.parametrize(
    "source",
    [
        "class Thing: ...",
        "Thing = object()",
        "from somewhere import Thing",
        "if True:\n    def Thing(): ...",
        "from somewhere import *",
        "def __getattr__(name): ...",
        "globals()['Th' + 'ing'] = 1",
    ],
)
def test_a_name_that_may_be_there_is_not_missing(package: Path, source: str) -> None:
    (package / "module.py").write_text(source)
    assert why_missing("lazy_package.module:Thing") is None
    assert "lazy_package.module" not in sys.modules


def test_a_name_that_stands_nowhere_is_missing(package: Path) -> None:
    (package / "module.py").write_text("class Things: ...")
    assert why_missing("lazy_package.module:Thing") == "module 'lazy_package.module' has no 'Thing'"
    assert why_missing("lazy_package.module:Thing.nested") == "module 'lazy_package.module' has no 'Thing'"
    assert why_missing("lazy_package.gone:Thing") == "there is no module 'lazy_package.gone'"
    assert why_missing("no_such_package.gone:Thing") == "there is no module 'no_such_package'"


def test_what_only_an_import_could_tell_is_not_missing(package: Path) -> None:
    (package / "inner").mkdir()
    (package / "inner/__init__.py").write_text("raise AssertionError('imported')")
    assert why_missing("lazy_package.inner.deep:Thing") is None
    assert "lazy_package.inner" not in sys.modules


def test_a_name_that_was_put_into_an_imported_module_is_there(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("lazy_package")
    monkeypatch.setattr(module, "Thing", object, raising=False)
    assert package.is_dir()
    assert why_missing("lazy_package:Thing") is None


@pytest.mark.parametrize("source", ["class Config:\n    x = 1", "class Config():\n    x = 1", "def Config(): ..."])
def test_a_class_without_a_base_and_a_function_are_no_models(package: Path, source: str) -> None:
    (package / "config.py").write_text(source)
    assert why_no_model("lazy_package.config:Config") is not None


@pytest.mark.parametrize(
    "source",
    [
        "class Config(Base): ...",
        "class Config(\n    Base,\n): ...",
        "Config = make()",
        "from x import Config",
        "import x as Config",
        "@decorated\nclass Config:\n    x = 1",
        "class Config:\n    x = 1\nConfig = convert(Config)",
        "def Config(): ...\nif True:\n    class Config(Base): ...",
    ],
)
def test_what_may_be_a_model_is_left_to_its_import(package: Path, source: str) -> None:
    (package / "config.py").write_text(source)
    assert why_no_model("lazy_package.config:Config") is None

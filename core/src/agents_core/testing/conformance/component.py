"""What is checked of every component, whatever its kind."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from pickle import PicklingError
from types import MappingProxyType
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import torch
import yaml
from pydantic import ValidationError

from agents_core.options import ConfigModel
from agents_core.plugin import Kind
from agents_core.registry import Component, PluginRecord, Registry, load_registry
from agents_core.registry.config_fields import config_fields, open_sections
from agents_core.registry.conformance import imported_heavy_modules
from agents_core.registry.names import CORE_DISTRIBUTION, describe
from agents_core.registry.requirements import core_requirements, has_upper_bound
from agents_core.testing.conformance.checks import Checks, require, skip
from agents_core.testing.conformance.isolation import global_seed
from agents_core.testing.conformance.readme import check_readme, read_readme
from agents_core.testing.conformance.spawned import call, call_in_fresh_process

PACKAGING = (
    "test_replaced_checks_have_a_reason",
    "test_importing_hooks_and_options_is_light",
    "test_names_in_the_spec_lead_somewhere",
    "test_unknown_options_are_refused",
    "test_options_are_described",
    "test_the_requirement_on_core_is_bounded",
)
"""Checks that `agents_core.registry.conformance` makes of a whole plugin too, or that are of the test itself."""


class ComponentConformance(Checks):
    """Base of the classes of all kinds.

    Attributes:
        component: Name of the component in experiment files, plain or qualified.
        config: Its options, where the defaults do not fit a small test or some have none.
        plugins: Local plugins to load first, as in an experiment's `plugins:`; files start from the folder of the test.
    """

    kind: ClassVar[Kind]
    component: ClassVar[str] = ""
    config: ClassVar[Mapping[str, object]] = MappingProxyType({})
    plugins: ClassVar[Sequence[str]] = ()

    @classmethod
    def directory(cls) -> Path:
        """The folder of the test, which relative paths start from."""
        try:
            return Path(inspect.getfile(cls)).resolve().parent
        except (TypeError, OSError):  # made by `of`
            return Path.cwd()

    @classmethod
    def of(cls, registry: Registry, component: Component, config: Mapping[str, object]) -> type[ComponentConformance]:
        """A subclass for a component that was found already."""
        made = type(f"{component.name} conformance", (cls,), {"component": component.name, "config": config})
        _FOUND[made] = registry, component
        return made

    @classmethod
    def registry(cls) -> Registry:
        """What is installed, and the local plugins."""
        return _find(cls)[0]

    @classmethod
    def found(cls) -> Component:
        """The component.

        Raises:
            UserError: There is none of this name.
        """
        return _find(cls)[1]

    @classmethod
    def record(cls) -> PluginRecord:
        """The plugin that offers it."""
        registry, component = _find(cls)
        return next(record for record in registry.records if record.origin == component.origin)

    @classmethod
    def options(cls, **changes: object) -> Any:
        """The component's config with `config` and further options."""
        model = cls.found().load_config()
        return model.model_validate({**cls.config, **changes}, context={"directory": cls.directory()})

    def setup_method(self) -> None:
        """Global generators seeded alike, and one thread for torch: small networks do not wait for a busy machine."""
        self._isolation = global_seed(0)
        self._isolation.__enter__()
        torch.set_num_threads(1)

    def teardown_method(self) -> None:
        """Everything as it was before."""
        self._isolation.__exit__(None, None, None)

    def spawned(self) -> tuple[str, tuple[object, ...]]:
        """A function, `module:name`, and its arguments: what is to give the same here and in a spawned process."""
        return f"{__name__}:describe_options", (self.found(), self.options())

    def test_importing_hooks_and_options_is_light(self) -> None:
        """Hooks and config models load with every `agents` command, so they import neither torch nor NumPy.

        Mend: keep `plugin.py` to `agents_core.plugin`, `config.py` to pydantic and `agents_core.options`; import the
        rest in the module that `factory` names.
        """
        if self.found().distribution is None:
            skip("a plugin that is not packaged may have everything in one file")
        modules = (self.record().module, self.found().spec.config.partition(":")[0])
        heavy = ", ".join(imported_heavy_modules(list(dict.fromkeys(modules))))
        require(
            not heavy, "hooks and config models import nothing heavy", f"{' and '.join(modules)} import {heavy}", "none"
        )

    def test_names_in_the_spec_lead_somewhere(self) -> None:
        """`config` and `factory` of the spec are `module:attribute` strings that can be imported.

        Mend: correct the string in the hook; `config` names a subclass of `agents_core.options.ConfigModel`.
        """
        self.found().load_config()
        self.found().load_factory()

    def test_unknown_options_are_refused(self) -> None:
        """A misspelt option is an error, in nested sections too.

        Mend: derive config models from `agents_core.options.ConfigModel` and leave `extra` as it is.
        """
        loose = open_sections(self.found().load_config())
        require(
            not loose, "config models refuse unknown keys", f"{', '.join(loose)} let them through", "extra='forbid'"
        )

    def test_options_are_described(self) -> None:
        """Every option has a description, which `agents plugins show` and editors display.

        Mend: give each field `Field(…, description="…")`.
        """
        silent = [field.name for field in config_fields(self.found().load_config()) if not field.description]
        require(not silent, "every option has a description", f"none on {', '.join(silent)}", "Field(description=…)")

    def test_options_survive_an_experiment_file(self) -> None:
        """The options of a run are written to its `config.yaml` and read back when it is resumed.

        Mend: fields need types that pydantic writes as plain values and reads back equal; a validator must accept what
        a serialiser writes.
        """
        config = self.options()
        written = config.model_dump(mode="json", by_alias=True)
        text = yaml.safe_dump(written)
        rule = "options written as YAML and read again are equal"
        try:
            again = type(config).model_validate(yaml.safe_load(text), context={"directory": self.directory()})
        except ValidationError as error:
            require(False, rule, f"{describe(error)}, reading {written}", "a valid config")
            raise
        require(again == config, rule, again, config)

    def test_options_have_a_json_schema(self) -> None:
        """Editors complete and check experiment files by a JSON schema that every plugin adds to.

        Mend: a field of a type without a schema needs `pydantic.WithJsonSchema`; the default must be of the type that
        the schema allows.
        """
        model = self.found().load_config()
        schema = json.loads(json.dumps(model.model_json_schema()))
        written = self.options().model_dump(mode="json", by_alias=True)
        unknown = sorted(written.keys() - schema.get("properties", {}).keys())
        require(not unknown, "the JSON schema has every option", f"{', '.join(unknown)} missing", sorted(written))
        try:
            jsonschema = import_module("jsonschema")
        except ImportError:  # an extra of those who develop core
            return
        mistakes = [
            f"{error.json_path}: {error.message}"
            for error in jsonschema.Draft202012Validator(schema).iter_errors(written)
        ]
        require(
            not mistakes, "options as they are written keep to their JSON schema", "; ".join(mistakes), "no mistake"
        )

    def test_the_requirement_on_core_is_bounded(self) -> None:
        """A later core may change what a plugin relies on, so the requirement on it ends somewhere.

        Mend: `dependencies = ["agents-core>=0.1,<0.2"]` in pyproject.toml.
        """
        metadata = self.record().metadata
        if metadata is None:
            skip("the plugin is core's own or not packaged")
            return
        lines = core_requirements(metadata.requires)
        endless = [str(line) for line in lines if not has_upper_bound(line)]
        rule = f"the requirement on {CORE_DISTRIBUTION} has an upper bound"
        require(bool(lines), rule, f"no requirement on {CORE_DISTRIBUTION}", f"'{CORE_DISTRIBUTION}>=X.Y,<X.Z'")
        require(not endless, rule, ", ".join(endless), f"'{CORE_DISTRIBUTION}>=X.Y,<X.Z'")

    def test_the_readme_shows_a_config_that_is_valid(self) -> None:
        """The README has a YAML block that uses the component, and it is right.

        Mend: add a block of an experiment file in which the component stands where it belongs, such as
        `reward_signals: {novelty: {strength: 0.1}}` below a behavior; `readme = "README.md"` in pyproject.toml.
        """
        component = self.found()
        if component.distribution in (None, CORE_DISTRIBUTION):
            skip("the plugin is core's own or not packaged")
            return
        check_readme(read_readme(component.distribution), component, self.registry(), self.directory())

    def test_a_spawned_process_computes_the_same(self) -> None:
        """Workers are spawned, not forked: they import everything anew and get the options by pickle.

        Mend: keep state out of modules, let nothing depend on `hash()` or on the order of a set, and make config models
        at the top of a module.
        """
        target, arguments = self.spawned()
        try:
            there = call_in_fresh_process(target, *arguments)
        except (PicklingError, AttributeError, TypeError) as error:
            require(False, "options go to other processes by pickle", describe(error), "options that can be pickled")
            raise
        here = call(target, *arguments)
        require(_is_near(there, here), "a spawned process computes the same", there, here)


_FOUND: WeakKeyDictionary[type, tuple[Registry, Component]] = WeakKeyDictionary()


def _find(cls: type[ComponentConformance]) -> tuple[Registry, Component]:
    if cls not in _FOUND:
        if not cls.component:
            raise TypeError(f'{cls.__name__} says nothing of what to check: set `component = "NAME"`')
        registry = load_registry()
        for target in cls.plugins:
            registry.add_local(target, cls.directory())
        _FOUND[cls] = registry, registry.find(cls.kind, cls.component)
    return _FOUND[cls]


def describe_options(component: Component, config: ConfigModel) -> object:
    """The options as plain values, once the factory could be imported."""
    component.load_factory()
    return config.model_dump(mode="json", by_alias=True)


def _is_near(first: object, second: object) -> bool:
    """Whether plain values are equal but for rounding."""
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(_is_near, first, second))
    if isinstance(first, float) and isinstance(second, float):
        return math.isclose(first, second, rel_tol=1e-4, abs_tol=1e-6) or first != first != second
    return first == second

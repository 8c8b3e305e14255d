"""What can be checked of a plugin without running what it offers: `agents plugins check`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.resources import files

from agents_core.errors import UserError
from agents_core.plugin import DemonstrationFormatSpec, TrainerSpec
from agents_core.registry.config_fields import config_fields, open_sections
from agents_core.registry.names import CORE_DISTRIBUTION, describe
from agents_core.registry.records import Component, PluginCommand, PluginRecord
from agents_core.registry.requirements import core_requirements, has_upper_bound

HEAVY_MODULES = ("torch", "numpy", "gymnasium", "tensorboard", "grpc", "wandb")
"""What neither a plugin's hooks nor its config models may import: every `agents` command would wait for it."""

_IMPORT_TIMEOUT_SECONDS = 120
_IMPORT_SCRIPT = """
import importlib, json, sys
modules, sys.path, heavy = json.loads(sys.argv[1])
before = set(sys.modules)
for name in modules:
    importlib.import_module(name)
print("\\n" + json.dumps([name for name in heavy if name in sys.modules and name not in before]))
"""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked.

    Attributes:
        problem: None where it is in order.
        skipped: Why it was not checked.
        advice: What the check is for, and how to mend the problem.
    """

    name: str
    problem: str | None
    skipped: str | None = None
    advice: str | None = None


def check_plugin(record: PluginRecord) -> Iterator[Check]:
    """Check one plugin, most basic things first; a plugin that is not usable gets no further than its reason."""
    yield Check("loads", None if record.status == "ok" else f"{record.status}: {record.reason}")
    if not record.is_usable:
        return
    yield from _check_requirement(record)
    if record.distribution is not None:  # a local plugin may have everything in one file
        yield _run("hooks and configs import nothing heavy", lambda: _check_light_import(record))
    for component in record.components:
        yield _run(f"{component.title}: config", partial(_check_config, component))
        yield _run(f"{component.title}: factory", partial(_check_factory, component))
        spec = component.spec
        if isinstance(spec, DemonstrationFormatSpec) and spec.recognizes is not None:
            yield _run(f"{component.title}: recognizes", partial(_check_function, component, spec.recognizes))
        if isinstance(spec, TrainerSpec) and spec.quickstart is not None:
            yield _run(f"{component.title}: quickstart", partial(_check_resource, spec.quickstart))
    for command in record.commands:
        yield _run(command.title, partial(_check_command, command))


def _run(name: str, check: Callable[[], str | None]) -> Check:
    """A check whose own failure is its problem: it runs a stranger's code."""
    try:
        return Check(name, check())
    except UserError as error:
        return Check(name, str(error))
    except (Exception, SystemExit) as error:
        return Check(name, describe(error))


def _check_requirement(record: PluginRecord) -> Iterator[Check]:
    if record.metadata is None:  # core itself, or a local plugin
        return
    name = f"requirement on {CORE_DISTRIBUTION} has an upper bound"
    requirements = core_requirements(record.metadata.requires)
    if not requirements:
        yield Check(
            name, f"its metadata has no requirement on {CORE_DISTRIBUTION}; add '{CORE_DISTRIBUTION}>=X.Y,<X.Z'"
        )
    for requirement in requirements:
        yield Check(
            name, None if has_upper_bound(requirement) else f"'{requirement}' lets in every later {CORE_DISTRIBUTION}"
        )


def _check_light_import(record: PluginRecord) -> str | None:
    configs = (component.spec.config for component in record.components)
    modules = [record.module, *dict.fromkeys(config.partition(":")[0] for config in configs)]
    heavy = imported_heavy_modules(modules)
    return f"{' and '.join(modules)} import {', '.join(heavy)}" if heavy else None


def imported_heavy_modules(modules: list[str]) -> list[str]:
    """The heavy modules that a fresh interpreter has after importing these.

    Raises:
        RuntimeError: They cannot be imported there.
    """
    call = [sys.executable, "-c", _IMPORT_SCRIPT, json.dumps([modules, sys.path, HEAVY_MODULES])]
    done = subprocess.run(
        call, capture_output=True, text=True, timeout=_IMPORT_TIMEOUT_SECONDS, check=False, stdin=subprocess.DEVNULL
    )
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:]
        raise RuntimeError(f"importing {', '.join(modules)} in a fresh interpreter fails: {''.join(last)}")
    heavy: list[str] = json.loads(done.stdout.splitlines()[-1])
    return heavy


def _check_config(component: Component) -> str | None:
    model = component.load_config()
    loose = open_sections(model)
    if loose:
        return f"{', '.join(loose)} lets unknown keys through; set extra='forbid'"
    silent = [field.name for field in config_fields(model) if not field.description]
    return f"no description: {', '.join(silent)}" if silent else None


def _check_factory(component: Component) -> None:
    component.load_factory()


def _check_function(component: Component, target: str) -> None:
    component.load_function("recognizes", target)


def _check_resource(resource: str) -> str | None:
    package, _, name = resource.partition(":")
    return None if name and files(package).joinpath(name).is_file() else f"there is no file {resource}"


def _check_command(command: PluginCommand) -> str | None:
    import click

    return None if isinstance(command.load(), click.Command) else f"'{command.spec.command}' is no click command"

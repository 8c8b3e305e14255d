"""Version requirements: a plugin's on the core, judged before its import, and an experiment's on plugins.

`packaging` is imported only where there is something to judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import agents_core
from agents_core.registry.errors import RequirementError
from agents_core.registry.names import CORE_DISTRIBUTION, normalise
from agents_core.registry.records import PluginRecord

if TYPE_CHECKING:
    from packaging.requirements import Requirement

_LEADING_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")


def core_requirements(requires: Iterable[str]) -> list[Requirement]:
    """The lines of `Requires-Dist` on agents-core that apply to this interpreter, without extras.

    Raises:
        packaging.requirements.InvalidRequirement: Such a line cannot be read.
    """
    lines = [line for line in requires if _is_about_core(line)]
    if not lines:
        return []
    from packaging.requirements import Requirement

    parsed = [Requirement(line) for line in lines]
    return [requirement for requirement in parsed if _applies(requirement)]


def _is_about_core(line: str) -> bool:
    match = _LEADING_NAME.match(line)
    return match is not None and normalise(match.group(1)) == CORE_DISTRIBUTION


def _applies(requirement: Requirement) -> bool:
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def core_conflict(distribution: str, plugin_version: str, requires: Iterable[str]) -> str | None:
    """Why a distribution does not go with the running core, and the way out; None where it does.

    Raises:
        packaging.requirements.InvalidRequirement: Its requirement on agents-core cannot be read.
    """
    running = agents_core.__version__
    for requirement in core_requirements(requires):
        # A development version of the core counts for the version it leads to.
        if requirement.specifier.contains(running, prereleases=True):
            continue
        wanted = f"{CORE_DISTRIBUTION}{specifiers(requirement)}"
        if _is_newer_than_running(requirement):
            return (
                f"{distribution} {plugin_version} needs {wanted}, but {running} is installed. "
                f"Upgrade with: pip install -U '{wanted}'"
            )
        return (
            f"{distribution} {plugin_version} supports {wanted}, but {running} is installed. "
            f"Look for a newer {distribution}, or: pip install '{wanted}'"
        )
    return None


def specifiers(requirement: Requirement) -> str:
    """The specifiers with lower bounds first, as people write them; `packaging` keeps them in no order."""
    parts = sorted(str(part) for part in requirement.specifier)
    return ",".join(sorted(parts, key=lambda part: part.startswith("<")))


def _is_newer_than_running(requirement: Requirement) -> bool:
    from packaging.version import InvalidVersion, Version

    running = Version(agents_core.__version__)
    for part in requirement.specifier:
        try:
            bound = Version(part.version.removesuffix(".*"))
        except InvalidVersion:  # `===` compares text
            continue
        if part.operator in (">=", ">", "~=", "==") and bound > running:
            return True
    return False


def has_upper_bound(requirement: Requirement) -> bool:
    """Whether some future core is excluded, so that an upgrade cannot silently break the plugin."""
    return any(part.operator in ("<", "<=", "~=", "==", "===") for part in requirement.specifier)


def check_requirements(requires: Sequence[str], records: Sequence[PluginRecord]) -> None:
    """Judge an experiment's `requires:` by what is installed and how its plugins loaded.

    Raises:
        RequirementError: With every requirement that is not met, and the command that meets it.
    """
    problems = [problem for line in requires if (problem := _problem(line, records)) is not None]
    if problems:
        raise RequirementError("requires: " + "; ".join(problems))


def _problem(line: str, records: Sequence[PluginRecord]) -> str | None:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(line)
    except InvalidRequirement as error:
        return f"'{line}' is no requirement ({str(error).splitlines()[0]}); write it like 'agents-ppo>=0.1'"
    if not _applies(requirement):
        return None
    name = normalise(requirement.name)
    installed = _installed_version(name)
    wanted = f"{requirement.name}{specifiers(requirement)}"
    if installed is None:
        return f"{requirement.name} is not installed. Install it with: pip install '{wanted}'"
    if not requirement.specifier.contains(installed, prereleases=True):
        return f"{wanted} is needed, but {installed} is installed. Change it with: pip install -U '{wanted}'"
    for record in records:
        if record.distribution and normalise(record.distribution) == name and not record.is_usable:
            return f"{record.label} is installed, but its plugin '{record.name}' is {record.status}: {record.reason}"
    return None


def _installed_version(name: str) -> str | None:
    if name == CORE_DISTRIBUTION:
        return agents_core.__version__
    try:
        return version(name)
    except PackageNotFoundError:
        return None

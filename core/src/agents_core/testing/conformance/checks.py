"""What a class of checks is: methods that pytest collects and that run as well without it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Literal, TypeVar
from unittest import SkipTest

from agents_core.registry.names import describe

FunctionT = TypeVar("FunctionT", bound=Callable[..., object])

_REASON = "__reason_to_override__"


class ConformanceError(AssertionError):
    """A component breaks a rule of its contract."""


def require(holds: bool, rule: str, found: object, expected: object) -> None:
    """Fail a check unless the rule holds.

    Raises:
        ConformanceError: With the rule, what was found and what is expected.
    """
    if not holds:
        raise ConformanceError(f"{rule}\n  found:    {found}\n  expected: {expected}")


def skip(reason: str) -> None:
    """Leave a check out that does not apply here; pytest shows it as skipped.

    Raises:
        unittest.SkipTest: Always.
    """
    raise SkipTest(reason)


def overrides(reason: str) -> Callable[[FunctionT], FunctionT]:
    """Mark a method that replaces a check of the kit, and say why; without it the kit refuses the replacement."""
    if not reason.strip():
        raise ValueError("say why the check is replaced: @overrides('reason')")

    def mark(function: FunctionT) -> FunctionT:
        setattr(function, _REASON, reason)
        return function

    return mark


class Checks:
    """Base of the kit's classes: every method that starts with `test_` is a check without arguments."""

    def setup_method(self) -> None:
        """Called before each check, by pytest as well."""

    def teardown_method(self) -> None:
        """Called after each check, by pytest as well."""

    @classmethod
    def names(cls) -> list[str]:
        """The checks in the order in which they are written, those of base classes first."""
        return list(dict.fromkeys(name for owner in reversed(cls.__mro__) for name in vars(owner) if _is_check(name)))

    def test_replaced_checks_have_a_reason(self) -> None:
        """A subclass may replace a check of the kit only with a reason.

        Mend: remove the method from your class, rename it if it is meant as a further test, or mark it with
        `@agents_core.testing.overrides("why the rule does not hold here")`.
        """
        silent = [
            f"{owner.__name__}.{name}"
            for owner, name, replacement in _replacements(type(self))
            if not getattr(replacement, _REASON, None)
        ]
        require(not silent, "a check is replaced without a reason", ", ".join(silent), "@overrides('reason') on each")


def _is_check(name: str) -> bool:
    return name.startswith("test_")


def _replacements(cls: type) -> Iterator[tuple[type, str, object]]:
    """Attributes of classes outside of core that hide a check of the kit."""
    kit = [owner for owner in cls.__mro__ if _is_of_kit(owner)]
    checks = {name for owner in kit for name in vars(owner) if _is_check(name)}
    for owner in cls.__mro__:
        if not _is_of_kit(owner):
            yield from ((owner, name, value) for name, value in vars(owner).items() if name in checks)


def _is_of_kit(owner: type) -> bool:
    return owner.__module__.startswith("agents_core.testing.")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one check.

    Attributes:
        check: Name of its method.
        status: `skipped` where it does not apply.
        message: Why it failed or was skipped.
        help: The check's docstring: what it is for and how to mend a failure.
    """

    check: str
    status: Literal["passed", "failed", "skipped"]
    message: str = ""
    help: str = ""

    @property
    def title(self) -> str:
        """The check as words."""
        return self.check.removeprefix("test_").replace("_", " ")


def run_checks(cls: type[Checks], *, without: Collection[str] = ()) -> Iterator[Outcome]:
    """Run the checks of a class one by one, without pytest.

    Args:
        cls: Names a component.
        without: Names of checks to leave out.
    """
    for name in cls.names():
        if name not in without:
            yield _run(cls, name)


def _run(cls: type[Checks], name: str) -> Outcome:
    checks = cls()
    check = getattr(checks, name)
    explanation = inspect.getdoc(check) or ""
    checks.setup_method()
    try:
        check()
    except SkipTest as reason:
        return Outcome(name, "skipped", str(reason), explanation)
    except ConformanceError as error:
        return Outcome(name, "failed", str(error), explanation)
    except (Exception, SystemExit) as error:  # a stranger's code raised
        return Outcome(name, "failed", f"it raises {describe(error)}", explanation)
    finally:
        checks.teardown_method()
    return Outcome(name, "passed", "", explanation)

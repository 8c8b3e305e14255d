"""What can be wrong with the plugins or component names that a user asks for."""

from __future__ import annotations

from agents_core.errors import AgentsError, UserError


class UnknownComponentError(UserError):
    """Nothing installed has this name."""


class AmbiguousComponentError(UserError):
    """Several plugins offer this name."""


class BrokenPluginError(UserError):
    """What was asked for belongs to a plugin that is broken, incompatible or blocked."""


class LocalPluginError(UserError):
    """A file or module in an experiment's `plugins:` cannot be used."""


class RequirementError(UserError):
    """An experiment's `requires:` is not met."""


class BlockedNameError(UserError):
    """A plugin that was to be blocked is not there or is essential."""


class StrictPluginsError(UserError):
    """Under `--strict-plugins`: an installed plugin is not in order."""


class ObserverError(AgentsError):
    """An observer hook of a plugin raised; the cause is chained."""

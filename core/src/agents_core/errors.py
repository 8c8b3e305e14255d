"""Exceptions whose message is meant for the user; the command line prints them without a traceback."""

from __future__ import annotations


class AgentsError(Exception):
    """Base of every error that the command line reports as one message.

    `exit_code` is what the `agents` command ends with, `heading` what stands before the message.
    """

    exit_code = 1
    heading = "Error: "


class UserError(AgentsError):
    """Something the user gave (config, argument, file, plugin) is wrong."""

    exit_code = 2


class EnvironmentFailedError(AgentsError):
    """An environment raised, died, hung or gave a non-finite observation or reward."""

    exit_code = 3


class NonFiniteError(AgentsError):
    """A loss or a weight became NaN or infinite."""

    exit_code = 4

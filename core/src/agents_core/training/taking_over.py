"""Giving a trainer what a checkpoint holds."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from agents_core.errors import UserError
from agents_core.training.checkpoint_files import Checkpoint
from agents_core.training.learner import Learner, check_spec, spec_from_tree
from agents_core.training.state_tree import StateMismatchError, check_same_arrays

_log = logging.getLogger(__name__)


def take_over(learner: Learner, checkpoint: Checkpoint, *, only_policy: bool) -> None:
    """Let a learner's trainer go on from a checkpoint.

    Args:
        learner: Its trainer is given the states.
        checkpoint: Of the same behavior.
        only_policy: Take the policy alone, and nothing of what trained it.

    Raises:
        UserError: It is of another policy, or of a trainer that was set up otherwise.
    """
    check_spec(learner.name, spec_from_tree(checkpoint.state["spec"]), learner.spec)
    trainer = learner.trainer
    try:
        check_same_arrays(checkpoint.policy, trainer.policy_state(), checkpoint.path)
        trainer.load_policy_state(checkpoint.policy)
        if only_policy:
            _log.info("%s: starts with the policy of %s, of another kind of trainer", learner.name, checkpoint.path)
            return
        trainer.load_state_dict(checkpoint.trainer)
    except (KeyError, RuntimeError, TypeError, ValueError, UserError) as error:
        if only_policy and isinstance(error, StateMismatchError):
            raise UserError(
                f"{error}\nIt is the policy of {checkpoint.state['trainer']}: `network.std` and `network.squash` must "
                "say how it draws actions, such as {std: state, squash: true} for the squashed Gaussians of SAC."
            ) from error
        if only_policy:
            raise
        reason = _what_differs(learner, checkpoint)
        if reason is None and isinstance(error, StateMismatchError):
            raise
        advice = ". Use the `trainer`, `network` and `reward_signals` that it was trained with"
        reason = reason or (str(error) if isinstance(error, UserError) else f"{error}{advice}")
        raise UserError(f"{checkpoint.path}: was saved by a trainer that was set up otherwise: {reason}") from error


def _what_differs(learner: Learner, checkpoint: Checkpoint) -> str | None:
    """In the words of the experiment file, why a trainer cannot go on from a checkpoint; None = something else."""
    state = checkpoint.state
    if state["trainer"] != learner.kind:
        return (
            f"by {state['trainer']}, here is {learner.kind}. Use the `trainer` that it was trained with, or start "
            "another run with its policy: agents run CONFIG --init-from RUN"
        )
    signals = state.get("reward_signals", learner.signals)
    if signals != learner.signals:
        return (
            f"with `reward_signals` {_listed(signals)}, here are {_listed(learner.signals)}. Use the `reward_signals` "
            "that it was trained with; to change them, start another run"
        )
    return None


def _listed(signals: Mapping[str, bool]) -> str:
    return ", ".join(name if has_value else f"{name} (strength 0)" for name, has_value in signals.items()) or "none"

"""Giving a trainer what a checkpoint holds."""

from __future__ import annotations

import logging

from agents_core.contracts.trainer import Trainer
from agents_core.errors import UserError
from agents_core.spec import BehaviorSpec
from agents_core.training.checkpoint_files import Checkpoint
from agents_core.training.learner import check_spec, spec_from_tree
from agents_core.training.state_tree import check_same_arrays

_log = logging.getLogger(__name__)


def take_over(
    behavior: str, trainer: Trainer, spec: BehaviorSpec, checkpoint: Checkpoint, *, only_policy: bool
) -> None:
    """Go on from a checkpoint.

    Args:
        behavior: Name of the behavior, for messages.
        trainer: Is given the states.
        spec: What the behavior sees and does.
        checkpoint: Of the same behavior.
        only_policy: Take the policy alone, and nothing of what trained it.

    Raises:
        UserError: It is of another policy, or of a trainer that was set up otherwise.
    """
    check_spec(behavior, spec_from_tree(checkpoint.state["spec"]), spec)
    check_same_arrays(checkpoint.policy, trainer.policy_state(), checkpoint.path)
    trainer.load_policy_state(checkpoint.policy)
    if only_policy:
        _log.info("%s: starts with the policy of %s, which another kind of trainer made", behavior, checkpoint.path)
        return
    try:
        trainer.load_state_dict(checkpoint.trainer)
    except (KeyError, RuntimeError, TypeError, ValueError) as error:
        raise UserError(
            f"{checkpoint.path}: was saved by a trainer that was set up otherwise: {error}. "
            "Use the `trainer`, `network` and `reward_signals` that it was trained with"
        ) from error

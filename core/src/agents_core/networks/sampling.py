"""Choosing actions from an actor's outputs, in NumPy: actions go to the host whatever computed the outputs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from agents_core.contracts.environment import Actions
from agents_core.errors import EnvironmentFailedError
from agents_core.networks.distributions import ILLEGAL, ActionForm
from agents_core.spec import ActionSpec

Floats = npt.NDArray[np.float32]


def choose_actions(
    outputs: Floats,
    log_std: Floats,
    mask: npt.NDArray[np.bool_] | None,
    form: ActionForm,
    generator: np.random.Generator | None,
) -> Actions:
    """Actions of n agents.

    Args:
        outputs: float32[n, form.outputs], of the actor.
        log_std: float32[continuous]; without meaning where log σ stands among the outputs.
        mask: bool[n, sum of branches], True = allowed; None = everything is.
        form: What the outputs are.
        generator: Source of the samples; None = the most likely action.

    Raises:
        EnvironmentFailedError: The mask leaves an agent nothing to do.
    """
    rows, continuous = len(outputs), form.spec.continuous_size
    if continuous:
        raw, log_std = form.gaussian(outputs, log_std)
        if generator is not None:
            noise = generator.standard_normal((rows, continuous), np.float32)
            noise *= np.exp(log_std)
            raw = raw + noise
        executed = _executed(raw, form)
    else:
        raw = executed = np.empty((rows, 0), np.float32)
    discrete = _choose_discrete(outputs[:, form.gaussian_size :], mask, form.spec, generator)
    return Actions(np.ascontiguousarray(executed), discrete, np.ascontiguousarray(raw))


def _executed(raw: Floats, form: ActionForm) -> Floats:
    if form.squash:
        return np.tanh(raw)
    return np.minimum(np.maximum(raw, -1.0), 1.0) if form.spec.bounded else raw


def _choose_discrete(
    logits: Floats, mask: npt.NDArray[np.bool_] | None, spec: ActionSpec, generator: np.random.Generator | None
) -> npt.NDArray[np.int64]:
    branches = spec.discrete_branches
    if not branches:
        return np.empty((len(logits), 0), np.int64)
    if generator is not None:
        # argmax(logit - log E), E ~ Exp(1), is distributed as softmax(logits) (the Gumbel-max trick).
        noise = generator.standard_exponential(logits.shape, np.float32)
        np.maximum(noise, np.float32(1e-30), out=noise)
        logits = logits - np.log(noise, out=noise)
    if mask is not None:
        _check_mask(mask, branches)
        logits = np.where(mask, logits, np.float32(ILLEGAL))
    if len(branches) == 1:
        only: npt.NDArray[np.int64] = logits.argmax(axis=1)[:, None]
        return only
    chosen = np.empty((len(logits), len(branches)), np.int64)
    start = 0
    for branch, size in enumerate(branches):
        logits[:, start : start + size].argmax(axis=1, out=chosen[:, branch])
        start += size
    return chosen


def _check_mask(mask: npt.NDArray[np.bool_], branches: tuple[int, ...]) -> None:
    start = 0
    for branch, size in enumerate(branches):
        legal = mask[:, start : start + size].any(axis=1)
        if not legal.all():
            rows = np.flatnonzero(~legal)
            raise EnvironmentFailedError(
                f"the action mask allows nothing in branch {branch} (of {size} actions) for {len(rows)} of "
                f"{len(mask)} agents, first in row {rows[0]}; an agent that needs a decision must have one to take"
            )
        start += size

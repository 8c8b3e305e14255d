"""Advantages and returns over trajectories of different lengths, in float64 NumPy."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int64]


def generalised_advantages(
    rewards: Floats,
    values: Floats,
    lengths: Ints,
    final_values: Floats,
    terminated: npt.NDArray[np.bool_],
    gamma: float,
    lambd: float,
) -> npt.NDArray[np.float64]:
    """Generalised advantage estimates (Schulman et al. 2016, equation 16), float64[n].

    δ_t = r_t + γ V_{t+1} - V_t and A_t = δ_t + γλ A_{t+1}; V after the last row is 0 where the episode terminated
    there, else the value of what the agent saw next.

    Args:
        rewards: float[n], trajectories one after another, each in the order of time.
        values: float[n], value of each row's observation.
        lengths: int64[m], rows of each trajectory.
        final_values: float[m], value of the observation after each trajectory's last row.
        terminated: bool[m], whether the episode ended there by the task itself.
        gamma: Discount.
        lambd: Trade-off between bias (0) and variance (1).
    """
    last = np.cumsum(lengths) - 1
    values = values.astype(np.float64)
    next_values = np.empty_like(values)
    next_values[:-1] = values[1:]
    next_values[last] = np.where(terminated, 0.0, final_values)
    delta = rewards + gamma * next_values - values
    return linear_recurrence(delta[::-1], lengths[::-1], gamma * lambd)[::-1]


def linear_recurrence(
    values: Floats, lengths: Ints, factor: float, initial: Floats | None = None
) -> npt.NDArray[np.float64]:
    """y_t = x_t + factor · y_{t-1} within each segment, float64[n].

    By doubling (Hillis & Steele 1986): after the k-th pass, y_t = Σ factor^i · x_{t-i} over i < 2^k.

    Args:
        values: float[n], the x of all segments, one segment after another.
        lengths: int64[m], values in each segment, at least 1.
        factor: Weight of what came before.
        initial: float[m], y before each segment's first value; None = 0.
    """
    result = values.astype(np.float64)
    starts = np.cumsum(lengths) - lengths
    if initial is not None:
        result[starts] += factor * initial
    time = np.arange(len(result)) - np.repeat(starts, lengths)
    longest, reach = int(lengths.max(initial=0)), 1
    while reach < longest:
        carried = result[:-reach] * factor
        carried *= time[reach:] >= reach
        result[reach:] += carried
        reach, factor = 2 * reach, factor * factor
    return result

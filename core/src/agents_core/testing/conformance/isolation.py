"""Keeps checks from disturbing one another, and sees what a component does to the process it runs in."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

Questions = dict[str, Callable[[], Any]]


def _numpy_state() -> list[Any]:
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  # the global one is what must not be touched
    return [kind, np.asarray(keys).tolist(), *rest]


GENERATORS: Questions = {
    "torch": lambda: torch.get_rng_state().tolist(),
    "numpy.random": _numpy_state,
    "random": random.getstate,
}
"""The states of the global generators of this process."""

SETTINGS: Questions = {
    "torch.is_grad_enabled()": torch.is_grad_enabled,
    "torch.get_default_dtype()": torch.get_default_dtype,
    "torch.get_num_threads()": torch.get_num_threads,
    "torch.are_deterministic_algorithms_enabled()": torch.are_deterministic_algorithms_enabled,
    "torch.is_anomaly_enabled()": torch.is_anomaly_enabled,
    "numpy.geterr()": np.geterr,
}
"""Settings of the whole process that a component has no say in."""


def read(questions: Questions) -> dict[str, Any]:
    """The answers to `GENERATORS` or `SETTINGS`."""
    return {name: ask() for name, ask in questions.items()}


@contextmanager
def global_seed(seed: int) -> Iterator[None]:
    """Global generators seeded alike, and generators and settings as they were afterwards."""
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()  # noqa: NPY002
    grad, dtype, threads = torch.is_grad_enabled(), torch.get_default_dtype(), torch.get_num_threads()
    deterministic, anomaly = torch.are_deterministic_algorithms_enabled(), torch.is_anomaly_enabled()
    errors = np.geterr()
    torch.manual_seed(seed)
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        yield
    finally:
        torch.set_rng_state(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        random.setstate(states[2])
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.set_num_threads(threads)
        torch.use_deterministic_algorithms(deterministic)
        torch.autograd.set_detect_anomaly(anomaly)
        np.seterr(**errors)

"""Seeds of the single environments of a run."""

from __future__ import annotations

from agents_core.seeding import integer_seed, named_seed


def environment_seed(seed: int, number: int, restart: int = 0) -> int:
    """The seed of environment `number` of a pool that is reset with `seed`, below 2^31.

    It depends on nothing else, so that a run sees the same episodes however its environments are spread over workers.
    An `Environment` object that hosts several instances is given the pool's seed as it is and derives the seed of its
    i-th instance with `environment_seed(seed, context.first_env + i)`.

    Args:
        seed: What the pool was reset with.
        number: The environment's number within the run, from 0.
        restart: How many times the environment's worker has been restarted.
    """
    names = (number,) if restart == 0 else (number, "restart", restart)
    return integer_seed(named_seed(seed, "instance", *names))

"""The environments of one process, stepped one after another as one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from agents_core.contracts.environment import Actions, EnvironmentSteps
from agents_core.environments.checks import add_specs, is_finite
from agents_core.environments.hosting import Host, MakeEnvironment, Place
from agents_core.environments.merging import Merger
from agents_core.environments.stacking import Int64s
from agents_core.errors import EnvironmentFailedError, UserError
from agents_core.spec import BehaviorSpec


class EnvironmentGroup:
    """Makes environment objects, steps them and merges what they give.

    Args:
        make_environment: `make_environment(first_env, num_envs)`.
        places: The objects of this process.
        total: Objects in the whole pool.
        num_envs: Environments in the whole pool.

    Raises:
        EnvironmentFailedError: From every method, when an environment raised or returned what it may not.
        UserError: The environment allows fewer instances, or as its factory raised it.
    """

    def __init__(self, make_environment: MakeEnvironment, places: Sequence[Place], total: int, num_envs: int) -> None:
        self._hosts: list[Host] = []
        self._specs: dict[str, BehaviorSpec] = {}
        self._merger = Merger([place.index for place in places], total, self._check_ids)
        try:
            for place in places:
                self._hosts.append(Host(make_environment, place))
                _check_limit(self.max_instances, num_envs)
        except BaseException:
            with suppress(EnvironmentFailedError):  # What went wrong first is what the user must see.
                self.close()
            raise

    @property
    def max_instances(self) -> int | None:
        """As `Environment.max_instances`."""
        return self._hosts[0].environment.max_instances

    @property
    def hidden_state(self) -> tuple[str, ...]:
        """As `Environment.hidden_state`."""
        return self._hosts[0].environment.hidden_state

    @property
    def behavior_specs(self) -> dict[str, BehaviorSpec]:
        """Spec of each behavior that an environment has named so far.

        Raises:
            EnvironmentFailedError: Two environments give one behavior different specs.
        """
        self._read_specs()
        return dict(self._specs)

    def reset(self, seed: int | None, parameters: Mapping[str, float] | None, restart: int = 0) -> EnvironmentSteps:
        """Start new episodes everywhere.

        Args:
            seed: Of the whole pool; each environment's own follows from it and from its number.
            parameters: As for `Environment.reset`.
            restart: How many times the worker has been restarted.
        """
        return self._merge([host.reset(seed, parameters, restart) for host in self._hosts])

    def step(self, actions: Mapping[str, Actions]) -> EnvironmentSteps:
        """Advance every environment by its part of the actions."""
        split = self._merger.split(actions)
        return self._merge([host.step(own) for host, own in zip(self._hosts, split, strict=True)])

    def close(self) -> None:
        """Close every environment, also when closing one fails; calling it twice is allowed.

        Raises:
            EnvironmentFailedError: Closing an environment failed; the first failure.
        """
        hosts, self._hosts = self._hosts, []
        failures = []
        for host in hosts:
            try:
                host.close()
            except EnvironmentFailedError as failure:
                failures.append(failure)
        if failures:
            raise failures[0]

    def _merge(self, steps: list[EnvironmentSteps]) -> EnvironmentSteps:
        if any(name not in self._specs for step in steps for name in step.behaviors):
            self._read_specs()
        merged = self._merger.merge(steps, self._specs)
        for name, behavior in merged.behaviors.items():
            if not is_finite(behavior):
                for host, step in zip(self._hosts, steps, strict=True):
                    host.refuse_non_finite(name, step)
        return merged

    def _read_specs(self) -> None:
        for host in self._hosts:
            add_specs(self._specs, host.environment.behavior_specs, str(host.place))

    def _check_ids(self, name: str, source: int, agent_id: Int64s) -> None:
        self._hosts[source].check_ids(name, agent_id)


def _check_limit(limit: int | None, num_envs: int) -> None:
    if limit is not None and num_envs > limit:
        raise UserError(
            f"environment.num_envs is {num_envs}, but only {limit} of this environment can be open at once; "
            f"set environment.num_envs: {limit} (or --num-envs {limit})"
        )

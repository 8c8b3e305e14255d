"""How episodes start, with a seed and without."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from agents_core.contracts.environment import Environment
from agents_core.environments.seeding import environment_seed
from agents_core.plugin import EnvironmentSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.environments.harness import EnvironmentChecks
from agents_core.testing.conformance.environments.seen import Seen, first_difference, rows, seen
from agents_core.testing.conformance.isolation import global_seed


class StartChecks(EnvironmentChecks):
    """Checks of seeds and resets."""

    def test_a_seed_repeats(self) -> None:
        """Two environments that are reset with one seed and act alike show the same.

        Mend: draw everything from a generator that `reset` seeds.
        """
        histories = []
        for seed in (7, 8):
            with global_seed(seed), closing(self.make()) as environment:
                histories.append(self._history(environment))
        found = first_difference(histories[0], histories[1])
        require(found is None, "one seed gives the same episodes", found, "no difference")

    def test_a_reset_with_the_seed_starts_the_same_again(self) -> None:
        """What was done before leaves no trace, unless `hidden_state` names it.

        Mend: set everything in `reset`; name in `hidden_state` what cannot be, such as a wrapper's running statistics.
        """
        with closing(self.make()) as environment:
            if environment.hidden_state:
                skip(f"it says that {', '.join(environment.hidden_state)} is not restored")
            first = self._history(environment)
            found = first_difference(first, self._history(environment))
            require(found is None, "a reset with the same seed starts the same again", found, "no difference")

    def test_a_reset_without_a_seed_goes_on(self) -> None:
        """`reset()` starts new episodes with the generators as they are, in the middle of episodes too.

        Mend: leave generators alone where `seed` is None.
        """
        with closing(self.make()) as environment:
            for _ in range(3):
                steps = environment.reset()
                asked = sum(len(behavior.decision) for behavior in steps.behaviors.values())
                require(asked > 0, "`reset()` without a seed starts episodes", "nobody is asked", "an agent")
                environment.step(self.actions(steps, environment, np.random.default_rng(0)))

    def test_instances_are_those_of_single_environments(self) -> None:
        """An object that hosts many gives what that many objects would: each instance has a seed of its own.

        Mend: `environment_seed(seed, context.first_env + i)` of `agents_core.environments.seeding` for instance i.
        """
        own = self.found().spec
        if not (isinstance(own, EnvironmentSpec) and own.hosts_many):
            skip("an object hosts one instance")
        with closing(self.make(num_envs=2)) as environment:
            together = rows(environment.reset(3))
        apart: dict[str, list[bytes]] = {}
        for first in (0, 1):
            with closing(self.make(first_env=first)) as environment:
                for name, agents in rows(environment.reset(3)).items():
                    apart.setdefault(name, []).extend(agents)
        same = {name: sorted(agents) for name, agents in apart.items()} == {
            name: sorted(agents) for name, agents in together.items()
        }
        counts = {name: len(agents) for name, agents in together.items()}
        rule = "two instances in one object start as two objects with one"
        require(same, rule, f"other observations ({counts} agents)", f"seeds {environment_seed(3, 0)}, …")

    def _history(self, environment: Environment) -> list[Seen]:
        return [seen(steps) for steps in self.walk(environment)]

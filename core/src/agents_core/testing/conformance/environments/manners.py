"""What an environment does with actions, generators and its end."""

from __future__ import annotations

from contextlib import closing

import numpy as np

from agents_core.registry.names import describe
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.environments.harness import EnvironmentChecks
from agents_core.testing.conformance.isolation import GENERATORS, global_seed, read


class MannerChecks(EnvironmentChecks):
    """Checks that an environment takes what it is given and leaves everything else as it is."""

    def test_actions_stay_as_they_are(self) -> None:
        """`step` only reads the actions: the policy's arrays are stored as experience.

        Mend: rescale and clip copies.
        """
        with closing(self.make()) as environment:
            steps, generator = environment.reset(0), np.random.default_rng(0)
            for _ in range(self.steps // 4):
                actions = self.actions(steps, environment, generator)
                before = {name: (each.continuous.copy(), each.discrete.copy()) for name, each in actions.items()}
                steps = environment.step(actions)
                changed = [
                    name
                    for name, (continuous, discrete) in before.items()
                    if not (
                        np.array_equal(continuous, actions[name].continuous)
                        and np.array_equal(discrete, actions[name].discrete)
                    )
                ]
                require(not changed, "actions stay as they are", f"changed: {', '.join(changed)}", "the same arrays")

    def test_the_ends_of_the_action_range_are_allowed(self) -> None:
        """-1 and 1 are actions of a bounded space.

        Mend: clip to the bounds after rescaling, which rounds.
        """
        with closing(self.make()) as environment:
            steps, generator = environment.reset(0), np.random.default_rng(0)
            specs = environment.behavior_specs
            if not any(spec.action.continuous_size and spec.action.bounded for spec in specs.values()):
                skip("no behavior has bounded continuous actions")
            for place in range(20):
                actions = self.actions(steps, environment, generator)
                for each in actions.values():
                    each.continuous[:] = -1.0 if place % 2 else 1.0
                steps = environment.step(actions)

    def test_global_generators_are_left_alone(self) -> None:
        """Nothing draws from the global generators of torch, NumPy or `random`.

        Mend: draw from a generator of the environment's own, which `reset` seeds.
        """
        with global_seed(0):
            before = read(GENERATORS)
            with closing(self.make()) as environment:
                for _ in self.walk(environment):
                    pass
            after = read(GENERATORS)
        used = [name for name in before if before[name] != after[name]]
        require(not used, "global generators are not used", f"drawn from: {', '.join(used)}", "none")

    def test_closing_twice_is_allowed(self) -> None:
        """A run that fails closes its environments again, perhaps before their first reset.

        Mend: remember that it is closed.
        """
        for is_reset in (False, True):
            environment = self.make()
            if is_reset:
                environment.reset(0)
            environment.close()
            try:
                environment.close()
            except Exception as error:
                require(False, "closing twice is allowed", describe(error), "nothing happens")

"""What an encoder learns with."""

from __future__ import annotations

import torch

from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.options import NetworkConfig
from agents_core.plugin import EncoderSpec
from agents_core.registry.names import describe
from agents_core.spec import ActionSpec, BehaviorSpec
from agents_core.testing.conformance.checks import require, skip
from agents_core.testing.conformance.encoders.harness import ROWS, EncoderChecks, draw, flat, shown
from agents_core.testing.conformance.isolation import global_seed


class WeightChecks(EncoderChecks):
    """Checks of weights, and of the network that they join."""

    def test_a_seed_repeats(self) -> None:
        """First weights come from `context.generator` alone.

        Mend: `Initialiser(context.initialization, context.generator)` makes layers; torch's own layers draw from its
        global generator, which is seeded while the factory runs, NumPy's and `random`'s are not.
        """
        for title, observation in self.accepted().items():
            codes = []
            for seed in (1, 2):
                with global_seed(seed), torch.no_grad():
                    codes.append(flat(self.make(observation)(draw(observation))))
            same = torch.equal(*codes) or bool(torch.isnan(codes[0]).any())
            require(same, f"{title}: one seed gives the same weights", shown(codes[1]), shown(codes[0]))

    def test_gradients_reach_every_weight(self) -> None:
        """The loss of the policy trains the encoder, all of it.

        Mend: no `detach` and no NumPy between observation and code; drop layers that `forward` does not use.
        """
        for title, observation, encoder in self.encoders():
            weights = {name: weight for name, weight in encoder.named_parameters() if weight.requires_grad}
            if not weights:
                continue
            code = encoder(draw(observation))
            rule = f"{title}: gradients reach every weight"
            require(
                bool(code.requires_grad), rule, "the code carries no gradient", "a code that depends on the weights"
            )
            code.float().square().sum().backward()
            untouched = [name for name, weight in weights.items() if weight.grad is None]
            require(not untouched, rule, f"none at {', '.join(untouched)}", ", ".join(weights))

    def test_there_is_no_state_beside_the_weights(self) -> None:
        """Weights are what is learned, saved and exported; buffers are not.

        Mend: make constants plain attributes computed in `forward`, or `nn.Parameter(…, requires_grad=True)`.
        """
        for title, _, encoder in self.encoders():
            buffers = [name for name, _ in encoder.named_buffers()]
            frozen = [name for name, weight in encoder.named_parameters() if not weight.requires_grad]
            found = ", ".join([*buffers, *frozen])
            require(not found, f"{title}: all state is in weights that learn", f"beside them: {found}", "none")

    def test_a_network_acts_with_it(self) -> None:
        """An actor-critic network takes the encoder for its observation, and its weights join the network's.

        Mend: return an `nn.Module` whose weights are float32 and registered.
        """
        component = self.found()
        for title, observation in self.accepted().items():
            kinds = component.spec.observation_kinds if isinstance(component.spec, EncoderSpec) else ()
            chosen = ChosenEncoder(component.title, component.load_factory(), self.options(), kinds)
            spec = BehaviorSpec((observation,), ActionSpec(discrete_branches=(3,)))
            config, generator = NetworkConfig(hidden_units=16), torch.Generator().manual_seed(0)
            try:
                with global_seed(0), torch.no_grad():
                    network = ActorCritic(spec, config, 1, torch.device("cpu"), generator, {observation.name: chosen})
                    outputs, _ = network([draw(observation)])
            except UserError as error:  # a network looks at widths, dtypes and buffers, as the other checks do
                skip(str(error))
                raise
            except Exception as error:
                require(False, f"{title}: a network takes the encoder", describe(error), "outputs")
                raise
            require(outputs.shape == (ROWS, 3), f"{title}: a network acts with it", list(outputs.shape), [ROWS, 3])

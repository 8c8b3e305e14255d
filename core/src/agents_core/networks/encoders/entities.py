"""A varying number of entities, by masked self-attention (after Baker et al. 2020, as in Unity ML-Agents)."""

from __future__ import annotations

from torch import Tensor, nn

from agents_core.contracts.encoder import EncoderContext
from agents_core.errors import UserError
from agents_core.networks.encoders.config import EntitiesConfig
from agents_core.networks.initialisation import Initialiser


class EntitiesEncoder(nn.Module):
    """Embeds each entity, lets all of them attend to one another, and takes the mean over those that are there.

    An entity whose numbers are all 0 is padding. It has no influence on the code, wherever it stands and however many
    there are; without any entity the code is 0.

    Attributes:
        output_size: Width of what `forward` returns.
    """

    def __init__(self, features: int, config: EntitiesConfig, initialiser: Initialiser) -> None:
        super().__init__()
        width = self.output_size = config.embedding
        self._heads = config.heads
        self.embed = initialiser.linear(features, width)
        self.queries_keys_values = initialiser.linear(width, 3 * width, gain=1.0)
        self.attended = initialiser.linear(width, width, gain=1.0)
        self.norm = nn.LayerNorm(width, elementwise_affine=False)

    def forward(self, entities: Tensor) -> Tensor:
        """float32[n, output_size] of entities [n, slots, features]."""
        entities = entities.float()
        present = (entities != 0).any(dim=2)
        embedded = nn.functional.silu(self.embed(entities))
        hidden = self.norm(embedded + self._attend(self.norm(embedded), present))
        total = (hidden * present.unsqueeze(2)).sum(dim=1)
        mean: Tensor = total / present.sum(dim=1, keepdim=True).clamp(min=1)
        return mean

    def _attend(self, embedded: Tensor, present: Tensor) -> Tensor:
        """What each entity takes from those that are present, float32[n, slots, width]."""
        rows, slots, width = embedded.shape
        split = self.queries_keys_values(embedded).view(rows, slots, 3, self._heads, width // self._heads)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)
        # Where nobody is present all may be attended to: the result is not used, but a softmax over nothing is NaN.
        allowed = present | ~present.any(dim=1, keepdim=True)
        attention = nn.functional.scaled_dot_product_attention(
            queries, keys, values, attn_mask=allowed[:, None, None, :]
        )
        taken: Tensor = self.attended(attention.transpose(1, 2).reshape(rows, slots, width))
        return taken


def make_entities(context: EncoderContext[EntitiesConfig]) -> EntitiesEncoder:
    """The encoder `entities`.

    Raises:
        UserError: The observation has other axes than entities and their numbers.
    """
    observation = context.observation
    if len(observation.shape) != 2 or 0 in observation.shape:
        raise UserError(
            f"observation {observation.name!r} has shape {observation.shape}, but encoder 'entities' takes "
            "(most entities, numbers of each). Give it this shape in the environment, padded with rows of 0"
        )
    initialiser = Initialiser(context.initialization, context.generator)
    return EntitiesEncoder(observation.shape[1], context.config, initialiser)

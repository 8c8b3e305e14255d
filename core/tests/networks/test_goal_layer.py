"""Goals make the weights of the last layer where the experiment says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks import goal_layer
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.encoders.config import VectorConfig
from agents_core.networks.goal_layer import GoalLayer
from agents_core.networks.initialisation import Initialiser, torch_generator
from agents_core.options import NetworkConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from torch import Tensor, nn

STATE, OTHER = ObservationSpec("state", (5,)), ObservationSpec("other", (2, 2))
GOAL, SECOND_GOAL = ObservationSpec("target", (3,), kind="goal"), ObservationSpec("colour", (2,), kind="goal")


def make_network(
    *observations: ObservationSpec, num_layers: int = 2, encoders: dict[str, ChosenEncoder] | None = None
) -> ActorCritic:
    config = NetworkConfig(hidden_units=8, num_layers=num_layers, conditioning="hyper")
    generator = torch_generator(np.random.SeedSequence(0))
    spec = BehaviorSpec(observations, ActionSpec(0, (4,)))
    return ActorCritic(spec, config, 1, torch.device("cpu"), generator, encoders)


def make_layer(inputs: int = 6, outputs: int = 4, goals: int = 3) -> GoalLayer:
    return GoalLayer(inputs, outputs, goals, Initialiser("orthogonal", torch_generator(np.random.SeedSequence(1))))


def array(tensor: Tensor) -> Any:
    return tensor.detach().numpy().astype(np.float64)


def silu(values: Any) -> Any:
    return values / (1 + np.exp(-values))


def test_a_row_s_output_is_that_of_the_weights_its_goal_makes() -> None:
    layer = make_layer()
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.normal_()
    hidden, goals = torch.randn(7, 6), torch.randn(7, 3)
    modules: Any = layer.code
    code = array(goals)
    for linear in (modules[0], modules[2]):
        code = silu(code @ array(linear.weight).T + array(linear.bias))
    code = (code - code.mean(1, keepdims=True)) / np.sqrt(code.var(1, keepdims=True) + 1e-5)
    for row, output in enumerate(array(layer(hidden, goals))):
        weights = (array(layer.weights.weight) @ code[row] + array(layer.weights.bias)).reshape(4, 6)
        np.testing.assert_allclose(output, weights @ array(hidden)[row] + array(layer.bias), atol=1e-4)


def test_many_rows_are_worked_through_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    layer, hidden, goals = make_layer(), torch.randn(7, 6), torch.randn(7, 3)
    expected = layer(hidden, goals)
    monkeypatch.setattr(goal_layer, "_NUMBERS", 2 * 4 * 6)
    torch.testing.assert_close(layer(hidden, goals), expected)
    assert layer(hidden[:0], goals[:0]).shape == (0, 4)


@pytest.mark.parametrize(("inputs", "outputs"), [(16, 16), (16, 128), (128, 16)])
def test_first_outputs_have_one_size_whatever_the_widths(inputs: int, outputs: int) -> None:
    layer = make_layer(inputs, outputs)
    assert layer(torch.randn(500, inputs), torch.randn(500, 3)).std().item() == pytest.approx(np.sqrt(1 / 3), rel=0.2)


def test_goals_are_no_inputs_of_the_other_layers() -> None:
    body: Any = make_network(STATE, GOAL, OTHER, SECOND_GOAL).actor_body
    assert [layer.in_features for layer in body.linear_layers] == [5 + 4]
    assert body.goal_layer.code[0].in_features == 3 + 2
    only: Any = make_network(STATE, GOAL, num_layers=1).actor_body
    assert only.linear_layers == []
    assert only((torch.randn(6, 5), torch.randn(6, 3))).shape == (6, 8)


def test_other_goals_mean_other_outputs() -> None:
    network = make_network(STATE, GOAL)
    state, goals = torch.randn(1, 5).expand(2, 5), torch.eye(3)[:2]
    first, second = network.act((state, goals))
    assert not torch.allclose(first, second)
    assert not network.is_plain


def test_the_gradient_reaches_what_encodes_the_goal() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.output_size = 3
            self.factor = nn.Parameter(torch.ones(3))

        def forward(self, goal: Tensor) -> Tensor:
            return goal * self.factor

    network = make_network(
        STATE, GOAL, encoders={"target": ChosenEncoder("encoder 'scale'", lambda _: Scale(), VectorConfig())}
    )
    encoder: Any = network.actor_body.encoders[1]
    network.flat.differentiate(network.act((torch.randn(6, 5), torch.randn(6, 3))).square().sum())
    assert network.flat.gradient_of(encoder.factor).abs().min() > 0


def test_hyper_without_a_goal_is_refused() -> None:
    message = (
        r"network.conditioning: hyper .* the behavior has no observation of kind 'goal'; it has 'state' \(vector\). "
        "Set `conditioning: concat`"
    )
    with pytest.raises(UserError, match=message):
        make_network(STATE)


def test_goals_alone_are_refused() -> None:
    with pytest.raises(UserError, match=r"no observation beside its goals; it has 'target' \(goal\)"):
        make_network(GOAL)

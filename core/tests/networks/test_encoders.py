"""Encoders: sizes, scaling, padding, choice by kind and by name, and what is refused before training."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
import torch
from agents_core.contracts.encoder import ChosenEncoder, EncoderContext
from agents_core.errors import UserError
from agents_core.networks.actor_critic import ActorCritic
from agents_core.networks.encoders.choice import build_encoder
from agents_core.networks.encoders.config import EntitiesConfig
from agents_core.networks.initialisation import torch_generator
from agents_core.options import ConfigModel, NetworkConfig
from agents_core.registry import load_registry
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec
from torch import nn

DISCRETE = ActionSpec(0, (3,))
NETWORK = NetworkConfig(hidden_units=16)


def image(height: int, width: int, channels: int = 3, dtype: str = "uint8") -> ObservationSpec:
    return ObservationSpec("camera", (height, width, channels), dtype, "image")


def chosen(name: str, **options: object) -> ChosenEncoder:
    """A registered encoder with options of its config."""
    component = load_registry().find("encoder", name)
    return ChosenEncoder(f"encoder {name!r}", component.load_factory(), component.load_config()(**options))


def build(observation: ObservationSpec, encoder: ChosenEncoder | None = None, seed: int = 0) -> Any:
    return build_encoder(observation, encoder, NETWORK, torch_generator(np.random.SeedSequence(seed)))


def make_network(*observations: ObservationSpec, encoders: Mapping[str, ChosenEncoder] | None = None) -> ActorCritic:
    generator = torch_generator(np.random.SeedSequence(0))
    return ActorCritic(BehaviorSpec(observations, DISCRETE), NETWORK, 1, torch.device("cpu"), generator, encoders)


def convolutions(module: nn.Module) -> list[tuple[int, ...]]:
    """(inputs, outputs, kernel, stride, padding) of each."""
    return [
        (part.in_channels, part.out_channels, part.kernel_size[0], part.stride[0], int(part.padding[0]))
        for part in module.modules()
        if isinstance(part, nn.Conv2d)
    ]


@pytest.mark.parametrize(
    ("name", "expected", "features"),
    [
        ("fully_connected", [], 40 * 44 * 3),
        ("simple", [(3, 16, 8, 4, 0), (16, 32, 4, 2, 0)], 32 * 3 * 4),
        ("nature_cnn", [(3, 32, 8, 4, 0), (32, 64, 4, 2, 0), (64, 64, 3, 1, 0)], 64 * 1 * 2),
        ("match3", [(3, 35, 3, 1, 0), (35, 144, 3, 1, 0)], 144 * 36 * 40),
        ("symbolic", [(3, 16, 2, 1, 0), (16, 32, 2, 1, 0)], 32 * 38 * 42),
    ],
)
def test_layers_have_the_published_sizes(name: str, expected: list[tuple[int, ...]], features: int) -> None:
    encoder = build(image(40, 44), chosen(name))
    assert convolutions(encoder) == expected
    assert encoder.dense.in_features == features
    assert encoder(torch.zeros(5, 40, 44, 3, dtype=torch.uint8)).shape == (5, 16)


def test_resnet_has_three_stacks_of_two_residual_blocks() -> None:
    encoder = build(image(40, 44), chosen("resnet"))
    stack = [(16, 16, 3, 1, 1)] * 4, [(32, 32, 3, 1, 1)] * 4
    assert convolutions(encoder) == [
        (3, 16, 3, 1, 1),
        *stack[0],
        (16, 32, 3, 1, 1),
        *stack[1],
        *[(32, 32, 3, 1, 1)] * 5,
    ]
    # 40 -> 19 -> 9 -> 4 and 44 -> 21 -> 10 -> 4 by pooling 3 x 3 with stride 2
    assert encoder.dense.in_features == 32 * 4 * 4


@pytest.mark.parametrize(
    ("name", "side"), [("simple", 20), ("nature_cnn", 36), ("resnet", 15), ("match3", 5), ("symbolic", 3)]
)
def test_images_that_are_too_small_are_refused_with_what_fits(name: str, side: int) -> None:
    assert build(image(side, side), chosen(name))(torch.zeros(1, side, side, 3, dtype=torch.uint8)).shape == (1, 16)
    with pytest.raises(UserError) as error:
        make_network(image(side + 9, side - 1), encoders={"camera": chosen(name)})
    message = str(error.value)
    assert f"'camera' of shape {(side + 9, side - 1, 3)} is too small for encoder '{name}'" in message
    assert f"its smaller side is {side - 1}, at least {side} is needed" in message
    assert message.count(f"{name} (from") == 0
    assert "fully_connected (from 1)" in message
    assert error.value.exit_code == 2


def test_an_image_without_channels_is_refused() -> None:
    flat = ObservationSpec("camera", (20, 20), "uint8", "image")
    with pytest.raises(UserError, match=r"'camera' has shape \(20, 20\), but encoder 'simple' takes images of"):
        make_network(flat, encoders={"camera": chosen("simple")})


def test_bytes_are_scaled_exactly_once_and_other_numbers_never() -> None:
    bytes_ = torch.randint(0, 256, (4, 20, 20, 3), dtype=torch.uint8)
    scaled = build(image(20, 20), chosen("simple"))(bytes_)
    floats = build(image(20, 20, dtype="float32"), chosen("simple"))(bytes_.float() / 255)
    torch.testing.assert_close(scaled, floats)
    unscaled = build(image(20, 20), chosen("simple", scale="none"))(bytes_)
    torch.testing.assert_close(unscaled, build(image(20, 20, dtype="float32"), chosen("simple"))(bytes_.float()))
    bools = torch.rand(4, 20, 20, 3) < 0.5
    torch.testing.assert_close(
        build(image(20, 20, dtype="bool"), chosen("simple"))(bools),
        build(image(20, 20, dtype="float32"), chosen("simple"))(bools.float()),
    )


@pytest.mark.parametrize("name", ["fully_connected", "simple", "nature_cnn", "resnet", "match3"])
def test_bfloat16_is_for_the_arithmetic_alone(name: str) -> None:
    torch.manual_seed(1)
    bytes_ = torch.randint(0, 256, (16, 40, 44, 3), dtype=torch.uint8)
    exact, narrow = build(image(40, 44), chosen(name)), build(image(40, 44), chosen(name, precision="bfloat16"))
    assert all(torch.equal(one, other) for one, other in zip(exact.parameters(), narrow.parameters(), strict=True))
    code, rounded = exact(bytes_), narrow(bytes_)
    assert rounded.dtype == torch.float32
    error = (rounded - code).norm() / code.norm()
    # A bfloat16 has 8 significant bits; a few layers of rounding stay below 3 %, and do not vanish.
    assert 1e-5 < error < 0.03
    code.square().mean().backward()
    rounded.square().mean().backward()
    for one, other in zip(exact.parameters(), narrow.parameters(), strict=True):
        assert other.grad is not None
        assert other.grad.dtype == torch.float32
        assert (other.grad - one.grad).norm() < 0.1 * one.grad.norm() + 1e-6


def test_the_caller_keeps_its_image() -> None:
    floats = torch.rand(2, 20, 20, 3)
    before = floats.clone()
    build(image(20, 20, dtype="float32"), chosen("simple"))(floats)
    assert torch.equal(floats, before)


def test_symbols_are_taken_as_they_are() -> None:
    symbols = torch.randint(0, 11, (4, 7, 7, 3), dtype=torch.uint8)
    by_default = build(image(7, 7))(symbols)
    torch.testing.assert_close(by_default, build(image(7, 7, dtype="float32"), chosen("symbolic"))(symbols.float()))


def test_pixels_go_where_they_belong() -> None:
    """A convolution whose only weight is at a known row, column and channel picks that pixel."""
    encoder = build(image(6, 7), chosen("match3"))
    convolution = encoder.convolutions[0]
    with torch.no_grad():
        convolution.weight.zero_()
        convolution.weight[0, 1, 0, 2] = 1.0  # channel 1, row 0, column 2
    images = torch.randint(0, 256, (2, 6, 7, 3), dtype=torch.uint8)
    found = convolution(encoder.pixels(images))[:, 0]
    torch.testing.assert_close(found, images[:, 0:4, 2:7, 1].float() / 255)


def test_floats_outside_0_to_1_are_refused_once_seen() -> None:
    observation = image(20, 20, dtype="float32")
    network = make_network(observation)
    good, bad = torch.rand(2, 20, 20, 3), torch.rand(2, 20, 20, 3) * 255
    with torch.no_grad():
        network.act([good])
        with pytest.raises(
            UserError, match=r"'camera' is an image of floats from .* expected in \[0, 1\].*scale: none"
        ):
            network.act([bad])
        make_network(observation, encoders={"camera": chosen("simple", scale="none")}).act([bad])


@pytest.mark.parametrize(
    ("observation", "features"),
    [
        (image(84, 84), 32 * 9 * 9),
        (image(36, 36, 1, "float32"), 32 * 3 * 3),
        (image(7, 7), 32 * 5 * 5),
        (image(10, 10, 4, "bool"), 32 * 8 * 8),
        (image(24, 24, 4, "bool"), 32 * 22 * 22),
        (image(84, 84, 4, "bool"), 32 * 9 * 9),
        (image(2, 5, 2), 2 * 5 * 2),
    ],
)
def test_images_have_a_default_by_shape_and_dtype(observation: ObservationSpec, features: int) -> None:
    assert build(observation).dense.in_features == features


def test_an_observation_is_encoded_as_its_name_says() -> None:
    vector = ObservationSpec("state", (4,))
    other = ObservationSpec("other", (36, 36, 3), "uint8", "image")
    network = make_network(image(36, 36), vector, other, encoders={"camera": chosen("nature_cnn")})
    body: Any = network.actor_body
    assert len(convolutions(body.encoders[0])) == 3
    assert len(convolutions(body.encoders[2])) == 2
    assert body.linear_layers[0].in_features == 16 + 4 + 16
    assert not network.is_plain


def test_an_unknown_observation_is_named_with_the_nearest() -> None:
    with pytest.raises(UserError, match="no observation 'camra'; it has 'camera'; did you mean 'camera'"):
        make_network(image(36, 36), encoders={"camra": chosen("simple")})


def test_an_encoder_for_another_kind_is_refused() -> None:
    encoder = chosen("simple")
    encoder = ChosenEncoder(encoder.title, encoder.factory, encoder.config, ("image",))
    message = (
        r"network.encoders.state: encoder 'simple' takes observations of kind 'image', but 'state' of shape \(4,\)"
    )
    with pytest.raises(UserError, match=message):
        make_network(ObservationSpec("state", (4,)), encoders={"state": encoder})


class Foreign(nn.Module):
    """An encoder of somebody else: it says a width, and draws weights from torch's global generator."""

    def __init__(self, inputs: int, outputs: int, says: object) -> None:
        super().__init__()
        self.output_size = says
        self.linear = nn.Linear(inputs, outputs)

    def forward(self, observation: torch.Tensor) -> torch.Tensor:
        return self.linear(observation.flatten(1).float())


def foreign(outputs: int = 5, says: object = 5, inputs: int = 4) -> ChosenEncoder:
    def make(_: EncoderContext[Any]) -> nn.Module:
        return Foreign(inputs, outputs, says)

    return ChosenEncoder("encoder 'foreign' of somebody 1.0", make, ConfigModel())


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (foreign(says=6), r"says output_size 6, .* they become torch.float32\[2, 5\]"),
        (foreign(says=None), r"needs an attribute `output_size`.*found None"),
        (foreign(inputs=3), r"fails on zeros: RuntimeError"),
    ],
)
def test_an_encoder_that_does_not_keep_its_word_is_refused(encoder: ChosenEncoder, message: str) -> None:
    place = r"observation 'state' of shape \(4,\): encoder 'foreign' of somebody 1.0 "
    with pytest.raises(UserError, match=place + message):
        make_network(ObservationSpec("state", (4,)), encoders={"state": encoder})


def test_an_encoder_with_state_that_is_not_saved_is_refused() -> None:
    def make(_: EncoderContext[Any]) -> nn.Module:
        encoder = Foreign(4, 5, 5)
        encoder.norm = nn.BatchNorm1d(5)
        return encoder

    batch_norm = ChosenEncoder("encoder 'foreign' of somebody 1.0", make, ConfigModel())
    with pytest.raises(UserError, match=r"keeps buffers \(norm.running_mean, .*which are neither learned nor saved"):
        make_network(ObservationSpec("state", (4,)), encoders={"state": batch_norm})


def test_weights_from_the_global_generator_follow_the_network_seed_and_leave_it_alone() -> None:
    observation = ObservationSpec("state", (4,))
    torch.manual_seed(1)
    one = build(observation, foreign(), seed=3)
    torch.manual_seed(2)
    before = torch.get_rng_state()
    same, other = build(observation, foreign(), seed=3), build(observation, foreign(), seed=4)
    assert torch.equal(before, torch.get_rng_state())
    assert torch.equal(one.linear.weight, same.linear.weight)
    assert not torch.equal(one.linear.weight, other.linear.weight)


def test_a_chosen_encoder_sees_normalised_vectors() -> None:
    config = NetworkConfig(hidden_units=16, normalize=True)
    spec = BehaviorSpec((ObservationSpec("state", (2, 2)),), DISCRETE)
    seen: list[torch.Tensor] = []
    encoder = foreign()
    encoder = ChosenEncoder(encoder.title, _spying(encoder.factory, seen), encoder.config)
    generator = torch_generator(np.random.SeedSequence(0))
    network = ActorCritic(spec, config, 1, torch.device("cpu"), generator, {"state": encoder})
    rows = np.random.default_rng(0).normal(50, 3, (200, 2, 2)).astype(np.float32)
    network.observe([rows])
    network.act([torch.from_numpy(rows)])
    assert seen[-1].shape == (200, 2, 2)
    assert seen[-1].mean().abs() < 0.01


def _spying(
    factory: Callable[[EncoderContext[Any]], nn.Module], seen: list[torch.Tensor]
) -> Callable[[EncoderContext[Any]], nn.Module]:
    def make(context: EncoderContext[Any]) -> nn.Module:
        module = factory(context)
        module.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
        return module

    return make


def entities_encoder(**options: object) -> Any:
    return build(ObservationSpec("units", (6, 3), kind="entities"), chosen("entities", **options))


def padded(rows: torch.Tensor, slots: int) -> torch.Tensor:
    return torch.cat([rows, torch.zeros(len(rows), slots - rows.shape[1], rows.shape[2])], dim=1)


def test_padding_has_no_influence_however_much_there_is() -> None:
    encoder, units = entities_encoder(), torch.randn(5, 3, 3)
    expected = encoder(units)
    for slots in (4, 6, 30):
        torch.testing.assert_close(encoder(padded(units, slots)), expected, atol=1e-6, rtol=1e-6)
    spread = torch.zeros(5, 6, 3)
    spread[:, [5, 0, 3]] = units
    torch.testing.assert_close(encoder(spread), expected, atol=1e-6, rtol=1e-6)


def test_no_gradient_goes_to_padding() -> None:
    encoder, units = entities_encoder(), padded(torch.randn(4, 2, 3), 6)
    units[3] = 0.0
    units.requires_grad_()
    encoder(units).square().sum().backward()
    assert units.grad is not None
    assert (units.grad[:, 2:] == 0).all()
    assert (units.grad[3] == 0).all()
    assert (units.grad[:3, :2] != 0).all()


def test_without_entities_the_code_is_0() -> None:
    assert (entities_encoder()(torch.zeros(2, 6, 3)) == 0).all()


def test_entities_change_one_anothers_codes() -> None:
    """A mean of codes made one by one would be additive."""
    encoder = entities_encoder()
    one, two = torch.randn(1, 1, 3), torch.randn(1, 1, 3)
    alone = (encoder(one) + encoder(two)) / 2
    assert not torch.allclose(encoder(torch.cat([one, two], dim=1)), alone, atol=1e-2)


def test_attention_is_that_of_an_independent_calculation() -> None:
    encoder = entities_encoder(embedding=8, heads=2)
    units = padded(torch.randn(1, 3, 3), 5)

    def array(tensor: torch.Tensor) -> np.ndarray:
        return tensor.detach().numpy().astype(np.float64)

    def layer_norm(rows: np.ndarray) -> np.ndarray:
        return (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)

    rows = array(units[0])[:3] @ array(encoder.embed.weight).T
    embedded = rows / (1 + np.exp(-rows))
    projected = layer_norm(embedded) @ array(encoder.queries_keys_values.weight).T
    heads = []
    for head in range(2):
        queries, keys, values = (projected[:, part * 8 + head * 4 : part * 8 + head * 4 + 4] for part in range(3))
        weights = np.exp(queries @ keys.T / np.sqrt(4))
        heads.append(weights / weights.sum(1, keepdims=True) @ values)
    attended = np.concatenate(heads, axis=1) @ array(encoder.attended.weight).T
    expected = layer_norm(embedded + attended).mean(0)
    np.testing.assert_allclose(array(encoder(units))[0], expected, atol=1e-5)


def test_entities_of_another_shape_are_refused() -> None:
    with pytest.raises(UserError, match=r"'units' has shape \(6,\), but encoder 'entities' takes"):
        make_network(ObservationSpec("units", (6,), kind="entities"))


def test_heads_must_share_the_embedding() -> None:
    with pytest.raises(ValueError, match=r"embedding \(10\) must be a multiple of heads \(4\)"):
        EntitiesConfig(embedding=10)


def test_kaiming_weights_have_the_deviation_of_their_inputs() -> None:
    config = NetworkConfig(hidden_units=256, initialization="kaiming")
    spec = BehaviorSpec((ObservationSpec("state", (64,)), image(84, 84)), DISCRETE)
    network = ActorCritic(spec, config, 1, torch.device("cpu"), torch_generator(np.random.SeedSequence(0)))
    body: Any = network.actor_body
    convolution = body.encoders[1].convolutions[0].weight
    assert convolution.std().item() == pytest.approx(np.sqrt(2 / (8 * 8 * 3)), rel=0.1)
    second = body.linear_layers[1].weight
    assert second.std().item() == pytest.approx(np.sqrt(2 / 256), rel=0.02)
    assert not torch.allclose(second @ second.t(), 2 * torch.eye(256), atol=0.05)

"""Networks of plugins take whatever is observed, and normalise it where asked to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from agents_core.columns import Batch
from agents_core.contracts.encoder import ChosenEncoder
from agents_core.errors import UserError
from agents_core.networks.encoders.config import ImageConfig
from agents_core.networks.encoders.images import make_fully_connected
from agents_core.networks.features import FeatureNetwork, ObservationNormaliser, flat_actions
from agents_core.networks.module_state import load_module_state, module_state
from agents_core.options import BodyConfig
from agents_core.spec import ActionSpec, BehaviorSpec, ObservationSpec

CPU = torch.device("cpu")
SPEC = BehaviorSpec(
    (
        ObservationSpec("place", (3,)),
        ObservationSpec("camera", (20, 24, 3), "uint8", "image"),
        ObservationSpec("board", (6, 6, 2), "bool", "image"),
        ObservationSpec("others", (4, 2), "float32", "entities"),
        ObservationSpec("aim", (2,), "float32", "goal"),
    ),
    ActionSpec(1),
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def network(spec: BehaviorSpec = SPEC, seed: int = 0, **options: object) -> FeatureNetwork:
    config = BodyConfig.model_validate({"hidden_units": 16, "num_layers": 1, **options})
    return FeatureNetwork(spec, config, CPU, generator(seed))


def observations(rows: int = 10, seed: int = 0) -> list[torch.Tensor]:
    rng = np.random.default_rng(seed)
    return [
        torch.as_tensor(rng.normal(100, 7, (rows, 3)).astype(np.float32)),
        torch.as_tensor(rng.integers(0, 256, (rows, 20, 24, 3), np.uint8)),
        torch.as_tensor(rng.random((rows, 6, 6, 2)) < 0.5),
        torch.as_tensor(rng.normal(size=(rows, 4, 2)).astype(np.float32)),
        torch.as_tensor(rng.normal(size=(rows, 2)).astype(np.float32)),
    ]


def test_all_kinds_of_observation_become_features() -> None:
    features = network()
    assert features.output_size == 16
    code = features(observations())
    assert (code.shape, code.dtype) == ((10, 16), torch.float32)
    for index in range(5):
        changed = observations()
        changed[index] = observations(seed=1)[index]
        assert not torch.equal(features(changed), code)


def test_weights_come_from_the_generator() -> None:
    codes = [network(seed=seed)(observations()) for seed in (1, 1, 2)]
    assert torch.equal(codes[0], codes[1])
    assert not torch.equal(codes[0], codes[2])


def test_chosen_encoders_are_used_and_checked() -> None:
    chosen = ChosenEncoder("encoder 'fully_connected'", make_fully_connected, ImageConfig(), ("image",))
    config = BodyConfig(hidden_units=16, num_layers=1)
    own = FeatureNetwork(SPEC, config, CPU, generator(), {"camera": chosen})
    assert "body.encoders.1.dense.weight" in own.state_dict()
    assert own.state_dict()["body.encoders.1.dense.weight"].shape == (16, 20 * 24 * 3)
    with pytest.raises(UserError, match=r"no observation 'camra'.*did you mean 'camera'"):
        FeatureNetwork(SPEC, config, CPU, generator(), {"camra": chosen})


def test_vectors_are_normalised_by_what_was_observed_and_only_if_asked_to() -> None:
    spec = BehaviorSpec(SPEC.observations[:1], ActionSpec(1))
    plain, own = network(spec), network(spec, normalize=True)
    seen, probe = observations(50)[:1], observations(seed=1)[:1]
    for features in (plain, own):
        features.observe(seen)
    rows = seen[0].double()
    expected = (probe[0] - rows.mean(dim=0)) / rows.std(dim=0, correction=0)
    np.testing.assert_allclose(own(probe).detach(), plain([expected.float()]).detach(), atol=1e-5)


def test_a_state_holds_the_normalisers_and_is_a_copy() -> None:
    first, second = network(normalize=True), network(seed=1, normalize=True)
    first.observe(observations(50))
    state = module_state(first)
    expected = first(observations())
    first.observe(observations(50, seed=2))
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1)
    load_module_state(second, state)
    assert torch.equal(second(observations()), expected)


def test_a_state_of_another_network_is_refused() -> None:
    with pytest.raises(UserError, match=r"'body\.encoders\.1\.dense\.weight' has shape"):
        load_module_state(network(hidden_units=8), module_state(network()))


def test_normalised_observations_have_deviation_1_and_constants_become_0() -> None:
    normaliser = ObservationNormaliser(SPEC, CPU, ("vector", "image", "goal"))
    seen = observations(200)
    seen[1][:, 0] = 77
    normaliser.observe(seen)
    out = normaliser(seen)
    assert [observation.dtype for observation in normaliser.spec.observations] == ["float32"] * 5
    assert torch.equal(out[3], seen[3]), "entities of zeros must stay padding"
    for index in (0, 1, 2, 4):
        rows = out[index]
        assert rows.dtype == torch.float32
        assert rows.shape == seen[index].shape
        np.testing.assert_allclose(rows.mean(dim=0), 0, atol=1e-5)
    assert (out[1][:, 0] == 0).all()
    np.testing.assert_allclose(out[1][:, 1:].std(dim=0, correction=0), 1, rtol=1e-4)


def test_parts_of_large_observations_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, parted = (ObservationNormaliser(SPEC, CPU, ("vector", "image")) for _ in range(2))
    whole.observe(observations(50))
    monkeypatch.setattr("agents_core.networks.features._NUMBERS", 5000)
    parted.observe(observations(50))
    for one, other in zip(whole(observations()), parted(observations()), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_encoders_of_normalised_images_do_not_scale_them_again() -> None:
    normaliser = ObservationNormaliser(SPEC, CPU, ("vector", "image"))
    normaliser.observe(observations(50))
    own = FeatureNetwork(normaliser.spec, BodyConfig(), CPU, generator(), normaliser.encoders({}))
    with torch.no_grad():
        assert own(normaliser(observations())).isfinite().all()
    # Small planes of booleans stay a grid of symbols, although they are floats now.
    assert normaliser.encoders({})["board"].title == "encoder 'symbolic'"


def test_actions_side_by_side_are_numbers_then_branches_one_hot() -> None:
    batch = Batch(
        {"action.continuous": torch.tensor([[0.5, -1.0]]), "action.discrete": torch.tensor([[2, 0]])},
        1,
    )
    assert flat_actions(batch, ActionSpec(2, (3, 2))).tolist() == [[0.5, -1, 0, 0, 1, 1, 0]]
    assert flat_actions(batch, ActionSpec(2)).tolist() == [[0.5, -1]]
    assert flat_actions(batch, ActionSpec(0, (3, 2))).tolist() == [[0, 0, 1, 1, 0]]

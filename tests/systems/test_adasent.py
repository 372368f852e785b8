"""The whole network: the paper's special cases, independence of neighbours, gradients, shapes."""

from __future__ import annotations

import os
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported

from adasent.nn import Noise
from adasent.pyramid import dispatch
from adasent.pyramid.dispatch import Choice
from adasent.saving.adasent import tensor_shapes
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from triton_interpreter import repair_interpreter

LENGTHS = [4, 1, 6, 2]


def make_model(seed: int = 0, **settings: Any) -> AdaSent:
    """A small network in double precision with every weight random."""
    torch.manual_seed(seed)
    sizes = {"hidden_size": 5, "classifier_size": 4, "gate_size": 3} | settings
    config = AdaSentConfig(n_trained=9, n_fixed=4, n_classes=3, vector_size=4, **sizes)
    model = AdaSent(config).double().eval()
    for tensor in model.state_dict().values():
        tensor.copy_(torch.randn_like(tensor) * 0.5)
    return model


def make_batch(lengths: list[int] = LENGTHS, n_words: int = 13) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(1, n_words, (len(lengths), max(lengths)), generator=generator)
    for row, length in zip(ids, lengths, strict=True):
        row[length:] = 0
    return ids, torch.tensor(lengths)


class ForcedBeliefs(nn.Module):
    """All belief on the first level, or on the root."""

    def __init__(self, *, root: bool) -> None:
        super().__init__()
        self.root = root

    def forward(self, levels: Tensor, exists: Tensor) -> Tensor:
        chosen = exists.sum(dim=1) - 1 if self.root else torch.zeros(len(exists), dtype=torch.long)
        beliefs = torch.zeros(exists.shape, dtype=levels.dtype)
        beliefs[torch.arange(len(exists)), chosen] = 1.0
        return beliefs.log()


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_beliefs_on_the_words_give_cbow(pooling: str) -> None:
    model = make_model(pooling=pooling)
    model.level_gate = ForcedBeliefs(root=False)  # type: ignore[assignment]
    ids, lengths = make_batch()
    log_probs = model(ids, lengths).log_probs
    for row, length, found in zip(ids, LENGTHS, log_probs, strict=True):
        words = model.embedding(row[:length]) @ model.projection.weight.T  # (T, D)
        bag = words.mean(dim=0) if pooling == "mean" else words.amax(dim=0)
        torch.testing.assert_close(found, model.classifier(model.level_norm(bag)))


def test_beliefs_on_the_root_give_grconv() -> None:
    model = make_model()
    model.level_gate = ForcedBeliefs(root=True)  # type: ignore[assignment]
    ids, lengths = make_batch()
    output = model(ids, lengths)
    for row, length, found in zip(ids, LENGTHS, output.log_probs, strict=True):
        alone = model(row[None, :length], torch.tensor([length]), keep_units=True)
        assert alone.pyramid.units is not None
        root = alone.pyramid.units[-1]  # (1, D), the only unit of the top level
        assert len(root) == 1
        torch.testing.assert_close(found, model.classifier(model.level_norm(root[0])))


def test_without_a_norm_levels_are_taken_as_they_are() -> None:
    plain = make_model(level_norm=False)
    assert plain.level_norm is None
    plain.level_gate = ForcedBeliefs(root=True)  # type: ignore[assignment]
    ids, lengths = make_batch()
    output = plain(ids[:1], lengths[:1], keep_units=True)
    torch.testing.assert_close(output.log_probs[0], plain.classifier(output.pyramid.units[-1][0]))


@pytest.mark.parametrize("pooling", ["mean", "max"])
def test_neighbours_padding_and_order_change_nothing(pooling: str) -> None:
    model = make_model(pooling=pooling, local_gate="mlp", level_gate="mlp")
    ids, lengths = make_batch()
    together = model(ids, lengths).log_probs
    order = torch.tensor([2, 0, 3, 1])
    torch.testing.assert_close(model(ids[order], lengths[order]).log_probs, together[order])
    wider = nn.functional.pad(ids, (0, 5), value=7)  # padding may hold any id
    torch.testing.assert_close(model(wider, lengths).log_probs, together)
    for row, length, found in zip(ids, LENGTHS, together, strict=True):
        alone = model(row[None, :length], torch.tensor([length]))
        torch.testing.assert_close(alone.log_probs[0], found)


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pyramid as it is on CUDA, in Triton's interpreter."""
    pytest.importorskip("triton")
    if torch.cuda.is_available():
        pytest.skip("kernels are compiled here, and tested on CUDA itself")
    repair_interpreter()
    monkeypatch.setattr(dispatch, "choose", lambda words, weights: Choice("cuda", ""))


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("lengths", [[1, 2, 4, 6], LENGTHS], ids=["ascending", "mixed"])
@pytest.mark.parametrize("settings", [{}, {"pooling": "max", "max_height": 3, "gate_groups": 5}])
def test_kernels_that_know_the_lengths_change_nothing(
    lengths: list[int], settings: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, batch = make_model(**settings), make_batch(lengths)
    with torch.no_grad():
        found = model(*batch)
        monkeypatch.undo()
        expected = model(*batch)
    for name in ("log_probs", "log_beliefs"):
        torch.testing.assert_close(getattr(found, name), getattr(expected, name))


def test_output_is_a_mixture_over_the_levels_a_sentence_has() -> None:
    output = make_model()(*make_batch())
    beliefs = output.log_beliefs.exp()
    assert beliefs.shape == (4, 6)
    torch.testing.assert_close(beliefs.sum(dim=1), torch.ones(4, dtype=torch.float64))
    for row, length in zip(beliefs, LENGTHS, strict=True):
        assert (row[:length] > 0).all()
        assert (row[length:] == 0).all()
    mixture = (beliefs.unsqueeze(-1) * output.level_log_probs.exp()).sum(dim=1)
    torch.testing.assert_close(output.log_probs.exp(), mixture)


VARIANTS = list(
    product(["mean", "max"], ["tanh", "relu"], ["softmax", "mlp"], ["softmax", "mlp"], [0, 4])
)


@pytest.mark.parametrize(
    ("pooling", "activation", "local_gate", "level_gate", "classifier_size"), VARIANTS
)
def test_every_variant_learns_and_has_the_saved_shapes(
    pooling: str, activation: str, local_gate: str, level_gate: str, classifier_size: int
) -> None:
    model = make_model(
        pooling=pooling,
        activation=activation,
        local_gate=local_gate,
        level_gate=level_gate,
        classifier_size=classifier_size,
    )
    shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
    assert shapes == tensor_shapes(model.config)
    log_probs = model(*make_batch()).log_probs
    torch.testing.assert_close(log_probs.exp().sum(dim=1), torch.ones(4, dtype=torch.float64))
    log_probs[:, 0].sum().backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        gradient = parameter.grad.to_dense()
        assert torch.isfinite(gradient).all(), name
        if name != "level_gate.score.bias" and not name.endswith("2.bias"):  # shift all levels
            assert (gradient != 0).any(), name


class FromVectors(nn.Module):
    """The network from its word vectors on, as a function for gradcheck."""

    def __init__(self, model: AdaSent) -> None:
        super().__init__()
        self.model = model

    def forward(self, vectors: Tensor, lengths: Tensor) -> Tensor:
        return self.model.classify(vectors, lengths).log_probs


@pytest.mark.parametrize(("pooling", "gate"), [("mean", "softmax"), ("max", "mlp")])
def test_gradient_in_double_precision(pooling: str, gate: str) -> None:
    model = FromVectors(make_model(pooling=pooling, local_gate=gate, level_gate=gate))
    vectors = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([3, 1])
    weights = {n: p for n, p in model.named_parameters() if n != "model.embedding.trained"}

    def classify(vectors: Tensor, *tensors: Tensor) -> Tensor:
        replaced = dict(zip(weights, tensors, strict=True))
        log_probs: Tensor = torch.func.functional_call(model, replaced, (vectors, lengths))
        return log_probs

    assert torch.autograd.gradcheck(classify, (vectors, *weights.values()))


def test_words_alone_leave_the_composition_without_gradient() -> None:
    model = make_model()
    model(*make_batch([1, 1, 1])).log_probs[:, 0].sum().backward()
    for parameter in model.composition.parameters():
        assert parameter.grad is None or (parameter.grad == 0).all()
    assert model.projection.weight.grad is not None
    assert (model.projection.weight.grad != 0).any()


def test_extra_words_keep_their_vectors() -> None:
    """Only a word with an id among the fixed rows: it is used, and nothing of U moves."""
    model = make_model()
    fixed = model.embedding.fixed.clone()
    ids = torch.tensor([[9, 12]])
    one = model(ids, torch.tensor([2])).log_probs
    assert not torch.allclose(one, model(ids.flip(1), torch.tensor([2])).log_probs)
    one[0, 0].backward()
    assert model.embedding.trained.grad is None or not model.embedding.trained.grad.to_dense().any()
    assert torch.equal(model.embedding.fixed, fixed)


def test_noise_drops_vectors_and_features() -> None:
    model = make_model()
    ids, lengths = make_batch()
    vectors = model.embedding(ids)
    calm = model.classify(vectors, lengths).log_probs
    key, rate = torch.tensor(1), torch.tensor(0.5, dtype=torch.float64)
    assert torch.equal(model.classify(vectors, lengths, Noise(key)).log_probs, calm)
    found = [
        model.classify(vectors, lengths, noise).log_probs
        for noise in (
            Noise(key, vector_rate=rate),
            Noise(key, hidden_rate=rate),
            Noise(key + 1, hidden_rate=rate),
        )
    ]
    for i, one in enumerate(found):
        assert not any(torch.allclose(one, other) for other in [calm, *found[:i]])
    again = model.classify(vectors, lengths, Noise(key, vector_rate=rate)).log_probs
    assert torch.equal(again, found[0])


def test_many_models_by_vmap() -> None:
    """Weights, words and lengths of each model of its own."""
    models = [make_model(seed) for seed in range(3)]
    ids, _ = make_batch()
    lengths = torch.tensor([LENGTHS, [1, 2, 3, 4], [6, 6, 1, 1]])
    weights, _ = torch.func.stack_module_state(models)
    vectors = torch.stack([model.embedding(ids) for model in models])
    found = torch.vmap(
        lambda w, v, n: torch.func.functional_call(FromVectors(models[0]), w, (v, n))
    )({f"model.{name}": tensor for name, tensor in weights.items()}, vectors, lengths)
    for model, own, of, log_probs in zip(models, vectors, lengths, found, strict=True):
        torch.testing.assert_close(model.classify(own, of).log_probs, log_probs)


def test_extreme_weights_give_no_nan() -> None:
    model = make_model().float()
    for parameter in model.parameters():
        parameter.data *= 1e6
    assert not model(*make_batch()).log_probs.isnan().any()

"""The rival networks: what all of them must do, and what each of them is."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn import functional as F

from adasent.errors import ConfigError
from adasent.nn import Noise
from adasent.systems.base import System, SystemConfig
from adasent.systems.cbow import CBow, CBowConfig
from adasent.systems.cnn import Cnn, CnnConfig
from adasent.systems.dcnn import Dcnn, DcnnConfig, WideConvolution, k_max
from adasent.systems.grconv import GrConv, GrConvConfig
from adasent.systems.rnn import BRnn, Recurrence, Rnn, RnnConfig

SIZES = {"n_trained": 9, "n_fixed": 2, "n_classes": 3, "vector_size": 8}

SYSTEMS: dict[str, tuple[type[System], SystemConfig]] = {
    "cbow mean": (CBow, CBowConfig(**SIZES)),
    "cbow max": (CBow, CBowConfig(**SIZES, pooling="max", classifier_size=0)),
    "rnn": (Rnn, RnnConfig(**SIZES, hidden_size=5)),
    "brnn": (BRnn, RnnConfig(**SIZES, hidden_size=5)),
    "grconv": (GrConv, GrConvConfig(**SIZES, hidden_size=5)),
    "cnn": (Cnn, CnnConfig(**SIZES, n_maps=4)),
    "cnn multichannel": (Cnn, CnnConfig(**SIZES, n_maps=4, multichannel=True, max_norm=0)),
    "dcnn": (Dcnn, DcnnConfig(**SIZES, row_size=8, n_maps=(2, 3))),
    "dcnn of one layer": (Dcnn, DcnnConfig(**SIZES, row_size=6, widths=(3,), n_maps=(2,), top=2)),
}

LENGTHS = [3, 8, 1, 8, 5]


def make(name: str, seed: int = 0) -> System:
    kind, config = SYSTEMS[name]
    torch.manual_seed(seed)
    return kind(config).double()


def some_vectors(lengths: list[int] = LENGTHS, size: int = 8, padding: int = 3) -> Tensor:
    """(B, T, d) with NaN beyond each sentence."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(lengths), max(lengths) + padding, size)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    for i, length in enumerate(lengths):
        vectors[i, length:] = float("nan")
    return vectors


@pytest.mark.parametrize("name", SYSTEMS)
def test_neighbours_order_and_padding_change_nothing(name: str) -> None:
    system, vectors = make(name), some_vectors()
    together = system.classify(vectors, torch.tensor(LENGTHS)).log_probs
    assert together.shape == (5, 3)
    torch.testing.assert_close(together.exp().sum(dim=1), torch.ones(5, dtype=torch.float64))
    for i, length in enumerate(LENGTHS):
        alone = system.classify(vectors[i : i + 1, :length], torch.tensor([length])).log_probs
        torch.testing.assert_close(together[i], alone[0], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("name", SYSTEMS)
def test_padding_gets_no_gradient_and_words_do(name: str) -> None:
    system = make(name)
    vectors = some_vectors().requires_grad_()
    system.classify(vectors, torch.tensor(LENGTHS)).log_probs[:, 0].sum().backward()
    assert vectors.grad is not None
    for i, length in enumerate(LENGTHS):
        assert not vectors.grad[i, length:].nan_to_num(nan=1.0).any()
        assert vectors.grad[i, :length].any()
    for parameter_name, parameter in system.named_parameters():
        if "embedding" not in parameter_name:
            assert parameter.grad is not None, parameter_name
            assert torch.isfinite(parameter.grad).all(), parameter_name


@pytest.mark.parametrize("name", SYSTEMS)
def test_stacked_models_equal_models_alone(name: str) -> None:
    systems = [make(name, seed) for seed in range(3)]
    lengths = torch.tensor([[3, 2], [1, 4], [4, 4]])
    vectors = torch.randn(3, 2, 6, 8, dtype=torch.float64)
    noise = Noise(
        torch.tensor([5, 6, 7]),
        torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64),
        torch.tensor([0.5, 0.1, 0.2], dtype=torch.float64),
    )
    weights = {
        key: torch.stack([dict(system.named_parameters())[key].detach() for system in systems])
        for key in dict(systems[0].named_parameters())
        if "embedding" not in key
    }

    def one(weights: dict[str, Tensor], vectors: Tensor, lengths: Tensor, noise: Noise) -> Tensor:
        return functional_call(_Classify(systems[0]), weights, (vectors, lengths, noise))

    named = {f"system.{key}": value for key, value in weights.items()}
    together = torch.vmap(one)(named, vectors, lengths, noise)
    for k, system in enumerate(systems):
        alone = system.classify(vectors[k], lengths[k], Noise(*[part[k] for part in noise]))
        torch.testing.assert_close(together[k], alone.log_probs, rtol=1e-10, atol=1e-12)


class _Classify(torch.nn.Module):
    def __init__(self, system: System) -> None:
        super().__init__()
        self.system = system

    def forward(self, *values: object) -> Tensor:
        return self.system.classify(*values).log_probs  # type: ignore[arg-type]


@pytest.mark.parametrize("name", SYSTEMS)
def test_learns_and_noise_matters(name: str) -> None:
    """A few steps of descent tell two kinds of sentences apart, under dropout."""
    system = make(name)
    vectors, lengths = some_vectors(), torch.tensor(LENGTHS)
    vectors[::2, 0, 0], vectors[1::2, 0, 0] = 4.0, -4.0
    target = torch.tensor([0, 1, 0, 1, 0])
    optimizer = torch.optim.Adam(system.parameters(), lr=0.03)
    rate = torch.tensor(0.1, dtype=torch.float64)
    for step in range(80):
        optimizer.zero_grad()
        noise = Noise(torch.tensor(step), rate, rate)
        F.nll_loss(system.classify(vectors, lengths, noise).log_probs, target).backward()
        optimizer.step()
    found = system.classify(vectors, lengths).log_probs
    assert found.argmax(dim=1).tolist() == target.tolist()
    noisy = system.classify(vectors, lengths, Noise(torch.tensor(1), rate, rate)).log_probs
    assert not torch.equal(found, noisy)


@pytest.mark.parametrize("name", SYSTEMS)
def test_config_round_trip_and_ids(name: str) -> None:
    kind, config = SYSTEMS[name]
    again = type(config).from_dict(config.to_dict())
    assert again == config
    system = kind(again)
    ids = torch.tensor([[2, 10, 3], [4, 0, 0]])
    assert system(ids, torch.tensor([3, 1])).log_probs.shape == (2, 3)
    assert float(system.penalty().detach()) >= 0
    with pytest.raises(ConfigError, match="n_classes"):
        dataclasses.replace(config, n_classes=0)


def test_cbow_is_the_mean_or_maximum_of_its_words() -> None:
    vectors = some_vectors([2])
    for name, sentence in (
        ("cbow mean", vectors[0, :2].mean(dim=0)),
        ("cbow max", vectors[0, :2].amax(dim=0)),
    ):
        system = make(name)
        expected = system.classify(sentence.view(1, 1, -1), torch.tensor([1])).log_probs
        torch.testing.assert_close(system.classify(vectors, torch.tensor([2])).log_probs, expected)


def test_recurrence_by_hand() -> None:
    layer = Recurrence(1, 1).double()
    with torch.no_grad():
        layer.from_word.weight.fill_(1.0)
        layer.from_word.bias.fill_(0.5)
        layer.from_state.weight.fill_(-1.0)
    words = torch.tensor([[[1.0], [2.0]]], dtype=torch.float64)
    inside = torch.tensor([[True, True]])
    first = torch.tanh(torch.tensor(1.5, dtype=torch.float64))
    second = torch.tanh(2.5 - first)
    torch.testing.assert_close(layer(words, inside)[0, :, 0], torch.stack([first, second]))
    last = torch.tanh(torch.tensor(2.5, dtype=torch.float64))
    torch.testing.assert_close(
        layer(words, inside, backwards=True)[0, :, 0], torch.stack([torch.tanh(1.5 - last), last])
    )


def test_contexts_of_a_word_leave_the_word_out() -> None:
    """With the latent layer blind to the word itself, a one-word text says nothing."""
    system = make("brnn")
    assert isinstance(system, BRnn)
    with torch.no_grad():
        system.latent.weight[:, 5:13] = 0.0
    one, other = some_vectors([1]), some_vectors([1]) + 1.0
    lengths = torch.tensor([1])
    assert torch.equal(
        system.classify(one, lengths).log_probs, system.classify(other, lengths).log_probs
    )


def test_grconv_reads_the_root_of_the_pyramid() -> None:
    system = make("grconv")
    assert isinstance(system, GrConv)
    vectors = some_vectors([4])
    trace = system.composition.trace(system.projection(vectors[:, :4]), torch.tensor([4]))
    assert trace.units is not None
    expected = system.classifier(trace.units[-1])
    torch.testing.assert_close(system.classify(vectors, torch.tensor([4])).log_probs, expected)


def test_cnn_equals_a_convolution() -> None:
    system = make("cnn")
    assert isinstance(system, Cnn)
    vectors = some_vectors([6], padding=0)
    padded = F.pad(vectors, (0, 0, 4, 4)).transpose(1, 2)
    pooled = []
    for window, layer in zip((3, 4, 5), system.filters, strict=True):
        weight = layer.weight.view(4, window, 8).transpose(1, 2)  # type: ignore[operator]
        pooled.append(torch.relu(F.conv1d(padded, weight, layer.bias)).amax(dim=2))  # type: ignore[arg-type]
    scores = system.out(torch.cat(pooled, dim=1))
    torch.testing.assert_close(
        system.classify(vectors, torch.tensor([6])).log_probs, torch.log_softmax(scores, dim=1)
    )


def test_cnn_keeps_the_norm_of_a_class_under_its_limit() -> None:
    system = make("cnn")
    assert isinstance(system, Cnn)
    with torch.no_grad():
        system.out.weight.mul_(1e4)
    limited = system._limited(system.out.weight)
    torch.testing.assert_close(limited.norm(dim=1), torch.full((3,), 3.0, dtype=torch.float64))


def test_static_channel_is_not_tuned() -> None:
    system = make("cnn multichannel")
    vectors = some_vectors([4], padding=0).requires_grad_()
    system.classify(vectors, torch.tensor([4])).log_probs[0, 0].backward()
    assert vectors.grad is not None
    assert vectors.grad[..., :4].any()
    assert not vectors.grad[..., 4:].any()


def test_wide_convolution_equals_one_of_torch() -> None:
    torch.manual_seed(0)
    layer = WideConvolution(2, 3, 4, 5).double()
    maps = torch.randn(2, 2, 4, 6, dtype=torch.float64)
    got = layer(maps)
    assert got.shape == (2, 3, 4, 10)
    for row in range(4):
        weight = layer.weight[:, row].permute(2, 1, 0)  # (out, in, width)
        expected = F.conv1d(maps[:, :, row], weight, padding=4)
        torch.testing.assert_close(got[:, :, row], expected)


def test_k_max_keeps_order_and_respects_each_sentence() -> None:
    maps = torch.tensor([[3.0, 1.0, 9.0, 2.0, 99.0], [5.0, 7.0, 6.0, 8.0, 4.0]])[:, None, None]
    kept = k_max(maps, torch.tensor([4, 5]), torch.tensor([2, 3]), 4)
    assert kept[:, 0, 0].tolist() == [[3.0, 9.0, 0.0, 0.0], [7.0, 6.0, 8.0, 0.0]]


@pytest.mark.parametrize(
    "change",
    [{"windows": ()}, {"windows": (0,)}, {"n_maps": 0}, {"max_norm": -1}, {"vector_size": 7}],
)
def test_cnn_refuses_impossible_shapes(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        CnnConfig(**(SIZES | {"multichannel": True} | change))  # type: ignore[arg-type]


@pytest.mark.parametrize("change", [{"row_size": 6}, {"widths": (7,)}, {"top": 0}])
def test_dcnn_refuses_impossible_shapes(change: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        DcnnConfig(**(SIZES | change))  # type: ignore[arg-type]

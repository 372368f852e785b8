"""RAE: trees, losses and sentences worked by hand, and as the training loop uses it."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from adasent.data.trees import spans
from adasent.errors import ConfigError
from adasent.nn import Noise
from adasent.systems.rae import Rae, RaeConfig, RaeOutput

LENGTHS = [4, 1, 7, 2]


def make_model(seed: int = 0, **settings: Any) -> Rae:
    """A small network in double precision with every weight random."""
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"vector_size": 3, "hidden_size": 4} | settings
    model = Rae(RaeConfig(n_trained=6, n_fixed=2, n_classes=3, **sizes)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


def some_vectors(padding: int = 2) -> Tensor:
    """(B, T, 3) with NaN beyond each sentence."""
    generator = torch.Generator().manual_seed(1)
    shape = (len(LENGTHS), max(LENGTHS) + padding, 3)
    vectors = torch.randn(shape, generator=generator, dtype=torch.float64)
    for row, length in zip(vectors, LENGTHS, strict=True):
        row[length:] = float("nan")
    return vectors


def unit(vector: Tensor) -> Tensor:
    return vector / (vector.square().sum() + 1e-6).sqrt()


class ByHand:
    """One sentence, node by node: the definition."""

    def __init__(self, model: Rae, vectors: Tensor) -> None:
        words = [unit(model.projection.weight @ vector) for vector in vectors]
        live = [(word, i, i + 1) for i, word in enumerate(words)]
        self.nodes, self.spans, errors = list(words), set(), []
        while len(live) > 1:
            tried = [self.join(model, live[i], live[i + 1]) for i in range(len(live) - 1)]
            best = min(range(len(tried)), key=lambda i: float(tried[i][1].detach()))
            parent, error = tried[best]
            (_, start, middle), (_, _, end) = live[best], live[best + 1]
            live[best : best + 2] = [(parent, start, end)]
            self.nodes.append(parent)
            self.spans.add((start, middle, end))
            errors.append(error)
        self.reconstruction = torch.stack(errors).mean() if errors else vectors.new_zeros(())
        nodes = torch.stack(self.nodes)
        self.node_log_probs = model.label(nodes).log_softmax(dim=1).mean(dim=0)
        sentence = torch.cat([live[0][0], nodes.mean(dim=0)])
        self.log_probs = model.classifier(sentence)

    @staticmethod
    def join(model: Rae, left: Any, right: Any) -> tuple[Tensor, Tensor]:
        (c1, a, b), (c2, _, c) = left, right
        parent = unit(torch.tanh(model.encoder(torch.cat([c1, c2]))))
        back = model.decoder(parent)
        error = (b - a) / (c - a) * (c1 - back[:4]).square().sum() + (c - b) / (c - a) * (
            c2 - back[4:]
        ).square().sum()
        return parent, error


def test_three_words_by_hand() -> None:
    """D = 1: nodes are signs, so every number below can be done in the head."""
    model = make_model(vector_size=1, hidden_size=1)
    with torch.no_grad():
        model.projection.weight.fill_(1.0)
        model.encoder.weight.copy_(torch.tensor([[1.0, 1.0]]))
        model.encoder.bias.fill_(0.5)
        model.decoder.weight.copy_(torch.tensor([[1.0], [2.0]]))
        model.decoder.bias.copy_(torch.tensor([0.0, -1.0]))
    vectors = torch.tensor([[[-3.0], [5.0], [2.0]]], dtype=torch.float64)
    # Words -1, 1, 1. A parent of (-1, 1) is +1 and gives back (1, 1): error (4 + 0) / 2 = 2.
    # A parent of (1, 1) is +1 and gives back (1, 1): error 0, joined first. Then (-1, 1) again,
    # of one word and two: 4 / 3. Mean error over both parents: 2 / 3.
    output = model.classify(vectors, torch.tensor([3]))
    assert model.trees(vectors.sign(), torch.tensor([3])).tolist() == [[2, 1, 0]]
    torch.testing.assert_close(
        output.reconstruction, torch.tensor([2 / 3], dtype=torch.float64), rtol=1e-5, atol=1e-5
    )
    # Nodes -1, 1, 1, 1, 1: root 1, mean 0.6.
    sentence = torch.tensor([1.0, 0.6], dtype=torch.float64)
    close = {"rtol": 1e-5, "atol": 1e-5}
    torch.testing.assert_close(output.log_probs[0], model.classifier(sentence), **close)
    signs = torch.tensor([[-1.0], [1.0]], dtype=torch.float64)
    minus, plus = model.label(signs).log_softmax(dim=1)
    torch.testing.assert_close(output.node_log_probs[0], (minus + 4 * plus) / 5, **close)


def test_batches_equal_node_by_node() -> None:
    for seed in range(5):
        model, vectors = make_model(seed), some_vectors()
        output = model.classify(vectors, torch.tensor(LENGTHS))
        for i, n in enumerate(LENGTHS):
            alone = ByHand(model, vectors[i, :n])
            for name in RaeOutput._fields:
                torch.testing.assert_close(getattr(output, name)[i], getattr(alone, name))
            words = torch.stack(alone.nodes[:n])[None]
            heights = model.trees(words, torch.tensor([n]))[0]
            assert set(spans(heights.numpy())) == alone.spans


def test_order_and_padding_change_nothing_and_get_no_gradient() -> None:
    model, lengths = make_model(), torch.tensor(LENGTHS)
    vectors = some_vectors().requires_grad_()
    together = model.classify(vectors, lengths)
    order = torch.tensor([2, 0, 3, 1])
    again = model.classify(vectors[order], lengths[order])
    for one, other in zip(together, again, strict=True):
        torch.testing.assert_close(one[order], other)
    model.loss(together, torch.eye(3, dtype=torch.float64)[[0, 1, 2, 0]]).sum().backward()
    assert vectors.grad is not None
    for row, n in zip(vectors.grad, LENGTHS, strict=True):
        assert not row[n:].nan_to_num(nan=1.0).any()
        assert row[:n].any(dim=1).all()
    for name, parameter in model.named_parameters():
        if "embedding" not in name:
            assert parameter.grad is not None, name
            assert torch.isfinite(parameter.grad).all(), name
            assert parameter.grad.any(), name


def test_loss_weighs_its_three_parts() -> None:
    model = make_model(reconstruction=0.25)
    log_probs = torch.tensor([[-1.0, -2.0, -3.0]])
    output = RaeOutput(log_probs, 10 * log_probs, torch.tensor([8.0]))
    targets = torch.tensor([[0.0, 1.0, 0.0]])
    torch.testing.assert_close(
        model.loss(output, targets), torch.tensor([2.0 + 0.75 * 20.0 + 0.25 * 8.0])
    )


def test_words_alone_have_nothing_to_reconstruct() -> None:
    model = make_model()
    output = model.classify(torch.randn(2, 1, 3, dtype=torch.float64), torch.tensor([1, 1]))
    assert output.reconstruction.tolist() == [0.0, 0.0]
    model.loss(output, torch.eye(3, dtype=torch.float64)[:2]).sum().backward()
    assert model.label.weight.grad is not None
    assert model.label.weight.grad.any()


def test_zero_vectors_have_finite_gradients() -> None:
    model = make_model().float()
    vectors = torch.zeros(1, 3, 3, requires_grad=True)
    model.loss(model.classify(vectors, torch.tensor([3])), torch.eye(3)[:1]).sum().backward()
    assert vectors.grad is not None
    assert torch.isfinite(vectors.grad).all()


class Loss(nn.Module):
    """The objective as a function of word vectors and weights."""

    def __init__(self, model: Rae) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, vectors: Tensor, lengths: Tensor, targets: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return self.model.loss(self.model.classify(vectors, lengths, noise), targets)


def dense(model: Rae) -> dict[str, Tensor]:
    return {f"model.{k}": v for k, v in model.named_parameters() if "embedding" not in k}


def test_gradient_in_double_precision() -> None:
    model = make_model(hidden_size=2)
    vectors = some_vectors()[[0, 1, 3], :4].nan_to_num().requires_grad_()
    lengths, targets = torch.tensor([4, 1, 2]), torch.eye(3, dtype=torch.float64)
    weights = dense(model)

    def loss(vectors: Tensor, *tensors: Tensor) -> Tensor:
        replaced = dict(zip(weights, tensors, strict=True))
        losses: Tensor = functional_call(Loss(model), replaced, (vectors, lengths, targets))
        return losses

    assert torch.autograd.gradcheck(loss, (vectors, *weights.values()))


def test_stacked_models_equal_models_alone() -> None:
    models = [make_model(seed) for seed in range(3)]
    vectors = torch.randn(3, 2, 6, 3, dtype=torch.float64, requires_grad=True)
    lengths = torch.tensor([[3, 2], [1, 4], [6, 5]])
    targets = torch.eye(3, dtype=torch.float64)[torch.tensor([[0, 1], [2, 0], [1, 1]])]
    rate = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    noise = Noise(torch.tensor([5, 6, 7]), rate, rate)
    weights = {
        name: torch.stack([dense(model)[name].detach() for model in models])
        for name in dense(models[0])
    }

    def one(weights: dict[str, Tensor], *inputs: Any) -> Tensor:
        losses: Tensor = functional_call(Loss(models[0]), weights, inputs)
        return losses

    together = torch.vmap(one)(weights, vectors, lengths, targets, noise)
    gradient = torch.autograd.grad(together.sum(), vectors)[0]
    for k, model in enumerate(models):
        own = Noise(*(part[k] for part in noise if part is not None))
        alone = model.loss(model.classify(vectors[k], lengths[k], own), targets[k])
        torch.testing.assert_close(together[k], alone, rtol=1e-10, atol=1e-12)
        of_alone = torch.autograd.grad(alone.sum(), vectors)[0][k]
        torch.testing.assert_close(gradient[k], of_alone, rtol=1e-9, atol=1e-12)


def test_config() -> None:
    sizes = {"n_trained": 2, "n_classes": 2, "vector_size": 2}
    for change in ({"hidden_size": 0}, {"reconstruction": 1.5}):
        with pytest.raises(ConfigError):
            RaeConfig(**(sizes | change))
    config = RaeConfig(**sizes, reconstruction=0.5)
    assert RaeConfig.from_dict(config.to_dict()) == config
    model = Rae(config)
    assert model(torch.tensor([[1, 1]]), torch.tensor([2])).log_probs.shape == (1, 2)
    assert float(model.penalty().detach()) > 0

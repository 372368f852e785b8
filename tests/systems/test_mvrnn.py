"""MV-RecNN: worked by hand, along any tree, and as the training loop uses it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call

from adasent.data.trees import binary_heights, right_branching, spans
from adasent.errors import ConfigError
from adasent.nn import Noise
from adasent.systems.mvrnn import MvRecNN, MvRecNNConfig
from adasent.systems.trees import tree_levels

LENGTHS = [4, 1, 7, 2]


def make_model(seed: int = 0, **settings: Any) -> MvRecNN:
    """A small network in double precision with every weight random."""
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"vector_size": 3, "hidden_size": 4, "rank": 2} | settings
    model = MvRecNN(MvRecNNConfig(n_trained=6, n_fixed=2, n_classes=3, **sizes)).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.5)
    return model


def some_heights(length: int, width: int, seed: int = 0) -> Tensor:
    """(T,) a random tree; beyond the sentence anything."""
    heights = np.full(width, 5)
    heights[:length] = binary_heights(np.random.default_rng(seed).random(length - 1))
    return torch.from_numpy(heights)


def some_batch(model: MvRecNN, padding: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Vectors with NaN beyond each sentence, lengths, heights."""
    width = max(LENGTHS) + padding
    size = model.config.vector_size + model.config.matrix_size
    generator = torch.Generator().manual_seed(1)
    vectors = torch.randn(len(LENGTHS), width, size, generator=generator, dtype=torch.float64)
    for row, length in zip(vectors, LENGTHS, strict=True):
        row[length:] = float("nan")
    heights = torch.stack([some_heights(n, width, i) for i, n in enumerate(LENGTHS)])
    return vectors, torch.tensor(LENGTHS), heights


def one_by_one(model: MvRecNN, rows: Tensor, heights: Tensor) -> Tensor:
    """The root of one sentence, node by node, as the paper writes it."""
    config = model.config
    size, rank = config.hidden_size, config.rank
    phrases = {}
    for i, row in enumerate(rows):
        vector, diagonal, left, right = row.split(
            [config.vector_size, size, rank * size, rank * size]
        )
        u, v = left.view(rank, size).T, right.view(rank, size)
        phrases[i] = model.projection.weight @ vector, torch.eye(size) + diagonal.diag() + u @ v
    nodes = sorted(spans(heights.numpy()), key=lambda node: node[2] - node[0])
    for start, middle, _ in nodes:
        (a, of_a), (b, of_b) = phrases[start], phrases[middle]
        joined = model.join_vectors.weight @ torch.cat([of_b @ a, of_a @ b])
        phrases[start] = (
            torch.tanh(joined + model.join_vectors.bias),
            model.join_matrices.weight @ torch.cat([of_a, of_b]),
        )
    return phrases[0][0]


def test_three_words_by_hand() -> None:
    """D = r = 1, ((x y) z): all matrices are numbers."""
    model = make_model(vector_size=1, hidden_size=1, rank=1)
    with torch.no_grad():
        model.projection.weight.fill_(1.0)
        model.join_vectors.weight.copy_(torch.tensor([[0.5, 0.25]]))
        model.join_vectors.bias.fill_(0.1)
        model.join_matrices.weight.copy_(torch.tensor([[2.0, -1.0]]))
    # vector, diagonal, U, V: matrices 1 + 1 + 0.5 * 2 = 3, 1 - 1 + 1 * 2 = 2 and 1 + 0 + 0 = 1
    rows = [[0.2, 1.0, 0.5, 2.0], [0.4, -1.0, 1.0, 2.0], [0.6, 0.0, 0.0, 7.0]]
    vectors = torch.tensor([rows], dtype=torch.float64)
    xy = np.tanh(0.5 * (2 * 0.2) + 0.25 * (3 * 0.4) + 0.1)
    of_xy = 2 * 3 - 1 * 2
    root = np.tanh(0.5 * (1 * xy) + 0.25 * (of_xy * 0.6) + 0.1)
    found = model.classify(vectors, torch.tensor([3]), structure=torch.tensor([[1, 2, 0]]))
    expected = model.classifier(torch.tensor([root], dtype=torch.float64))
    torch.testing.assert_close(found.log_probs[0], expected)


def test_batches_equal_node_by_node() -> None:
    model = make_model()
    vectors, lengths, heights = some_batch(model)
    found = model.classify(vectors, lengths, structure=heights).log_probs
    for i, n in enumerate(LENGTHS):
        root = one_by_one(model, vectors[i, :n], heights[i, :n])
        torch.testing.assert_close(found[i], model.classifier(root), rtol=1e-10, atol=1e-12)


def test_order_and_padding_change_nothing_and_get_no_gradient() -> None:
    model = make_model()
    vectors, lengths, heights = some_batch(model)
    vectors.requires_grad_()
    together = model.classify(vectors, lengths, structure=heights).log_probs
    order = torch.tensor([2, 0, 3, 1])
    again = model.classify(vectors[order], lengths[order], structure=heights[order])
    torch.testing.assert_close(again.log_probs, together[order])
    for i, n in enumerate(LENGTHS):
        alone = model.classify(
            vectors[i : i + 1, :n], lengths[i : i + 1], structure=heights[i : i + 1, :n]
        )
        torch.testing.assert_close(alone.log_probs[0], together[i])
    together[:, 0].sum().backward()
    assert vectors.grad is not None
    for row, n in zip(vectors.grad, LENGTHS, strict=True):
        assert not row[n:].nan_to_num(nan=1.0).any()
        assert torch.isfinite(row).all()
        assert row[:n, :3].any(dim=1).all()


def test_the_tree_matters() -> None:
    model = make_model()
    vectors = torch.randn(1, 5, 3 + 20, dtype=torch.float64)
    lengths = torch.tensor([5])
    right = torch.from_numpy(right_branching(5))[None]
    left = torch.tensor([[1, 2, 3, 4, 0]])
    found = [model.classify(vectors, lengths, structure=tree).log_probs for tree in (right, left)]
    assert not torch.allclose(*found)


class FromVectors(nn.Module):
    """The network from its word table rows on, as a function of them and its weights."""

    def __init__(self, model: MvRecNN) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, vectors: Tensor, lengths: Tensor, heights: Tensor, noise: Noise | None = None
    ) -> Tensor:
        return self.model.classify(vectors, lengths, noise, structure=heights).log_probs


def dense(model: MvRecNN) -> dict[str, Tensor]:
    return {f"model.{k}": v for k, v in model.named_parameters() if "embedding" not in k}


def test_gradient_in_double_precision() -> None:
    model = make_model(vector_size=2, hidden_size=2, rank=1)
    vectors, lengths, heights = some_batch(model, padding=0)
    vectors = vectors[[0, 1, 3], :4].nan_to_num().requires_grad_()
    lengths, heights = lengths[[0, 1, 3]], heights[[0, 1, 3], :4]
    weights = dense(model)

    def classify(vectors: Tensor, *tensors: Tensor) -> Tensor:
        replaced = dict(zip(weights, tensors, strict=True))
        log_probs: Tensor = functional_call(
            FromVectors(model), replaced, (vectors, lengths, heights)
        )
        return log_probs

    assert torch.autograd.gradcheck(classify, (vectors, *weights.values()))


def test_stacked_models_equal_models_alone() -> None:
    models = [make_model(seed) for seed in range(3)]
    vectors = torch.randn(3, 2, 6, 23, dtype=torch.float64)
    lengths = torch.tensor([[3, 2], [1, 4], [6, 5]])
    heights = torch.stack(
        [
            torch.stack([some_heights(int(n), 6, 7 * k + i) for i, n in enumerate(of_model)])
            for k, of_model in enumerate(lengths)
        ]
    )
    rate = torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64)
    noise = Noise(torch.tensor([5, 6, 7]), rate, rate)
    weights = {
        name: torch.stack([dense(model)[name] for model in models]) for name in dense(models[0])
    }

    def one(weights: dict[str, Tensor], *inputs: Any) -> Tensor:
        log_probs: Tensor = functional_call(FromVectors(models[0]), weights, inputs)
        return log_probs

    together = torch.vmap(one)(weights, vectors, lengths, heights, noise)
    for k, model in enumerate(models):
        own = Noise(*(part[k] for part in noise if part is not None))
        alone = model.classify(vectors[k], lengths[k], own, structure=heights[k]).log_probs
        torch.testing.assert_close(together[k], alone, rtol=1e-10, atol=1e-12)
        calm = model.classify(vectors[k], lengths[k], structure=heights[k]).log_probs
        assert not torch.allclose(calm, alone)


def test_words_start_as_identities_and_matrices_can_learn() -> None:
    torch.manual_seed(0)
    model = MvRecNN(MvRecNNConfig(n_trained=6, n_fixed=2, n_classes=3, vector_size=5))
    table = torch.randn(8, 5)
    model.embedding.set_vectors(table)
    ids = torch.tensor([[2, 3, 7], [4, 6, 0]])
    lengths, heights = torch.tensor([3, 2]), torch.tensor([[1, 2, 0], [1, 0, 0]])
    rows = model.embedding(ids)
    torch.testing.assert_close(rows[..., :5], table[ids])
    states = model._words(rows, lengths, None)
    matrices = states[:, :, 25:].view(2, 3, 25, 25)
    torch.testing.assert_close(matrices, torch.eye(25).expand(2, 3, 25, 25))
    model(ids, lengths, structure=heights).log_probs[:, 0].sum().backward()
    assert model.embedding.trained.grad is not None
    gradient = model.embedding.trained.grad.to_dense()[2]
    assert gradient[5:30].any()  # the diagonal
    assert gradient[-75:].any()  # V
    assert float(model.penalty().detach()) > 0


def test_without_trees_and_impossible_shapes() -> None:
    model = make_model()
    with pytest.raises(ConfigError, match="structure=heights"):
        model(torch.tensor([[2]]), torch.tensor([1]))
    sizes = {"n_trained": 2, "n_classes": 2, "vector_size": 2}
    for change in ({"hidden_size": 0}, {"hidden_size": 4, "rank": 5}, {"classifier_size": -1}):
        with pytest.raises(ConfigError):
            MvRecNNConfig(**(sizes | change))
    config = MvRecNNConfig(**sizes, hidden_size=7, rank=2)
    assert MvRecNNConfig.from_dict(config.to_dict()) == config
    assert config.matrix_size == 35


@pytest.mark.parametrize("length", [1, 2, 9])
def test_levels_hold_every_node_once_children_first(length: int) -> None:
    heights = torch.stack([some_heights(length, 10, seed) for seed in range(5)])
    found: list[list[tuple[int, ...]]] = [[] for _ in heights]
    for level in tree_levels(heights, torch.full((5,), length)):
        for row, nodes, exists in zip(
            found, torch.stack(level[:3], dim=2).tolist(), level.exists.tolist(), strict=True
        ):
            row += [tuple(node) for node, there in zip(nodes, exists, strict=True) if there]
    for row, tree in zip(found, heights, strict=True):
        assert sorted(row) == sorted(spans(tree[:length].numpy()))
        done = {(i, i + 1) for i in range(length)}
        for start, middle, end in row:
            assert {(start, middle), (middle, end)} <= done
            done.add((start, end))

"""The word table in two parts: trained rows learn, fixed rows keep their vectors."""

from __future__ import annotations

import pytest
import torch

from adasent.nn import Projection, WordEmbedding


def filled() -> tuple[WordEmbedding, torch.Tensor]:
    table = torch.arange(14.0).reshape(7, 2)
    embedding = WordEmbedding(4, 3, 2)
    embedding.set_vectors(table)
    return embedding, table


def test_every_id_gets_its_row() -> None:
    embedding, table = filled()
    ids = torch.tensor([[6, 0, 3], [4, 5, 1]])
    assert torch.equal(embedding(ids), table[ids])
    assert torch.equal(embedding(ids[:, 1:2]), table[ids[:, 1:2]])  # trained rows alone


def test_fixed_words_take_no_gradient_and_give_none() -> None:
    embedding, _ = filled()
    embedding(torch.tensor([2, 5, 6, 2])).sum().backward()
    gradient = embedding.trained.grad
    assert gradient is not None
    assert gradient.is_sparse
    expected = torch.zeros(4, 2)
    expected[2] = 2.0
    assert torch.equal(gradient.to_dense(), expected)
    assert not embedding.fixed.requires_grad


def test_table_without_fixed_words() -> None:
    embedding = WordEmbedding(3, 0, 2)
    embedding.set_vectors(torch.ones(3, 2))
    assert embedding(torch.tensor([2])).tolist() == [[1.0, 1.0]]
    with pytest.raises(IndexError):
        embedding(torch.tensor([3]))


@pytest.mark.parametrize("n_fixed", [0, 3])
def test_no_value_of_another_device_is_looked_at(n_fixed: int) -> None:
    """With torch's device without memory, which could not answer."""
    embedding = WordEmbedding(4, n_fixed, 2).to("meta")
    assert embedding(torch.zeros(5, 6, dtype=torch.int64, device="meta")).shape == (5, 6, 2)


def test_projection_has_no_bias_and_starts_orthogonal() -> None:
    torch.manual_seed(0)
    projection = Projection(3, 6)
    assert projection.bias is None
    torch.testing.assert_close(projection.weight.T @ projection.weight, torch.eye(3))

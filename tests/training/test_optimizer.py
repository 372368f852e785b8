"""The row-sparse word table is trained and clipped as if it were dense."""

from __future__ import annotations

import copy
from collections.abc import Callable

import pytest
import torch
from torch import nn

from adasent.systems.adasent import AdaSent
from adasent.training.config import TrainingConfig
from adasent.training.optimizer import clip_gradients, make_optimizers


def test_sparse_adagrad_equals_dense(
    make_model: Callable[..., AdaSent], make_config: Callable[..., TrainingConfig]
) -> None:
    model = make_model()
    dense_table = model.embedding.trained.detach().clone().requires_grad_()
    optimizers = make_optimizers(model, make_config(optimizer="adagrad", learning_rate=0.1))
    reference = torch.optim.Adagrad([dense_table], lr=0.1)
    for step in range(4):
        ids = torch.tensor([[2, 3, 2], [step + 1, 4, 5]])
        for optimizer in (*optimizers, reference):
            optimizer.zero_grad()
        model.embedding(ids).square().sum().backward()
        assert model.embedding.trained.grad is not None
        assert model.embedding.trained.grad.is_sparse
        dense_table[ids].square().sum().backward()
        for optimizer in (*optimizers, reference):
            optimizer.step()
    torch.testing.assert_close(model.embedding.trained.detach(), dense_table.detach())


@pytest.mark.parametrize("max_norm", [0.1, 1e6])
def test_clipping_sparse_and_dense_together(max_norm: float) -> None:
    torch.manual_seed(0)
    embedding, linear = nn.Embedding(6, 3, sparse=True), nn.Linear(3, 2)
    twins = nn.Embedding(6, 3), copy.deepcopy(linear)
    twins[0].weight.data.copy_(embedding.weight.data)
    ids = torch.tensor([1, 4, 1])  # a repeated row must be summed before its norm is taken
    for table, layer in ((embedding, linear), twins):
        layer(table(ids)).square().sum().backward()
    parameters = [embedding.weight, linear.weight, linear.bias]
    references = [twins[0].weight, twins[1].weight, twins[1].bias]
    norm = clip_gradients(parameters, max_norm)
    expected = nn.utils.clip_grad_norm_(references, max_norm)
    assert norm == pytest.approx(expected.item())
    for parameter, reference in zip(parameters, references, strict=True):
        assert parameter.grad is not None
        assert reference.grad is not None
        torch.testing.assert_close(parameter.grad.to_dense(), reference.grad)


def test_clipping_without_gradients() -> None:
    assert clip_gradients([nn.Parameter(torch.ones(2))], 1.0) == 0.0


def test_clipping_reports_what_is_not_finite() -> None:
    weight = nn.Parameter(torch.ones(2))
    weight.grad = torch.tensor([1.0, float("nan")])
    assert clip_gradients([weight], 1.0) != clip_gradients([weight], 1.0)  # NaN


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
def test_frozen_table_has_no_optimiser(
    make_model: Callable[..., AdaSent],
    make_config: Callable[..., TrainingConfig],
    optimizer: str,
) -> None:
    model = make_model()
    optimizers = make_optimizers(model, make_config(optimizer=optimizer, fine_tune=False))
    assert len(optimizers) == 1
    assert not model.embedding.trained.requires_grad

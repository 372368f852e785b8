"""Gradient of word vectors, occurrence by occurrence -> one gradient a word; and its update.

On CUDA two Triton kernels (:mod:`adasent.training.rows_triton`) do the same without the host ever
waiting; :class:`TorchRows` is their definition.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import torch
from torch import Tensor


class AdamStep(NamedTuple):
    """What Adam knows of the tables; ``mean`` and ``square`` are changed in place."""

    mean: Tensor  # (K, V, d)
    square: Tensor  # (K, V, d)
    scale: Tensor  # (K,) factor on the gradients
    active: Tensor  # (K,) 0.0 for a model that stays as it is
    size: Tensor  # (K,) of the step
    beta1: float
    beta2: float
    eps: float


class AdagradStep(NamedTuple):
    """What AdaGrad knows of the tables; ``total`` is changed in place."""

    total: Tensor  # (K, V, d) sums of squares
    scale: Tensor  # (K,) factor on the gradients
    size: Tensor  # (K,) of the step
    eps: float


class RowGradient(Protocol):
    """Gradient of those rows of the tables (K, V, d) that occur in a batch.

    Attributes
    ----------
    squares
        (K,) squared norm of each model's gradient.
    """

    squares: Tensor

    def adam(self, table: Tensor, step: AdamStep) -> None:
        """Update the rows in place."""

    def adagrad(self, table: Tensor, step: AdagradStep) -> None:
        """Update the rows in place."""


def sum_rows(ids: Tensor, gradient: Tensor, n_words: int) -> RowGradient:
    """Sum the gradients of equal words.

    Parameters
    ----------
    ids
        (K, n) word of each occurrence, below ``n_words``; padding has gradient zero.
    gradient
        (K, n, d).
    """
    if ids.is_cuda:
        try:
            from adasent.training.rows_triton import TritonRows
        except ImportError:
            pass
        else:
            return TritonRows(ids, gradient, n_words)
    return TorchRows(ids, gradient, n_words)


class TorchRows:
    """In plain torch; asks the device how many distinct words there are."""

    def __init__(self, ids: Tensor, gradient: Tensor, n_words: int) -> None:
        n_models, _, size = gradient.shape
        offsets = n_words * torch.arange(n_models, device=ids.device)
        self.rows, inverse = torch.unique(offsets[:, None] + ids, return_inverse=True)
        self.models = self.rows // n_words
        zeros = gradient.new_zeros(len(self.rows), size)
        self.values = zeros.index_add_(0, inverse.flatten(), gradient.reshape(-1, size))
        self.squares = gradient.new_zeros(n_models).index_add_(
            0, self.models, self.values.square().sum(dim=1)
        )

    def adam(self, table: Tensor, step: AdamStep) -> None:
        gradient, active = self.values * self._of_rows(step.scale), self._of_rows(step.active)
        means, squares = self._take(step.mean), self._take(step.square)
        means.lerp_(gradient, (1 - step.beta1) * active)
        squares.lerp_(gradient.square(), (1 - step.beta2) * active)
        self._put(step.mean, means)
        self._put(step.square, squares)
        change = self._of_rows(step.size) * means / squares.sqrt().add_(step.eps)
        self._put(table, self._take(table) - change)

    def adagrad(self, table: Tensor, step: AdagradStep) -> None:
        gradient = self.values * self._of_rows(step.scale)
        totals = self._take(step.total).addcmul_(gradient, gradient)
        self._put(step.total, totals)
        change = self._of_rows(step.size) * gradient / totals.sqrt().add_(step.eps)
        self._put(table, self._take(table) - change)

    def _of_rows(self, of_models: Tensor) -> Tensor:
        return of_models[self.models][:, None]

    def _take(self, tables: Tensor) -> Tensor:
        return tables.view(-1, tables.shape[-1]).index_select(0, self.rows)

    def _put(self, tables: Tensor, values: Tensor) -> None:
        tables.view(-1, tables.shape[-1]).index_copy_(0, self.rows, values)

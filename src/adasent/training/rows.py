"""Gradient of word vectors, occurrence by occurrence -> one gradient a word; and its update.

On CUDA two Triton kernels (:mod:`adasent.training.rows_triton`) do the same without the host ever
waiting; :class:`TorchRows` is their definition.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor


class RowGradient(Protocol):
    """Gradient of those rows of the tables (K, V, d) that occur in a batch.

    Attributes
    ----------
    squares
        (K,) squared norm of each model's gradient.
    """

    squares: Tensor

    def adam(
        self,
        table: Tensor,
        mean: Tensor,
        square: Tensor,
        scale: Tensor,
        active: Tensor,
        size: Tensor,
        beta1: float,
        beta2: float,
        eps: float,
    ) -> None:
        """Update rows and moments in place; ``scale``, ``active`` and ``size`` are (K,)."""

    def adagrad(
        self, table: Tensor, total: Tensor, scale: Tensor, size: Tensor, eps: float
    ) -> None:
        """Update rows and sums of squares in place; ``scale`` and ``size`` are (K,)."""


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

    def adam(
        self,
        table: Tensor,
        mean: Tensor,
        square: Tensor,
        scale: Tensor,
        active: Tensor,
        size: Tensor,
        beta1: float,
        beta2: float,
        eps: float,
    ) -> None:
        gradient = self.values * self._of_rows(scale)
        active = self._of_rows(active)
        means, squares = self._take(mean), self._take(square)
        means.lerp_(gradient, (1 - beta1) * active)
        squares.lerp_(gradient.square(), (1 - beta2) * active)
        self._put(mean, means)
        self._put(square, squares)
        step = self._of_rows(size) * means / squares.sqrt().add_(eps)
        self._put(table, self._take(table) - step)

    def adagrad(
        self, table: Tensor, total: Tensor, scale: Tensor, size: Tensor, eps: float
    ) -> None:
        gradient = self.values * self._of_rows(scale)
        totals = self._take(total).addcmul_(gradient, gradient)
        self._put(total, totals)
        step = self._of_rows(size) * gradient / totals.sqrt().add_(eps)
        self._put(table, self._take(table) - step)

    def _of_rows(self, of_models: Tensor) -> Tensor:
        return of_models[self.models][:, None]

    def _take(self, tables: Tensor) -> Tensor:
        return tables.view(-1, tables.shape[-1]).index_select(0, self.rows)

    def _put(self, tables: Tensor, values: Tensor) -> None:
        tables.view(-1, tables.shape[-1]).index_copy_(0, self.rows, values)

"""Adam and AdaGrad over the weights of K models at once, each with its own rate and count.

Dense weights are (K, P). Of the word tables, (K, V, d), only the rows that occur in a batch are
updated: for AdaGrad that equals the dense update; for Adam it is the lazy variant, which leaves the
moments of other words alone. Both do what torch's optimisers do for one model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import torch
from torch import Tensor

from adasent.training.rows import AdagradStep, AdamStep, RowGradient


class Optimizer(ABC):
    """State and update rule.

    Parameters
    ----------
    weights, table
        (K, P) and (K, V, d), for the shape of the state; None where the table stays as it is.
    learning_rate
        (K,) in double precision.

    Attributes
    ----------
    state
        Tensors by name, with the models along their first axis; changed in place.
    """

    _sums: ClassVar[tuple[str, ...]]  # names of what is kept of each weight
    _eps: ClassVar[float]

    def __init__(self, weights: Tensor, table: Tensor | None, learning_rate: Tensor) -> None:
        self.state = {"learning_rate": learning_rate}
        for name in self._sums:
            self.state[name] = torch.zeros_like(weights)
            if table is not None:
                self.state[f"row_{name}"] = torch.zeros_like(table)

    def update(
        self,
        weights: Tensor,
        gradient: Tensor,
        table: Tensor,
        rows: RowGradient | None,
        scale: Tensor,
        active: Tensor,
    ) -> None:
        """One step of all models, in place.

        Parameters
        ----------
        weights, gradient
            (K, P).
        table, rows
            (K, V, d), and the gradient of some of its rows; None leaves the table alone.
        scale
            (K,) factor on all gradients of a model.
        active
            (K,) 1.0, or 0.0 for a model whose weights and state stay as they are.
        """
        size, correction = self._pace(active)
        numbers = (scale * active, active, size, correction, size * correction)
        scale, active, size, correction, row_size = (x.to(weights.dtype) for x in numbers)
        direction, square = self._direction(gradient * scale[:, None], active[:, None])
        root = (square.sqrt() / correction[:, None]).add_(self._eps)
        weights -= size[:, None] * direction / root
        if rows is not None:
            self._update_rows(rows, table, scale, active, row_size)

    @abstractmethod
    def _pace(self, active: Tensor) -> tuple[Tensor, Tensor]:
        """(K,) size of this step, and what its root is divided by."""

    @abstractmethod
    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """(K, P) direction of this step, and the square whose root it is divided by."""

    @abstractmethod
    def _update_rows(
        self, rows: RowGradient, table: Tensor, scale: Tensor, active: Tensor, size: Tensor
    ) -> None:
        """The same step for rows of the table."""


class Adam(Optimizer):
    """As ``torch.optim.Adam`` for dense weights and ``torch.optim.SparseAdam`` for rows."""

    _sums = ("mean", "square")
    _eps = 1e-8
    _betas = (0.9, 0.999)

    def __init__(self, weights: Tensor, table: Tensor | None, learning_rate: Tensor) -> None:
        super().__init__(weights, table, learning_rate)
        self.state["steps"] = torch.zeros_like(learning_rate)

    def _pace(self, active: Tensor) -> tuple[Tensor, Tensor]:
        self.state["steps"] += active
        steps = self.state["steps"].clamp(min=1)  # a model that has only idled divides by 1 - beta
        rest1, rest2 = (1 - beta**steps for beta in self._betas)
        return self.state["learning_rate"] * active / rest1, rest2.sqrt()

    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        beta1, beta2 = self._betas
        mean = self.state["mean"].lerp_(gradient, (1 - beta1) * active)
        return mean, self.state["square"].lerp_(gradient.square(), (1 - beta2) * active)

    def _update_rows(
        self, rows: RowGradient, table: Tensor, scale: Tensor, active: Tensor, size: Tensor
    ) -> None:
        moments = self.state["row_mean"], self.state["row_square"]
        rows.adam(table, AdamStep(*moments, scale, active, size, *self._betas, self._eps))


class Adagrad(Optimizer):
    """As ``torch.optim.Adagrad``."""

    _sums = ("total",)
    _eps = 1e-10

    def _pace(self, active: Tensor) -> tuple[Tensor, Tensor]:
        return self.state["learning_rate"], torch.ones_like(active)

    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, self.state["total"].addcmul_(gradient, gradient)

    def _update_rows(
        self, rows: RowGradient, table: Tensor, scale: Tensor, active: Tensor, size: Tensor
    ) -> None:
        rows.adagrad(table, AdagradStep(self.state["row_total"], scale, size, self._eps))


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "adagrad": Adagrad}

"""Adam and AdaGrad over the weights of K models at once, each with its own rate and count.

Dense weights are (K, P). Of the word tables, (K, V, d), only the rows that occur in a batch are
updated: for AdaGrad that equals the dense update; for Adam it is the lazy variant, which leaves the
moments of other words alone. Both do what torch's optimisers do for one model.

The gradient of word vectors comes occurrence by occurrence and is summed to one row a word. On CUDA
Triton kernels (:mod:`adasent.training.rows_triton`) sum and update without the host ever waiting;
:class:`TorchRows` is their definition. Dense weights are updated there by one kernel
(:mod:`adasent.training.dense_triton`) instead of many that each read and write all of them.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

import torch
from torch import Tensor

if TYPE_CHECKING:
    from adasent.training.rows_triton import TritonRows

    Rows: TypeAlias = "TorchRows | TritonRows"

Betas: TypeAlias = tuple[float, float]


class Pace(NamedTuple):
    """(K,) numbers of a step: norms in double precision, all others of the weights' type."""

    norms: Tensor  # of the gradients, before clipping
    active: Tensor  # 1.0, or 0.0 for a model without a batch, which stays as it is
    scale: Tensor  # factor on all gradients; 0.0 for a model that stays
    size: Tensor  # of the step
    correction: Tensor  # what the root of a square is divided by
    row_size: Tensor  # of the step of the table, whose roots are not divided


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


def sum_rows(ids: Tensor, gradient: Tensor, n_words: int) -> Rows:
    """Sum the gradients (K, n, d) of equal words; those of padding are zero.

    ``ids`` (K, n) is the word of each occurrence, below ``n_words``.
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
    """Gradient of those rows of the tables (K, V, d) that occur in a batch, in plain torch.

    It asks the device how many distinct words there are. ``adam`` and ``adagrad`` update the rows
    of a table in place. ``squares`` (K,) is the squared norm of each model's gradient.
    """

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


class Optimizer(ABC):
    """State and update rule.

    ``weights`` (K, P) and ``table`` (K, V, d) give the shape of the state; the table is None where
    it stays as it is. The learning rates (K,) are in double precision, and so are those of the
    tables, as multiples of them; None: 1.
    """

    _sums: ClassVar[tuple[str, ...]]  # names of what is kept of each weight
    _betas: ClassVar[Betas | None] = None
    _eps: ClassVar[float]

    def __init__(
        self,
        weights: Tensor,
        table: Tensor | None,
        learning_rate: Tensor,
        table_rate: Tensor | None = None,
    ) -> None:
        # By name, with the models along their first axis; changed in place.
        rate = torch.ones_like(learning_rate) if table_rate is None else table_rate
        self.state = {"learning_rate": learning_rate, "table_rate": rate}
        for name in self._sums:
            self.state[name] = torch.zeros_like(weights)
            if table is not None:
                self.state[f"row_{name}"] = torch.zeros_like(table)

    def update(
        self,
        weights: Tensor,  # (K, P)
        gradient: Tensor,  # (K, P)
        table: Tensor,  # (K, V, d)
        rows: Rows | None,  # gradient of some rows of the table; None leaves it alone
        clip_norm: Tensor,  # (K,) largest norm of all gradients of a model
        n_rows: Tensor,  # (K,) texts of its batch; a model without any stays as it is
    ) -> Pace:
        """Clip the gradients and take one step of all models, in place."""
        kernels = _kernels(weights.device.type)
        if kernels is None:
            pace = self._pace(gradient, rows, clip_norm, n_rows)
            _, active, scale, size, correction, _ = (number[:, None] for number in pace)
            direction, square = self._direction(gradient * scale, active)
            root = (square.sqrt() / correction).add_(self._eps)
            weights -= size * direction / root
        else:
            squares = None if rows is None else rows.squares
            pace = kernels.pace(gradient, squares, clip_norm, n_rows, self.state, self._betas)
            sums = [self.state[name] for name in self._sums]
            kernels.update(weights, gradient, sums, pace, self._betas, self._eps)
        if rows is not None:
            self._update_rows(rows, table, pace)
        return pace

    def _pace(self, gradient: Tensor, rows: Rows | None, clip_norm: Tensor, n_rows: Tensor) -> Pace:
        squares = gradient.square().sum(dim=1).double()
        if rows is not None:
            squares += rows.squares
        norms = squares.sqrt()
        active = (n_rows > 0).double()
        scale = (clip_norm / norms).clamp(max=1) * active
        size, correction = self._size(active)
        row_size = size * correction * self.state["table_rate"]
        numbers = (active, scale, size, correction, row_size)
        return Pace(norms, *(number.to(gradient.dtype) for number in numbers))

    @abstractmethod
    def _size(self, active: Tensor) -> tuple[Tensor, Tensor]:
        """(K,) size of this step, and what its root is divided by."""

    @abstractmethod
    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """(K, P) direction of this step, and the square whose root it is divided by."""

    @abstractmethod
    def _update_rows(self, rows: Rows, table: Tensor, pace: Pace) -> None:
        """The same step for rows of the table."""


class Adam(Optimizer):
    """As ``torch.optim.Adam`` for dense weights and ``torch.optim.SparseAdam`` for rows."""

    _sums = ("mean", "square")
    _betas: ClassVar[Betas] = (0.9, 0.999)
    _eps = 1e-8

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.state["steps"] = torch.zeros_like(self.state["learning_rate"])

    def _size(self, active: Tensor) -> tuple[Tensor, Tensor]:
        self.state["steps"] += active
        steps = self.state["steps"].clamp(min=1)  # a model that has only idled divides by 1 - beta
        rest1, rest2 = (1 - beta**steps for beta in self._betas)
        return self.state["learning_rate"] * active / rest1, rest2.sqrt()

    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        beta1, beta2 = self._betas
        mean = self.state["mean"].lerp_(gradient, (1 - beta1) * active)
        return mean, self.state["square"].lerp_(gradient.square(), (1 - beta2) * active)

    def _update_rows(self, rows: Rows, table: Tensor, pace: Pace) -> None:
        moments = self.state["row_mean"], self.state["row_square"]
        numbers = pace.scale, pace.active, pace.row_size
        rows.adam(table, AdamStep(*moments, *numbers, *self._betas, self._eps))


class Adagrad(Optimizer):
    """As ``torch.optim.Adagrad``."""

    _sums = ("total",)
    _eps = 1e-10

    def _size(self, active: Tensor) -> tuple[Tensor, Tensor]:
        return self.state["learning_rate"], torch.ones_like(active)

    def _direction(self, gradient: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        return gradient, self.state["total"].addcmul_(gradient, gradient)

    def _update_rows(self, rows: Rows, table: Tensor, pace: Pace) -> None:
        total = self.state["row_total"]
        rows.adagrad(table, AdagradStep(total, pace.scale, pace.row_size, self._eps))


@cache
def _kernels(device: str) -> ModuleType | None:
    """The Triton side of dense weights, or None where there is none."""
    if device != "cuda":
        return None
    try:
        return importlib.import_module("adasent.training.dense_triton")
    except ImportError:
        return None


OPTIMIZERS: dict[str, type[Optimizer]] = {"adam": Adam, "adagrad": Adagrad}

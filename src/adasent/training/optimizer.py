"""Adam and AdaGrad over the weights of K models at once, each with its own rate and count.

Dense weights are (K, P). Of the word tables, (K, V, d), only the rows that occur in a batch are
updated: for AdaGrad that equals the dense update; for Adam it is the lazy variant, which leaves the
moments of other words alone. Both do what torch's optimisers do for one model.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor

from adasent.training.rows import RowGradient

_BETA1, _BETA2, _ADAM_EPS = 0.9, 0.999, 1e-8
_ADAGRAD_EPS = 1e-10


class Optimizer(Protocol):
    """State and update rule.

    Attributes
    ----------
    state
        Tensors by name, with the models along their first axis; changed in place.
    """

    state: dict[str, Tensor]

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


class Adam:
    """As ``torch.optim.Adam`` for dense weights and ``torch.optim.SparseAdam`` for rows."""

    def __init__(self, weights: Tensor, table: Tensor | None, learning_rate: Tensor) -> None:
        self.state = {
            "learning_rate": learning_rate,
            "steps": torch.zeros_like(learning_rate),
            "mean": torch.zeros_like(weights),
            "square": torch.zeros_like(weights),
        }
        if table is not None:
            self.state["row_mean"] = torch.zeros_like(table)
            self.state["row_square"] = torch.zeros_like(table)

    def update(
        self,
        weights: Tensor,
        gradient: Tensor,
        table: Tensor,
        rows: RowGradient | None,
        scale: Tensor,
        active: Tensor,
    ) -> None:
        state, dtype = self.state, weights.dtype
        state["steps"] += active
        steps = state["steps"].clamp(min=1)  # a model that has only idled divides by 1 - beta
        rest1, rest2 = 1 - _BETA1**steps, (1 - _BETA2**steps).sqrt()
        size = state["learning_rate"] * active / rest1

        gradient = gradient * scale.to(dtype)[:, None]
        share = active.to(dtype)[:, None]
        mean = state["mean"].lerp_(gradient, (1 - _BETA1) * share)
        square = state["square"].lerp_(gradient.square(), (1 - _BETA2) * share)
        root = (square.sqrt() / rest2.to(dtype)[:, None]).add_(_ADAM_EPS)
        weights -= size.to(dtype)[:, None] * mean / root
        if rows is not None:
            rows.adam(
                table,
                state["row_mean"],
                state["row_square"],
                scale.to(dtype),
                active.to(dtype),
                (size * rest2).to(dtype),
                _BETA1,
                _BETA2,
                _ADAM_EPS,
            )


class Adagrad:
    """As ``torch.optim.Adagrad``."""

    def __init__(self, weights: Tensor, table: Tensor | None, learning_rate: Tensor) -> None:
        self.state = {"learning_rate": learning_rate, "total": torch.zeros_like(weights)}
        if table is not None:
            self.state["row_total"] = torch.zeros_like(table)

    def update(
        self,
        weights: Tensor,
        gradient: Tensor,
        table: Tensor,
        rows: RowGradient | None,
        scale: Tensor,
        active: Tensor,
    ) -> None:
        dtype = weights.dtype
        scale = (scale * active).to(dtype)  # no gradient, no step
        size = self.state["learning_rate"].to(dtype)
        gradient = gradient * scale[:, None]
        total = self.state["total"].addcmul_(gradient, gradient)
        weights -= size[:, None] * gradient / total.sqrt().add_(_ADAGRAD_EPS)
        if rows is not None:
            rows.adagrad(table, self.state["row_total"], scale, size, _ADAGRAD_EPS)


OPTIMIZERS: dict[str, type[Adam] | type[Adagrad]] = {"adam": Adam, "adagrad": Adagrad}

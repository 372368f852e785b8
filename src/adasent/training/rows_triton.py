# mypy: disable-error-code="untyped-decorator, no-untyped-def, no-untyped-call"
"""Rows of the word tables on CUDA: sums over equal words, and their updates, as Triton kernels.

Occurrences are sorted by word, so that those of a word lie side by side. Its first one, the head,
does all the work for it: no two programs write the same row, and the order of every sum is fixed.
The definition is :class:`adasent.training.optimizer.TorchRows`.
"""

from __future__ import annotations

from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from adasent.text.vocabulary import PAD_ID
from adasent.training.optimizer import AdagradStep, AdamStep

_PAD = tl.constexpr(PAD_ID)
_TILE = 16  # occurrences summed at a time


class TritonRows:
    """The gradient of each word at the place of its head; see ``TorchRows``."""

    def __init__(self, ids: Tensor, gradient: Tensor, n_words: int) -> None:
        words, order = ids.sort(dim=1, stable=True)
        self.words, self.n_words = words.contiguous(), n_words
        self.gradient = torch.empty(gradient.shape, dtype=gradient.dtype, device=ids.device)
        squares = torch.empty(ids.shape, dtype=gradient.dtype, device=ids.device)
        self._launch(_sum, order.contiguous(), gradient.contiguous(), squares, TILE=_TILE)
        self.squares = squares.sum(dim=1)

    def adam(self, table: Tensor, step: AdamStep) -> None:
        *tensors, beta1, beta2, eps = step
        self._launch(_adam, table, *tensors, self.n_words, 1 - beta1, 1 - beta2, eps)

    def adagrad(self, table: Tensor, step: AdagradStep) -> None:
        *tensors, eps = step
        self._launch(_adagrad, table, *tensors, self.n_words, eps)

    def _launch(self, kernel: Any, *values: Any, **constants: int) -> None:
        """One program for each occurrence of each model."""
        n_models, n, size = self.gradient.shape
        kernel[n, n_models](
            self.words,
            self.gradient,
            *values,
            n,
            size,
            SIZE=triton.next_power_of_2(size),
            num_warps=1,
            **constants,
        )


@triton.jit
def _head(words, n):
    """The word at this program's place, and whether it is the first of its kind."""
    place = tl.program_id(0)
    words += tl.program_id(1).to(tl.int64) * n
    word = tl.load(words + place)
    before = tl.load(words + place - 1, mask=place > 0, other=_PAD)
    return word, word != before  # padding sorts first, so it is never a head


@triton.jit
def _sum(
    words, sums, order, gradient, squares, n, size, SIZE: tl.constexpr, TILE: tl.constexpr
):  # fmt: skip
    word, is_head = _head(words, n)
    place, model = tl.program_id(0), tl.program_id(1).to(tl.int64)
    feature = tl.arange(0, SIZE)
    inside = feature < size
    total = tl.zeros([SIZE], dtype=sums.dtype.element_ty)
    start, more = place, is_head
    while more:
        at = start + tl.arange(0, TILE)
        found = tl.load(words + model * n + at, mask=at < n, other=_PAD)
        same = found == word
        row = model * n + tl.load(order + model * n + at, mask=same, other=0)
        values = tl.load(
            gradient + row[:, None] * size + feature[None, :],
            mask=same[:, None] & inside[None, :],
            other=0.0,
        )
        total += tl.sum(values, axis=0)
        start += TILE
        more = tl.sum(same.to(tl.int32), axis=0) == TILE
    tl.store(sums + (model * n + place) * size + feature, total, mask=inside & is_head)
    tl.store(squares + model * n + place, tl.sum(total * total, axis=0))


@triton.jit
def _row(gradient, scale, word, n_words, n, size, SIZE: tl.constexpr):
    """Model, place in the tables, columns and scaled gradient of the word of this program."""
    model = tl.program_id(1).to(tl.int64)
    feature = tl.arange(0, SIZE)
    inside = feature < size
    at = (model * n_words + word) * size + feature
    place = model * n + tl.program_id(0)
    g = tl.load(gradient + place * size + feature, mask=inside, other=0.0)
    return model, at, inside, g * tl.load(scale + model)


@triton.jit
def _step(table, at, inside, size_of_step, direction, square, eps):
    """Take the step of one row."""
    weights = tl.load(table + at, mask=inside, other=0.0)
    weights -= size_of_step * direction / (tl.sqrt(square) + eps)
    tl.store(table + at, weights, mask=inside)


@triton.jit
def _adam(
    words, gradient, table, mean, square, scale, active, size_of_step, n_words, share1, share2,
    eps, n, size, SIZE: tl.constexpr,
):  # fmt: skip
    word, is_head = _head(words, n)
    if is_head:
        model, at, inside, g = _row(gradient, scale, word, n_words, n, size, SIZE)
        working = tl.load(active + model)
        m = tl.load(mean + at, mask=inside, other=0.0)
        v = tl.load(square + at, mask=inside, other=0.0)
        m += share1 * working * (g - m)
        v += share2 * working * (g * g - v)
        tl.store(mean + at, m, mask=inside)
        tl.store(square + at, v, mask=inside)
        _step(table, at, inside, tl.load(size_of_step + model), m, v, eps)


@triton.jit
def _adagrad(
    words, gradient, table, total, scale, size_of_step, n_words, eps, n, size, SIZE: tl.constexpr
):  # fmt: skip
    word, is_head = _head(words, n)
    if is_head:
        model, at, inside, g = _row(gradient, scale, word, n_words, n, size, SIZE)
        v = tl.load(total + at, mask=inside, other=0.0) + g * g
        tl.store(total + at, v, mask=inside)
        _step(table, at, inside, tl.load(size_of_step + model), g, v, eps)

"""Lengths of the texts of each model -> which rows every model takes in every step of an epoch.

What a model does, and in which order, follows from its own lengths, settings and seed. Only when it
does so follows from the others: models of equally many texts take batches of like length in the
same step, so that little is padded, and a model with fewer batches idles where it has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adasent.text.batch import length_buckets

#: Keeps the order of a pass apart from what else is drawn from the seed and a number.
_PASS = 1


@dataclass(frozen=True)
class EpochOrder:
    """The batches of one model in one epoch."""

    batches: list[np.ndarray]  # rows of each batch, shortest texts first
    keys: np.ndarray  # (n,) key of the dropout in each batch
    epoch: int  # what the order of the batches is drawn from

    def steps(self, n_steps: int) -> np.ndarray:
        """(n_steps,) which batch each step takes; numbers from ``len(batches)`` on mean none.

        The order is of the epoch, not of the seed, so that the models of a stack, whose seeds may
        differ, take batches of like length together. Which texts make a batch is of the seed.
        Taking the numbers below n out of a random order of more gives the order that n alone
        would have: idle steps change nothing.
        """
        return np.argsort(np.random.default_rng(self.epoch).random(n_steps), kind="stable")


@dataclass(frozen=True)
class Plan:
    """The steps of K models."""

    rows: np.ndarray  # (S, K, B) rows of each batch; the filler where a model has fewer
    n_rows: np.ndarray  # (S, K) how many of them are real; 0 where a model idles
    keys: np.ndarray  # (S, K) key of the dropout
    widths: list[int]  # words of the longest text of each step


def epoch_order(
    lengths: np.ndarray,
    batch_size: int,
    seed: int,
    epoch: int,
    height: int | None = None,
    size: int | None = None,
) -> EpochOrder:
    """Batches of similar length; which texts of a length meet is drawn from (seed, epoch).

    ``height`` bounds the levels of a pyramid, and so what a long text adds to a batch. With a
    ``size``, the epoch has so many texts only, see :func:`_window`.
    """
    rng = np.random.default_rng(np.random.SeedSequence([seed, epoch]))
    if size is None or size >= len(lengths):
        shuffled = rng.permutation(len(lengths))
    else:
        shuffled = rng.permutation(_window(len(lengths), size, seed, epoch))
    buckets = length_buckets(lengths[shuffled], batch_size, height=height)
    batches = [shuffled[rows] for rows in buckets]
    return EpochOrder(batches, rng.integers(2**63, size=len(batches)), epoch)


def _window(n: int, size: int, seed: int, epoch: int) -> np.ndarray:
    """(size,) the texts of one epoch where an epoch is less than a pass over all n.

    The passes, each in an order of its own, lie end to end, and an epoch takes the next ``size``
    texts: none comes again before all have come. What an epoch takes follows from its number alone,
    so that a run which goes on after a kill takes the same.
    """
    start, stop = epoch * size, (epoch + 1) * size
    first, last = start // n, (stop - 1) // n
    orders = [
        np.random.default_rng(np.random.SeedSequence([seed, number, _PASS])).permutation(n)
        for number in range(first, last + 1)
    ]
    return np.concatenate(orders)[start - first * n : stop - first * n]


def training_plan(
    orders: Sequence[EpochOrder | None], lengths: Sequence[np.ndarray], filler: int
) -> Plan:
    """Put the models' batches into common steps; a model whose order is None idles all along.

    ``lengths`` are the words of the texts of each model, ``filler`` is the row for no text.
    """
    n_steps = max(len(order.batches) for order in orders if order is not None)
    idle = EpochOrder([], np.empty(0, dtype=np.int64), 0)
    given = [order or idle for order in orders]
    steps = [order.steps(n_steps) for order in given]
    plan = _fill([order.batches for order in given], steps, lengths, filler)
    for k, order in enumerate(given):
        working = steps[k] < len(order.batches)
        plan.keys[working, k] = order.keys[steps[k][working]]
    return plan


def validation_plan(
    lengths: Sequence[np.ndarray], batch_size: int, filler: int, height: int | None = None
) -> Plan:
    """The same without chance: batches by length."""
    batches = [length_buckets(one, batch_size, height=height) for one in lengths]
    steps = [np.arange(max(len(rows) for rows in batches))] * len(batches)
    return _fill(batches, steps, lengths, filler)


def _fill(
    batches: Sequence[list[np.ndarray]],
    steps: Sequence[np.ndarray],
    lengths: Sequence[np.ndarray],
    filler: int,
) -> Plan:
    n_steps = max(len(order) for order in steps)
    size = max(len(rows) for of_model in batches for rows in of_model)
    rows = np.full((n_steps, len(batches), size), filler, dtype=np.int64)
    n_rows = np.zeros((n_steps, len(batches)), dtype=np.int64)
    widths = np.ones(n_steps, dtype=np.int64)
    for k, (of_model, order) in enumerate(zip(batches, steps, strict=True)):
        if not of_model:
            continue
        sizes = np.array([len(batch) for batch in of_model])
        longest = lengths[k][[batch[-1] for batch in of_model]]
        filled = np.full((len(of_model), size), filler, dtype=np.int64)
        filled[np.arange(size) < sizes[:, None]] = np.concatenate(of_model)
        working = np.flatnonzero(order < len(of_model))
        taken = order[working]
        rows[working, k] = filled[taken]
        n_rows[working, k] = sizes[taken]
        widths[working] = np.maximum(widths[working], longest[taken])
    return Plan(rows, n_rows, np.zeros_like(n_rows), widths.tolist())

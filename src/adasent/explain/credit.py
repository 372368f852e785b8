"""What units and words brought to the pooled levels of their texts, in numpy.

The derivative of a class's probability by a dimension of a pooled level is given to the unit that
the dimension was pooled from, and carried down the gates to the words: a unit hands on to each of
its children that child's share of it (:mod:`adasent.explain.spans`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adasent.explain.spans import cores, span_levels
from adasent.runtime.arrays import Floats, Ints

#: Units so close below a maximum own a part of it. Copies of one word are that close, and which of
#: them is the largest would be decided by rounding.
NEAR = 0.1


class Credit(NamedTuple):
    """Scores in the text, for K classes, and the cores of the units."""

    units: Floats  # (B, cells, K) derivative times difference from the mean of the words
    words: Floats  # (B, T, K)
    starts: Ints  # (B, cells) first word of a unit's core
    stops: Ints  # (B, cells) the word after its last


def empty_credit(n_texts: int, n_cells: int, n_words: int, n_kept: int) -> Credit:
    """Arrays to be filled."""
    return Credit(
        np.empty((n_texts, n_cells, n_kept), dtype=np.float32),
        np.empty((n_texts, n_words, n_kept), dtype=np.float32),
        np.empty((n_texts, n_cells), dtype=np.int64),
        np.empty((n_texts, n_cells), dtype=np.int64),
    )


def credit_numpy(
    units: Floats, levels: Floats, gates: Floats, gradients: Floats, *, maximum: bool
) -> Credit:
    """Give every unit and word its due.

    Parameters
    ----------
    units
        (cells, B, D) level after level.
    levels
        (T, B, D) pooled.
    gates
        (cells from the second level up, B, 3).
    gradients
        (K, T, B, D) derivatives of K probabilities by the pooled levels.
    maximum
        Whether levels were pooled by maximum rather than mean.
    """
    n_kept, n_words, n_texts, _ = gradients.shape
    n_cells = len(units)
    found = empty_credit(n_texts, n_cells, n_words, n_kept)
    found.words[:] = 0
    mean = units[:n_words].mean(axis=0)  # (B, D)
    # The mean goes along as one more word: a unit's score is a product less that with the mean.
    vectors = np.concatenate([units[:n_words] - mean, mean[None]]).transpose(1, 2, 0)
    cell = 0
    for t, spans in enumerate(span_levels(gates.swapaxes(0, 1), n_words)):
        here = slice(cell, cell + n_words - t)
        cell = here.stop
        level = units[here]  # (n, B, D)
        if maximum:
            owned = level - (levels[t] - NEAR)
            np.maximum(owned, 0.0, out=owned)
        else:
            owned = np.ones_like(level)
        gradient = gradients[:, t] / owned.sum(axis=0)  # (K, B, D)
        credit = owned * gradient[:, None]  # (K, n, B, D)
        products = credit.swapaxes(1, 2) @ vectors  # (K, B, n, T + 1)
        found.units[:, here] = np.einsum("knbd,nbd->bnk", credit, level)
        found.units[:, here] -= np.moveaxis(products[..., -1], 0, -1)
        found.words[:] += np.einsum("kbnt,bnt->btk", products[..., :-1], spans)
        found.starts[:, here], found.stops[:, here] = cores(spans)
    return found

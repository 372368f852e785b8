"""What units and words brought to the pooled levels of their texts, in numpy.

The derivative of a class's probability by a dimension of a pooled level is given to the unit that
the dimension was pooled from, and shared among the words by what the unit is made of
(:mod:`adasent.explain.spans`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adasent.explain.spans import child_shares, cores
from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.climb import Pyramids

#: Units so close below a maximum own a part of it. Copies of one word are that close, and which of
#: them is the largest would be decided by rounding.
TIE_MARGIN = np.float32(0.1)


class Credit(NamedTuple):
    """Scores in the text, for K classes, and what units are made of; all text after text."""

    units: Floats  # (K, n_units) derivative times difference from the mean of the words
    words: Floats  # (K, n_words)
    starts: Ints  # (n_units,) first word of a unit's core
    stops: Ints  # (n_units,) the word after its last
    gates: Floats  # (n_units - n_words, 3)


def empty_credit(n_kept: int, layout: Layout) -> Credit:
    """Arrays to be filled; words have nothing yet."""
    n_units, n_words = layout.n_units, layout.n_words
    return Credit(
        np.empty((n_kept, n_units), dtype=np.float32),
        np.zeros((n_kept, n_words), dtype=np.float32),
        np.empty(n_units, dtype=np.int64),
        np.empty(n_units, dtype=np.int64),
        np.empty((n_units - n_words, 3), dtype=np.float32),
    )


def credit_numpy(pyramids: Pyramids, layout: Layout, gradients: Floats, *, maximum: bool) -> Credit:
    """Give every unit and word its due.

    Parameters
    ----------
    gradients
        (K, n_words, D) derivatives of K probabilities by the pooled levels.
    maximum
        Whether levels were pooled by maximum rather than mean.
    """
    found = empty_credit(len(gradients), layout)
    for texts in layout.of_equal_length():
        _credit_equals(pyramids, layout, gradients, texts, found, maximum=maximum)
    return found


def _credit_equals(
    pyramids: Pyramids,
    layout: Layout,
    gradients: Floats,
    texts: Ints,
    found: Credit,
    *,
    maximum: bool,
) -> None:
    """Fill in what is due in m texts of T words, level by level."""
    n_texts, n_words = len(texts), int(layout.lengths[texts[0]])
    own = _of_texts(found, layout, texts)
    words = pyramids.units.take(layout.rows(texts, 0), axis=0)  # (m, T, D)
    mean = words.mean(axis=1, keepdims=True)
    words -= mean
    spans = np.eye(n_words, dtype=np.float32)[None].repeat(n_texts, axis=0)
    done = 0
    for t in range(n_words):
        rows = layout.rows(texts, t)
        here = slice(done, done + n_words - t)
        done = here.stop
        units = pyramids.units.take(rows, axis=0)  # (m, T - t, D)
        pooled = slice(layout.starts[t] + texts[0], layout.starts[t] + texts[-1] + 1)
        if t:
            gates = pyramids.gates.take(rows - layout.n_words, axis=0)
            own.gates[:, here.start - n_words : here.stop - n_words] = gates
            left, right = child_shares(gates)
            spans = left * spans[:, :-1] + right * spans[:, 1:]  # (m, T - t, T)
        if maximum:
            owned = units - (pyramids.levels[pooled, None] - TIE_MARGIN)
            np.maximum(owned, 0.0, out=owned)
            owned /= owned.sum(axis=1, keepdims=True)
        else:
            owned = np.full_like(units, 1 / (n_words - t))
        slopes = gradients[:, pooled].transpose(1, 2, 0)  # (m, D, K)
        by_word = spans.transpose(0, 2, 1) @ owned  # (m, T, D)
        by_word *= words
        own.words[:] += (by_word @ slopes).transpose(2, 0, 1)
        units -= mean
        units *= owned
        own.units[:, :, here] = (units @ slopes).transpose(2, 0, 1)
        own.starts[:, here], own.stops[:, here] = cores(spans)


def _of_texts(found: Credit, layout: Layout, texts: Ints) -> Credit:
    """The part of m texts of equal length, with an axis for the texts."""
    bounds = [texts[0], texts[-1] + 1]
    words, units = slice(*layout.first_word[bounds]), slice(*layout.first_unit[bounds])
    gates = slice(units.start - words.start, units.stop - words.stop)
    n_kept, n_texts, n_words = len(found.units), len(texts), int(layout.lengths[texts[0]])
    by_unit = n_texts, n_words * (n_words + 1) // 2
    return Credit(
        found.units[:, units].reshape(n_kept, *by_unit),
        found.words[:, words].reshape(n_kept, n_texts, n_words),
        found.starts[units].reshape(by_unit),
        found.stops[units].reshape(by_unit),
        found.gates[gates].reshape(n_texts, by_unit[1] - n_words, 3),
    )

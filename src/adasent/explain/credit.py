"""What units and words brought to the pooled levels of their texts, in numpy.

The derivative of a class's probability by a dimension of a pooled level is given to the unit that
the dimension was pooled from, and shared among the words by what the unit is made of
(:mod:`adasent.explain.spans`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from adasent.explain.spans import child_shares, cores, span_levels
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
    gates: Floats  # (n_units - n_words, 3) means over the groups of dimensions


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
        (K, n_pooled, D) derivatives of K probabilities by the pooled levels.
    maximum
        Whether levels were pooled by maximum rather than mean.
    """
    found = empty_credit(len(gradients), layout)
    for texts in layout.of_equal_length():
        own = _of_texts(found, layout, texts)
        _go_down(pyramids, layout, gradients, texts, own, maximum=maximum)
        _go_up(pyramids, layout, texts, own)
    return found


def _go_down(
    pyramids: Pyramids,
    layout: Layout,
    gradients: Floats,
    texts: Ints,
    own: Credit,
    *,
    maximum: bool,
) -> None:
    """Scores of the units and words of m texts of T words, from the top level down."""
    n_words, n_levels = int(layout.lengths[texts[0]]), int(layout.n_levels_of[texts[0]])
    words = pyramids.units.take(layout.rows(texts, 0), axis=0)  # (m, T, D)
    mean = words.mean(axis=1, keepdims=True)
    last = own.units.shape[2]
    above: Floats | None = None
    for t in range(n_levels - 1, -1, -1):
        here = slice(last - n_words + t, last)
        last = here.start
        units = pyramids.units.take(layout.rows(texts, t), axis=0)  # (m, T - t, D)
        pooled = slice(layout.starts[t] + texts[0], layout.starts[t] + texts[-1] + 1)
        if maximum:
            owned = units - (pyramids.levels[pooled, None] - TIE_MARGIN)
            np.maximum(owned, 0.0, out=owned)
            owned /= owned.sum(axis=1, keepdims=True)
        else:
            owned = np.full_like(units, 1 / (n_words - t))
        slopes = gradients[:, pooled, None]  # (K, m, 1, D)
        due = owned * slopes  # (K, m, T - t, D)
        if above is not None:  # by the gates of the units above, dimension by dimension
            gates = pyramids.gates.take(layout.rows(texts, t + 1) - layout.n_words, axis=0)
            n_repeats = units.shape[2] // gates.shape[3]
            left, right = (np.tile(share, n_repeats) for share in child_shares(gates))
            due[:, :, :-1] += left * above
            due[:, :, 1:] += right * above
        above = due
        units -= mean
        own.units[:, :, here] = (units * owned * slopes).sum(axis=3)
    own.words[:] = (due * (words - mean)).sum(axis=3)


def _go_up(pyramids: Pyramids, layout: Layout, texts: Ints, own: Credit) -> None:
    """Gates and cores of the units of m texts of T words."""
    n_words, n_levels = int(layout.lengths[texts[0]]), int(layout.n_levels_of[texts[0]])
    rows = [layout.rows(texts, t) - layout.n_words for t in range(1, n_levels)]
    gates = [pyramids.gates.take(row, axis=0).mean(axis=3) for row in rows]
    done = 0
    for t, spans in enumerate(span_levels(gates, n_words)):
        n_units = n_words - t
        here = slice(done, done + n_units)
        done = here.stop
        if t:
            own.gates[:, here.start - n_words : here.stop - n_words] = gates[t - 1]
        starts, stops = cores(spans)  # from a unit's first word on
        own.starts[:, here] = starts + np.arange(n_units)
        own.stops[:, here] = stops + np.arange(n_units)


def _of_texts(found: Credit, layout: Layout, texts: Ints) -> Credit:
    """The part of m texts of equal length, with an axis for the texts."""
    bounds = [texts[0], texts[-1] + 1]
    words, units = slice(*layout.first_word[bounds]), slice(*layout.first_unit[bounds])
    gates = slice(units.start - words.start, units.stop - words.stop)
    n_kept, n_texts, n_words = len(found.units), len(texts), int(layout.lengths[texts[0]])
    by_unit = n_texts, (units.stop - units.start) // n_texts
    return Credit(
        found.units[:, units].reshape(n_kept, *by_unit),
        found.words[:, words].reshape(n_kept, n_texts, n_words),
        found.starts[units].reshape(by_unit),
        found.stops[units].reshape(by_unit),
        found.gates[gates].reshape(n_texts, by_unit[1] - n_words, 3),
    )

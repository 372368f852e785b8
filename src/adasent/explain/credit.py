"""What units and words brought to the pooled levels of their texts, in numpy.

The derivative of a class's probability by a dimension of a pooled level is given to the unit that
the dimension was pooled from, and shared among the words by what the unit is made of
(:mod:`adasent.explain.spans`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from adasent.explain.places import Places
from adasent.explain.pyramids import Pyramids
from adasent.explain.spans import cores, span_levels
from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.cells import pool_numpy

#: Units so close below a maximum own a part of it. Copies of one word are that close, and which of
#: them is the largest would be decided by rounding.
NEAR = np.float32(0.1)

#: Levels of a batch are worked on together up to so many weights of words in units.
STRETCH = 2**20


class Credit(NamedTuple):
    """Scores in the text, for K classes, and the cores of the units; all text after text."""

    units: Floats  # (K, n_cells) derivative times difference from the mean of the words
    words: Floats  # (K, n_words)
    starts: Ints  # (n_cells,) first word of a unit's core
    stops: Ints  # (n_cells,) the word after its last


def empty_credit(n_kept: int, places: Places) -> Credit:
    """Arrays to be filled; words have nothing yet."""
    n_cells, n_words = len(places.units), len(places.words)
    return Credit(
        np.empty((n_kept, n_cells), dtype=np.float32),
        np.zeros((n_kept, n_words), dtype=np.float32),
        np.empty(n_cells, dtype=np.int64),
        np.empty(n_cells, dtype=np.int64),
    )


def credit_numpy(pyramids: Pyramids, places: Places, gradients: Floats, *, maximum: bool) -> Credit:
    """Give every unit and word its due.

    Parameters
    ----------
    gradients
        (K, n_words, D) derivatives of K probabilities by the pooled levels.
    maximum
        Whether levels were pooled by maximum rather than mean.
    """
    found = empty_credit(len(gradients), places)
    owned = _owned(pyramids, places, maximum=maximum)
    means = np.empty((len(places.lengths), gradients.shape[2]), dtype=np.float32)
    pool_numpy(pyramids.units[: len(places.words)], places.counts, means, maximum=False)
    vectors = pyramids.units[places.words] - means.repeat(places.lengths, axis=0)
    text_of = np.arange(len(means)).repeat(np.diff(places.first_unit))
    row = 0
    for spans in _stretches(span_levels(pyramids.gates, places.counts)):
        # The units of these levels, text after text.
        cells = np.flatnonzero((places.units >= row) & (places.units < row + len(spans)))
        rows, text = places.units[cells], text_of[cells]
        weights = spans[rows - row]
        row += len(spans)
        found.starts[cells], found.stops[cells] = cores(weights)
        levels = places.starts[places.level[cells]] + text  # where they are pooled
        words = pairwise(places.first_word.tolist())
        bounds = pairwise(np.searchsorted(cells, places.first_unit).tolist())
        for mean, (i, j), (first, last) in zip(means, bounds, words, strict=True):
            if i == j:  # neither this text nor those after it reach these levels
                break
            credit = gradients.take(levels[i:j], axis=1)  # (K, cells, D)
            credit *= owned.take(rows[i:j], axis=0)
            centred = pyramids.units.take(rows[i:j], axis=0)
            centred -= mean
            found.units[:, cells[i:j]] = np.einsum("kcd,cd->kc", credit, centred)
            products = credit @ vectors[first:last].T  # (K, cells, T)
            found.words[:, first:last] += np.einsum(
                "kct,ct->kt", products, weights[i:j, : last - first]
            )
    return found


def _stretches(levels: Iterable[Floats]) -> Iterator[Floats]:
    """Levels put together, up to a size: few large steps are quicker than many small ones."""
    kept: list[Floats] = []
    n_kept = 0
    for level in levels:
        if kept and n_kept + level.size > STRETCH:
            yield np.concatenate(kept)
            kept, n_kept = [], 0
        kept.append(level)
        n_kept += level.size
    yield np.concatenate(kept)


def _owned(pyramids: Pyramids, places: Places, *, maximum: bool) -> Floats:
    """(n_cells, D) how much of each dimension of its level was pooled from a unit.

    The units of a mean have equal parts; those at or near a maximum the more, the nearer they are.
    """
    n_words, size = pyramids.levels.shape
    found = np.ones_like(pyramids.units)
    for t, (first, start, n) in enumerate(
        zip(places.levels.tolist(), places.starts.tolist(), places.counts.tolist(), strict=True)
    ):
        owned, text = found[first : first + n_words - start], places.text[start:]
        if maximum:
            least = pyramids.levels[start : start + n] - NEAR
            np.subtract(pyramids.units[first : first + len(owned)], least[text], out=owned)
            np.maximum(owned, 0.0, out=owned)
        each = np.empty((n, size), dtype=np.float32)
        pool_numpy(owned, places.counts[t:], each, maximum=False)
        each *= (places.lengths[:n, None] - t).astype(np.float32)
        owned /= each[text]
    return found

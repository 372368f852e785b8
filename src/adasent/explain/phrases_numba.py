# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The twin of :mod:`adasent.explain.phrases` for where numba is at hand: text after text."""

from __future__ import annotations

import numpy as np

from adasent.explain.attribution import Attribution
from adasent.explain.phrases import LEAST
from adasent.pyramid.compiling import compiled
from adasent.runtime.arrays import Doubles, Ints

_LEAST = np.float32(LEAST)


@compiled
def _strongest(strength, least, starts, stops, n_words):
    """(T, T + 1) for each core, from its first word to the word after its last, the unit; or -1."""
    found = np.full((n_words, n_words + 1), -1)
    for unit in range(len(strength)):
        if strength[unit] >= least:
            other = found[starts[unit], stops[unit]]
            if other < 0 or strength[unit] >= strength[other]:
                found[starts[unit], stops[unit]] = unit
    return found


@compiled
def _level(unit, n_words):
    """The level of a unit of a text, from 1."""
    level = 1
    while unit >= n_words:
        unit -= n_words
        n_words -= 1
        level += 1
    return level


@compiled
def _texts(scores, starts, stops, lengths, first_unit, predicted, bounds, sums, ends):
    n_classes = len(scores)
    done = 0
    for b in range(len(lengths)):
        first, last = first_unit[b], first_unit[b + 1]
        strength = np.zeros(last - first, scores.dtype)
        for c in range(n_classes):
            for i in range(last - first):
                strength[i] = max(strength[i], abs(scores[c, first + i]))
        least = _LEAST * strength.max()
        own = starts[first:last], stops[first:last]
        table = _strongest(strength, least, *own, lengths[b])
        cores = np.flatnonzero(table.ravel() >= 0)
        units = table.ravel()[cores]
        table.ravel()[cores] = np.arange(len(cores))
        found = np.zeros((len(cores), n_classes))
        for i in range(last - first):
            if strength[i] >= least:
                phrase = table[starts[first + i], stops[first + i]]
                for c in range(n_classes):
                    found[phrase, c] += scores[c, first + i]
        order = np.argsort(-found[:, predicted[b]], kind="mergesort")
        for phrase in order:
            unit = units[phrase]
            bounds[done, 0], bounds[done, 1] = starts[first + unit], stops[first + unit]
            bounds[done, 2] = _level(unit, lengths[b])
            sums[done] = found[phrase]
            done += 1
        ends[b + 1] = done


def ranked_numba(found: Attribution) -> tuple[Ints, Doubles, Ints]:
    """As :func:`adasent.explain.phrases.ranked_numpy`."""
    n_classes, n_units = found.unit_scores.shape
    bounds = np.empty((n_units, 3), dtype=np.int64)
    sums = np.empty((n_units, n_classes))
    ends = np.zeros(len(found.places.lengths) + 1, dtype=np.int64)
    _texts(
        found.unit_scores,
        found.starts,
        found.stops,
        found.places.lengths,
        found.places.first_unit,
        found.probabilities.argmax(axis=1),
        bounds,
        sums,
        ends,
    )
    n_phrases = int(ends[-1])
    return bounds[:n_phrases].copy(), sums[:n_phrases].copy(), ends

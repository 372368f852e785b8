"""The twin of :mod:`adasent.explain.credit` for where numba is at hand: one pass down a pyramid."""

from __future__ import annotations

from typing import Any

import numpy as np

from adasent.explain.credit import NEAR, Credit, empty_credit
from adasent.explain.spans import TAIL
from adasent.pyramid.cells import _compiled
from adasent.runtime.arrays import Floats

_NEAR, _TAIL, _HALF = np.float32(NEAR), np.float32(TAIL), np.float32(0.5)


@_compiled
def _down(
    b: Any,
    units: Any,
    levels: Any,
    gates: Any,
    gradients: Any,
    maximum: Any,
    unit_scores: Any,
    word_scores: Any,
) -> Any:
    """Scores of text b. Whole arrays are passed: loops over a slice of them are not vectorised."""
    n_kept, n_words, _, size = gradients.shape
    zero, one = units.dtype.type(0), units.dtype.type(1)
    mean = np.zeros(size, units.dtype)
    for i in range(n_words):
        h = units[i, b]
        for d in range(size):
            mean[d] += h[d]
    for d in range(size):
        mean[d] /= n_words
    share, owned = np.empty(size, units.dtype), np.empty(size, units.dtype)
    above = np.zeros((n_words, n_kept, size), units.dtype)
    below = np.zeros((n_words, n_kept, size), units.dtype)
    end = len(units)
    for t in range(n_words - 1, -1, -1):
        n = n_words - t
        first = end - n
        top = levels[t, b]
        share[:] = zero if maximum else units.dtype.type(n)
        if maximum:
            for j in range(n):
                h = units[first + j, b]
                for d in range(size):
                    share[d] += max(h[d] - top[d] + _NEAR, zero)
        for d in range(size):
            share[d] = one / share[d]
        for j in range(n):
            h = units[first + j, b]
            if maximum:
                for d in range(size):
                    owned[d] = max(h[d] - top[d] + _NEAR, zero) * share[d]
            else:
                owned[:] = share
            for k in range(n_kept):
                slope, credit = gradients[k, t, b], below[j, k]
                score = zero
                for d in range(size):
                    own = owned[d] * slope[d]
                    score += own * (h[d] - mean[d])
                    credit[d] = own
                unit_scores[b, first + j, k] = score
            if j < n - 1:
                _hand_down(gates[end + j - n_words, b], 0, above[j], below[j])
            if j > 0:
                _hand_down(gates[end + j - 1 - n_words, b], 1, above[j - 1], below[j])
        above, below = below, above
        end = first
    for i in range(n_words):
        h = units[i, b]
        for k in range(n_kept):
            credit, score = above[i, k], zero
            for d in range(size):
                score += credit[d] * (h[d] - mean[d])
            word_scores[b, i, k] = score


@_compiled
def _hand_down(gate: Any, side: Any, parent: Any, child: Any) -> Any:
    """Add what a unit owes to its left (side 0) or right child."""
    part = gate[side] + _HALF * gate[2]
    for k in range(len(child)):
        to, by = child[k], parent[k]
        for d in range(len(to)):
            to[d] += part * by[d]


@_compiled
def _core(weights: Any, n: Any) -> Any:
    """First word of the core, and the word after its last, among n weights."""
    total = weights.dtype.type(0)
    start, stop = 0, n
    for i in range(n):
        total += weights[i]
        if total <= _TAIL:
            start = i + 1
        if total >= 1 - _TAIL:
            stop = i + 1
            break
    return start, stop


@_compiled
def _up(b: Any, gates: Any, n_words: Any, starts: Any, stops: Any) -> Any:
    """Cores of the units of text b. Spans are kept for a level, from a unit's first word on."""
    spans = np.zeros((n_words, n_words), gates.dtype)
    for i in range(n_words):
        spans[i, 0] = 1
        starts[b, i], stops[b, i] = i, i + 1
    cell = n_words
    for t in range(1, n_words):
        for j in range(n_words - t):
            gate = gates[cell - n_words, b]
            half = _HALF * gate[2]
            left, right = gate[0] + half, gate[1] + half
            mine, other = spans[j], spans[j + 1]  # the other is still that of the level below
            mine[t] = right * other[t - 1]
            for i in range(t - 1, 0, -1):
                mine[i] = left * mine[i] + right * other[i - 1]
            mine[0] *= left
            start, stop = _core(mine, t + 1)
            starts[b, cell], stops[b, cell] = j + start, j + stop
            cell += 1


@_compiled
def _texts(
    units: Any,
    levels: Any,
    gates: Any,
    gradients: Any,
    maximum: Any,
    unit_scores: Any,
    word_scores: Any,
    starts: Any,
    stops: Any,
) -> Any:
    for b in range(units.shape[1]):
        _down(b, units, levels, gates, gradients, maximum, unit_scores, word_scores)
        _up(b, gates, len(levels), starts, stops)


def credit_numba(
    units: Floats, levels: Floats, gates: Floats, gradients: Floats, *, maximum: bool
) -> Credit:
    """As :func:`adasent.explain.credit.credit_numpy`."""
    n_kept, n_words, n_texts, _ = gradients.shape
    found = empty_credit(n_texts, len(units), n_words, n_kept)
    _texts(units, levels, gates, np.ascontiguousarray(gradients), maximum, *found)
    return found

# mypy: disable-error-code="no-untyped-def, no-untyped-call, untyped-decorator"
"""The passes of an explanation for where numba is at hand, each a twin of one in numpy.

Each is here because a call of ordinary length becomes slower by far more than 3 % without it. Row
slices are taken so that inner loops index by one variable alone: others are not vectorised.
"""

from __future__ import annotations

import numpy as np

from adasent.explain.attribution import Passes
from adasent.explain.credit import TIE_MARGIN, Credit, empty_credit
from adasent.explain.deletion import empty_shorter, n_shorter
from adasent.explain.mixture import KINK_WIDTH
from adasent.explain.spans import CORE_TAIL
from adasent.pyramid.compiling import compiled
from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Floats
from adasent.runtime.climb import Pyramids
from adasent.runtime.head import NORM_EPS

_TAIL, _HALF = np.float32(CORE_TAIL), np.float32(0.5)

#: Weights of words below this are 0: numbers too small to be normal are slow to reckon with.
_TINY = np.float32(1e-30)


@compiled
def _child_share(gates, side, share):
    """Fill what of each dimension comes from a child; gates are (3, N), dimension d of d mod N."""
    n, own, composed = gates.shape[1], gates[side], gates[2]
    if n == 1:
        share[:] = own[0] + _HALF * composed[0]
        return
    for first in range(0, len(share), n):
        part = share[first:]
        for k in range(n):
            part[k] = own[k] + _HALF * composed[k]


@compiled
def _down(
    b, units, levels, gates, gradients, maximum, starts, level_rows, n_rows,
    n_words, n_levels, first_word, last_unit, mean, unit_scores, word_scores,
):  # fmt: skip
    """Scores of text b."""
    n_kept, _, size = gradients.shape
    zero, one = units.dtype.type(0), units.dtype.type(1)
    share = np.empty(size, units.dtype)
    owned, moved = np.empty_like(share), np.empty_like(share)
    as_left, as_right = np.zeros_like(share), np.zeros_like(share)
    # What is due to unit j is in row j + 1; the rows around them stay 0.
    above = np.zeros((n_words + 2, n_kept, size), units.dtype)
    below = np.zeros((n_words + 2, n_kept, size), units.dtype)
    unit = last_unit
    for t in range(n_levels - 1, -1, -1):
        n = n_words - t
        unit -= n
        row = level_rows[t] - starts[t] + b  # and so many more as the last word's position has
        top = levels[starts[t] + b]
        share[:] = units.dtype.type(n) if maximum is None else zero
        if maximum is not None:
            for j in range(n):
                h = units[row + starts[t + j]]
                for d in range(size):
                    share[d] += max(h[d] - top[d] + TIE_MARGIN, zero)
        for d in range(size):
            share[d] = one / share[d]
        for j in range(n):
            h = units[row + starts[t + j]]
            if maximum is None:
                owned[:] = share
            else:
                for d in range(size):
                    owned[d] = max(h[d] - top[d] + TIE_MARGIN, zero) * share[d]
            for d in range(size):
                moved[d] = owned[d] * (h[d] - mean[d])
            if t < n_levels - 1:
                row_above = level_rows[t + 1] - starts[t + 1] + b - n_rows
                if j < n - 1:
                    _child_share(gates[row_above + starts[t + 1 + j]], 0, as_left)
                if j > 0:
                    _child_share(gates[row_above + starts[t + j]], 1, as_right)
            for k in range(n_kept):
                slope, due = gradients[k, starts[t] + b], below[j + 1, k]
                by_left, by_right = above[j + 1, k], above[j, k]
                score = zero
                for d in range(size):
                    score += moved[d] * slope[d]
                    due[d] = owned[d] * slope[d]
                    due[d] += as_left[d] * by_left[d] + as_right[d] * by_right[d]
                unit_scores[k, unit + j] = score
        above, below = below, above
    for i in range(n_words):
        h = units[b + starts[i]]
        for k in range(n_kept):
            due, score = above[i + 1, k], zero
            for d in range(size):
                score += due[d] * (h[d] - mean[d])
            word_scores[k, first_word + i] = score


@compiled
def _core(weights, n):
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


@compiled
def _up(
    b, gates, starts, level_rows, n_rows, n_words, n_levels, first_word, first_unit, firsts, stops,
    own_gates,
):  # fmt: skip
    """Cores and gates of text b. Spans are kept for a level, from a unit's first word on."""
    spans, zero = np.zeros((n_words, n_levels), gates.dtype), gates.dtype.type(0)
    for i in range(n_words):
        spans[i, 0] = 1
        firsts[first_unit + i], stops[first_unit + i] = i, i + 1
    unit = first_unit + n_words
    for t in range(1, n_levels):
        row = level_rows[t] - starts[t] + b - n_rows
        for j in range(n_words - t):
            gate, own = gates[row + starts[t + j]], own_gates[unit - first_word - n_words]
            for k in range(3):
                own[k] = gate[k].mean()
            half = _HALF * own[2]
            left, right = own[0] + half, own[1] + half
            mine, other = spans[j], spans[j + 1]  # the other is still that of the level below
            mine[t] = right * other[t - 1]
            for i in range(t - 1, 0, -1):
                weight = left * mine[i] + right * other[i - 1]
                mine[i] = weight if weight > _TINY else zero
            mine[0] *= left
            start, stop = _core(mine, t + 1)
            firsts[unit], stops[unit] = j + start, j + stop
            unit += 1


@compiled
def _credit_texts(
    units, levels, gates, gradients, maximum, lengths, n_levels, starts, level_rows,
    first_word, first_unit, unit_scores, word_scores, firsts, stops, own_gates,
):  # fmt: skip
    n_rows, size = starts[-1], levels.shape[1]
    mean = np.empty(size, units.dtype)
    for b in range(len(lengths)):
        n_words = lengths[b]
        mean[:] = 0
        for i in range(n_words):
            h = units[b + starts[i]]
            for d in range(size):
                mean[d] += h[d]
        for d in range(size):
            mean[d] /= n_words
        _down(
            b, units, levels, gates, gradients, maximum, starts, level_rows, n_rows,
            n_words, n_levels[b], first_word[b], first_unit[b + 1], mean, unit_scores, word_scores,
        )  # fmt: skip
        _up(
            b, gates, starts, level_rows, n_rows, n_words, n_levels[b],
            first_word[b], first_unit[b], firsts, stops, own_gates,
        )  # fmt: skip


def credit_numba(pyramids: Pyramids, layout: Layout, gradients: Floats, *, maximum: bool) -> Credit:
    """As :func:`adasent.explain.credit.credit_numpy`."""
    found = empty_credit(len(gradients), layout)
    _credit_texts(
        pyramids.units,
        pyramids.levels,
        pyramids.gates,
        gradients,
        maximum or None,  # a branch on None is decided when compiling
        layout.lengths,
        layout.n_levels_of,
        layout.starts,
        layout.level_starts,
        layout.first_word,
        layout.first_unit,
        *found,
    )
    return found


@compiled
def _shorter_texts(
    units, maximum, lengths, n_levels, starts, level_rows, without_first, without_last
):  # fmt: skip
    size = units.shape[1]
    one = units.dtype.type(1)
    middle = np.empty(size, units.dtype)
    done = 0
    for b in range(len(lengths)):
        for t in range(n_levels[b]):
            n = lengths[b] - t
            row = level_rows[t] - starts[t] + b  # and so many more as the last word's position has
            middle[:] = -np.inf if maximum is not None else 0
            for j in range(1, n - 1):
                h = units[row + starts[t + j]]
                if maximum is not None:
                    for d in range(size):
                        middle[d] = max(middle[d], h[d])
                else:
                    for d in range(size):
                        middle[d] += h[d]
            first, last = units[row + starts[t]], units[row + starts[t + n - 1]]
            no_first, no_last = without_first[done], without_last[done]
            if maximum is not None:
                for d in range(size):
                    no_first[d], no_last[d] = max(middle[d], last[d]), max(middle[d], first[d])
            else:
                scale = one / units.dtype.type(n - 1)
                for d in range(size):
                    no_first[d] = (middle[d] + last[d]) * scale
                    no_last[d] = (middle[d] + first[d]) * scale
            done += 1


def shorter_numba(pyramids: Pyramids, layout: Layout, *, maximum: bool) -> Floats:
    """As :func:`adasent.explain.deletion.shorter_numpy`."""
    found = empty_shorter(pyramids, layout)
    _shorter_texts(
        pyramids.units,
        maximum or None,  # a branch on None is decided when compiling
        layout.lengths,
        n_shorter(layout),
        layout.starts,
        layout.level_starts,
        *found,
    )
    return found


@compiled
def by_vote_numba(out, mean, shares, rectified, moves):
    """As :func:`adasent.explain.mixture.by_vote_numpy`."""
    n_kept, n, size = moves.shape
    zero, one = moves.dtype.type(0), moves.dtype.type(1)
    slope = np.ones(size, moves.dtype)
    for i in range(n):
        middle = mean[i]
        if rectified is not None:
            hidden = rectified[i]
            for h in range(size):
                slope[h] = min(max(hidden[h] / KINK_WIDTH + _HALF, zero), one)
        for k in range(n_kept):
            weights, share, move = out[k], shares[k, i], moves[k, i]
            for h in range(size):
                move[h] = share * slope[h] * (weights[h] - middle[h])


@compiled
def finish_numba(gradients, pulls, by_belief, levels):
    """As :func:`adasent.explain.mixture.finish_numpy`."""
    n_kept, n, size = gradients.shape
    zero, width = gradients.dtype.type(0), gradients.dtype.type(size)
    centred = np.empty(size, gradients.dtype)
    for i in range(n):
        slope = by_belief[min(i, len(by_belief) - 1)]
        squares = width * NORM_EPS
        if levels is not None:
            level, total = levels[i], zero
            for d in range(size):
                total += level[d]
            for d in range(size):
                centred[d] = level[d] - total / width
                squares += centred[d] * centred[d]
        scale = np.sqrt(width / squares)
        for k in range(n_kept):
            gradient, pull, along = gradients[k, i], pulls[k, i], zero
            if levels is None:
                for d in range(size):
                    gradient[d] += pull * slope[d]
            else:
                for d in range(size):
                    gradient[d] += pull * slope[d]
                    along += gradient[d] * centred[d]
                along /= squares
                for d in range(size):
                    gradient[d] = scale * (gradient[d] - along * centred[d])


NUMBA = Passes(credit_numba, shorter_numba, by_vote_numba, finish_numba)

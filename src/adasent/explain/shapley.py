"""Scores of words that add up: from what parts of a text are worth to Shapley values.

What a part of a text's words is worth is what the model says of them alone, in their order; of no
word it says the base. A word's score is its Shapley value: what it adds to the words that are
there already, in the mean over all orders in which the words could have come. Scores of a text sum
to what the model says of it less the base.

A text of few words is asked for all its parts, and its scores are exact. Of others each word is
asked for alone, a text that is not too long is asked for without each, and as many pairs of a drawn
part and the rest as cost allows: drawn with its rest, a part tells more (Covert and Lee 2021).
Shapley's are the scores whose sums over parts are nearest to the answers, by weights that favour
small and large parts (Charnes et al. 1988). With few answers that leaves them loose, so they are
held near what is known of each word: what it does alone, and what it does where all others are. How
near is what foretells the answers best when each is left out in turn.

Draws depend on the number of words alone, so that the same text has the same scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]
Masks: TypeAlias = NDArray[np.bool_]
#: (m, T) which words are there, none of them or all among them -> (m, C) what that is worth.
Worth: TypeAlias = Callable[[Masks], Doubles]

#: Words of a text whose parts are all asked: 1,024 of them for 10 words.
ALL_PARTS = 10
#: Words of a text that is asked for without each: T pyramids of T - 1 words.
LEAVE_OUT = 32
#: Units of the pyramids over all parts that are asked of a text of TYPICAL words, about; of longer
#: texts (n / TYPICAL) ** GROWTH times as many, but never fewer than LEAST pairs of parts.
UNITS, TYPICAL, GROWTH, LEAST = 20_000, 25, 1.2, 8
#: Words of a text whose parts are drawn; for longer ones see :mod:`adasent.explain.orders`.
LONGEST = 200
#: How much scores are held near what is known of the words; the last is nearly all the way.
HOLDS = (1e-5, 1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 1.0)


class WordScores(NamedTuple):
    """What the words of a text add to what is said of no word, for each of C classes."""

    base: Doubles  # (C,) what is said of no word
    words: Doubles  # (T, C); with the base they sum to what is said of the text
    errors: Doubles  # (T, C) standard errors, 0 where all parts were asked


def shapley_values(worth: Worth, n_words: int) -> WordScores:
    """Scores of the words of a text of ``n_words``, at least 1."""
    return (_from_all_parts if n_words <= ALL_PARTS else _from_draws)(worth, n_words)


def _from_all_parts(worth: Worth, n: int) -> WordScores:
    """2^n answers, and the definition."""
    numbers = np.arange(2**n)
    masks: Masks = (numbers[:, None] >> np.arange(n) & 1).astype(bool)
    values = worth(masks)
    sizes = masks.sum(axis=1)
    orders = np.array([1 / (n * math.comb(n - 1, size)) for size in range(n)])
    scores = np.empty((n, values.shape[1]))
    for word in range(n):
        without = numbers[~masks[:, word]]
        added = values[without | 1 << word] - values[without]
        scores[word] = orders[sizes[without]] @ added
    return WordScores(values[0], scores, np.zeros_like(scores))


class _Design(NamedTuple):
    """Parts to ask of a text of n words, with what turns answers into scores.

    Scores are an equal share of the sum and what a word has beyond it, which sums to nothing. Of
    that, a part and the rest say the same with opposite signs, but for how far words act together:
    the two are one row, which foretells half of their difference.
    """

    parts: Masks  # (2 + r, n): none, all, a part for each row, and the rest of the last ones
    n_pairs: int  # rows that have their rest: the last ones
    n_drawn: int  # rows that are drawn: the last ones
    there: Doubles  # (m, n) which words are there, less their mean
    weights: Doubles  # (m,) they sum to 1
    inverses: Doubles  # (holds, n, n) of the normal equations of what words have beyond the share
    leverages: Doubles  # (holds, m) of each row on what is foretold of it


def drawn_parts(n: int) -> Masks:
    """The parts that are drawn of texts of n words, which is more than :data:`ALL_PARTS`."""
    return _draw(n, _n_pairs(n, leave_out=n <= LEAVE_OUT))


def _of_size(n: int) -> Doubles:
    """(n - 1,) how much the parts of 1, 2, ... n - 1 words weigh together."""
    sizes = np.arange(1, n)
    found: Doubles = 1 / (sizes * (n - sizes))
    found /= found.sum()
    return found


def _draw(n: int, n_drawn: int) -> Masks:
    drawn = np.empty((n_drawn, n), dtype=bool)
    rng = np.random.default_rng([n, n_drawn])
    middle = _of_size(n)[1:-1]
    sizes = rng.choice(np.arange(2, n - 1), n_drawn, p=middle / middle.sum())
    for part, size in zip(drawn, sizes, strict=True):
        part[:] = rng.permutation(n) < size
    return drawn


@lru_cache(maxsize=64)
def _design(n: int, n_drawn: int, leave_out: bool) -> _Design:
    """Each size of part has as much weight as Shapley values give it, drawn or not."""
    of_size = _of_size(n)
    middle = of_size[1:-1]
    alone = np.eye(n, dtype=bool)
    drawn = _draw(n, n_drawn)
    parts = np.concatenate([alone, drawn])
    rests = ~(parts if leave_out else drawn)
    none_and_all = np.repeat([[False], [True]], n, axis=1)
    ends = (1 + leave_out) * of_size[0]
    weights = np.repeat([ends / n, middle.sum() / n_drawn], [n, n_drawn])
    weights /= weights.sum()
    there = parts - parts.mean(axis=1, keepdims=True)  # what sums to nothing knows no share
    normal = there.T @ (weights[:, None] * there)
    inverses = np.array([np.linalg.inv(normal + hold * np.eye(n)) for hold in HOLDS])
    leverages = np.einsum("mi,hij,mj->hm", there, inverses, there) * weights
    asked = np.concatenate([none_and_all, parts, rests])
    return _Design(asked, len(rests), n_drawn, there, weights, inverses, leverages)


def _from_draws(worth: Worth, n: int) -> WordScores:
    """Least squares over drawn parts, held near what is known of each word."""
    leave_out = n <= LEAVE_OUT
    design = _design(n, _n_pairs(n, leave_out=leave_out), leave_out)
    there, weights = design.there, design.weights
    m = len(there)
    base, whole, *_ = answers = worth(design.parts)  # (2 + r, C)
    gain = whole - base
    of_parts, of_rests = answers[2 : 2 + m] - base, whole - answers[2 + m :]
    wanted = of_parts.copy()
    wanted[m - design.n_pairs :] = (of_parts[m - design.n_pairs :] + of_rests) / 2
    wanted -= design.parts[2 : 2 + m].mean(axis=1, keepdims=True) * gain
    ends = np.array([of_parts[:n], of_rests[:n]] if leave_out else [of_parts[:n]])
    known = ends - ends.mean(axis=1, keepdims=True)  # (1 or 2, n, C)
    foretold = np.einsum("mn,knc->kmc", there, known)
    best: tuple[float, Doubles, Doubles] | None = None
    for inverse, leverage in zip(design.inverses, design.leverages, strict=True):
        solve = inverse @ (there.T * weights)  # (n, m)
        # One share of what is known for all classes: scores of a word then sum to 0 over them.
        unlike = foretold - there @ (solve @ foretold)
        normal = np.einsum("jmc,kmc,m->jk", unlike, foretold, weights)
        right = np.einsum("jmc,mc,m->j", unlike, wanted, weights)
        shares = np.linalg.lstsq(normal, right, rcond=1e-9)[0]
        left = wanted - np.tensordot(shares, foretold, axes=1)
        own = solve @ left
        missed = (left - there @ own) / np.maximum(1 - leverage, 1e-3)[:, None]
        squares = weights[:, None] * missed**2
        drawn = squares[-design.n_drawn :]
        if best is None or drawn.sum() < best[0]:
            scores = gain / n + np.tensordot(shares, known, axes=1) + own
            # Which of the two is larger differs; to be too small is the worse mistake.
            spread = np.maximum(squares.mean(axis=0), drawn.mean(axis=0))
            errors = np.sqrt(np.diag(_centred(inverse))[:, None] * spread)
            best = float(drawn.sum()), scores, errors
    assert best is not None
    return WordScores(base, best[1], best[2])


def _centred(matrix: Doubles) -> Doubles:
    """A matrix (n, n) of what sums to nothing over both axes."""
    rows = matrix - matrix.mean(axis=0)
    centred: Doubles = rows - rows.mean(axis=1, keepdims=True)
    return centred


def _n_pairs(n: int, *, leave_out: bool) -> int:
    """How many pairs of parts to draw: what is left once the others are asked."""
    room = UNITS * max(1.0, n / TYPICAL) ** GROWTH - leave_out * n**3 / 2
    return max(LEAST, int(room / (n**2 / 3)))  # units of a part and of the rest, on average

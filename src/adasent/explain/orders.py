"""Cheap scores of words that add up: what a word adds to nothing, to what comes before, and after.

Read from its first word to its last, a text is built up word by word: what each word adds to the
words before it sums to what the text has beyond no word. So does what each adds to the words after
it, read backwards. Between the two, every pair of words has each of its words come second once, so
that what two words do together is shared equally. The third of three equal parts is what the word
does alone, which sums to something else: the difference is shared out by the size of the scores.

The beginnings and endings of a text are parts of its pyramid: on each level they have the first or
the last so many units, and a running mean pools them all. No unit is built for them.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.climb import Pyramids
from adasent.runtime.head import LevelHead, beliefs, consensus

#: Pooled levels that the head judges at a time; so many stay in a core's cache.
CHUNK_ROWS = 2048


def cheap_scores(
    alone: Doubles, orders: Doubles, gain: Doubles, firsts: Ints
) -> tuple[Doubles, Doubles]:
    """Scores (n_words, C) of the words of B texts; those of a text sum to its gain.

    With their standard errors: the three parts are three looks at the same.

    Parameters
    ----------
    alone, orders
        (n_words, C) what each word adds to no word, and (2, n_words, C) to the words before it and
        to those after it.
    gain
        (B, C) what each text has beyond no word.
    firsts
        (B,) first word of each text.
    """
    looks = np.stack([alone, *orders])
    scores: Doubles = looks.mean(axis=0)
    errors: Doubles = looks.std(axis=0, ddof=1) / np.sqrt(3)
    sizes = np.abs(scores).sum(axis=1)
    n_words = np.append(firsts[1:], len(scores)) - firsts
    # One share for all classes, so that the scores of a word go on summing to 0 over them.
    shares = sizes / np.repeat(np.maximum(np.add.reduceat(sizes, firsts), 1e-12), n_words)
    missing = gain - np.add.reduceat(scores, firsts, axis=0)
    scores += shares[:, None] * np.repeat(missing, n_words, axis=0)
    return scores, errors


def added(
    pyramids: Pyramids, layout: Layout, head: LevelHead, base: Doubles, *, maximum: bool
) -> Doubles:
    """What each word adds to the words before it, and to those after it, from the pyramids.

    Parameters
    ----------
    base
        (C,) probabilities of no word.
    maximum
        Whether levels are pooled by maximum rather than mean.

    Returns
    -------
    (2, n_words, C), text after text.
    """
    found = np.empty((2, layout.n_words, len(base)))
    for texts in layout.of_equal_length():
        n_words, n_levels = int(layout.lengths[texts[0]]), int(layout.n_levels_of[texts[0]])
        own = slice(layout.first_word[texts[0]], layout.first_word[texts[-1] + 1])
        for way, filled in enumerate(found):
            levels = _running(pyramids, layout, texts, backwards=bool(way), maximum=maximum)
            parts = _classify(levels, head, n_words, n_levels, len(texts))  # (T, m, C)
            gains = np.diff(parts, axis=0, prepend=np.broadcast_to(base, parts[:1].shape))
            gains = gains[::-1] if way else gains
            filled[own] = gains.transpose(1, 0, 2).reshape(-1, len(base))
    return found


def _running(
    pyramids: Pyramids, layout: Layout, texts: Ints, *, backwards: bool, maximum: bool
) -> Iterator[Floats]:
    """For each level t, (T - t, m, D) that level of the parts of t + 1, t + 2, ... T words."""
    for t in range(int(layout.n_levels_of[texts[0]])):
        units = pyramids.units.take(layout.rows(texts, t).T, axis=0)
        units = units[::-1] if backwards else units
        if maximum:
            yield np.maximum.accumulate(units, axis=0)
        else:
            counts = np.arange(1, len(units) + 1, dtype=units.dtype)
            yield units.cumsum(axis=0, dtype=units.dtype) / counts[:, None, None]


def _classify(
    levels: Iterator[Floats], head: LevelHead, n_words: int, n_levels: int, n_texts: int
) -> Doubles:
    """(T, m, C) probabilities of the parts of 1, 2, ... T words of m texts, from their levels."""
    scores, votes = [], []  # of each level: (T - t, m), and (C, T - t, m)
    for rows in _chunks(levels):
        taken = head.normalise(rows.reshape(-1, rows.shape[2]))
        scores.append(head.scores(taken).reshape(len(rows), n_texts))
        votes.append(head.log_probs(taken).reshape(-1, len(rows), n_texts))
    # From level after level to part after part, whose levels follow each other.
    level, part = np.nonzero(np.arange(n_words) >= np.arange(n_levels)[:, None])
    order = np.lexsort((level, part))
    n_rows = np.minimum(np.arange(n_words) + 1, n_levels)
    firsts = np.cumsum(np.tile(n_rows, n_texts)) - np.tile(n_rows, n_texts)
    belief = beliefs(np.concatenate(scores)[order].T.ravel(), firsts)
    log_votes = np.concatenate(votes, axis=1)[:, order].transpose(0, 2, 1)  # (C, m, rows)
    found = consensus(belief, log_votes.reshape(len(log_votes), -1), firsts)
    return found.reshape(-1, n_texts, n_words).transpose(2, 1, 0)


def _chunks(levels: Iterator[Floats]) -> Iterator[Floats]:
    """Levels one after the other, several together where they are small."""
    waiting: list[Floats] = []
    for level in levels:
        waiting.append(level)
        if sum(each.shape[0] * each.shape[1] for each in waiting) >= CHUNK_ROWS:
            yield np.concatenate(waiting)
            waiting.clear()
    if waiting:
        yield np.concatenate(waiting)

"""What words do in their texts, exactly, by leaving them out.

A text without its first word, or without its last, is a part of the pyramid that is there already:
on each level all units but the first, or all but the last. So its prediction builds no unit, only
pooling and head are left. What the two words do is exact then, and it tells how far estimates are
off: a derivative is right in proportion, but too small in a text that the model is sure of. Any
other word costs a prediction of the text without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles, Floats, Ints
from adasent.runtime.climb import Pyramids
from adasent.runtime.network import Network
from adasent.text.vocabulary import UNK_ID

#: Words of the shorter texts that are predicted together: their probabilities are all that is kept.
CHUNK_WORDS = 100_000

#: Estimates are multiplied by so much at least, and at most.
MIN_SCALE, MAX_SCALE = 0.5, 50.0

#: Added to both sizes before one is divided by the other: end words that do next to nothing tell
#: nothing of the others, and their ratio is rounding.
SCALE_SMOOTHING = 0.01


def shorter_numpy(pyramids: Pyramids, layout: Layout, *, maximum: bool) -> Floats:
    """Pool the levels of each text without its first word, and without its last.

    Parameters
    ----------
    maximum
        Whether levels are pooled by maximum rather than mean.

    Returns
    -------
    (2, n, D) the levels of these shorter texts, text after text. Those of one word have none.
    """
    found = empty_shorter(pyramids, layout)
    pool, start = (np.maximum, -np.inf) if maximum else (np.add, 0.0)
    done = 0
    for texts in layout.of_equal_length():
        n_words, n_levels = int(layout.lengths[texts[0]]), int(n_shorter(layout)[texts[0]])
        stop = done + len(texts) * n_levels
        filled = found[:, done:stop].reshape(2, len(texts), n_levels, found.shape[2])
        done = stop
        for t in range(n_levels):
            units = pyramids.units.take(layout.rows(texts, t).T, axis=0)  # (T - t, texts, D)
            middle = pool.reduce(units[1:-1], axis=0, initial=start)
            pool(middle, units[-1], out=filled[0, :, t])
            pool(middle, units[0], out=filled[1, :, t])
            if not maximum:
                filled[:, :, t] /= np.float32(n_words - t - 1)
    return found


def empty_shorter(pyramids: Pyramids, layout: Layout) -> Floats:
    """An array to be filled."""
    size = pyramids.levels.shape[1]
    return np.empty((2, int(n_shorter(layout).sum()), size), dtype=np.float32)


def n_shorter(layout: Layout) -> Ints:
    """(B,) levels of each text without one of its words; 0 for a text of one word."""
    return np.minimum(layout.n_levels_of, layout.lengths - 1)


def scales(exact: Doubles, estimates: Doubles, firsts: Ints) -> Doubles:
    """What the estimates of a text are to be multiplied by, for those of its ends to be exact.

    Parameters
    ----------
    exact
        (2, C, B) what the first and the last word of each of B texts add to the classes.
    estimates
        (C, n) the same of all words, estimated, text after text.
    firsts
        (B + 1,) the first word of each text, and where the last text ends.

    Returns
    -------
    (B,) the ratio of the two, in size, over both words and all classes; near 1 where both are
    small. It is within bounds, and leaves no estimate above 1: no word can do more.
    """
    sizes = np.abs(estimates[:, : firsts[-1]])
    by_word = sizes.sum(axis=0)
    estimated = by_word[firsts[:-1]] + by_word[firsts[1:] - 1]
    largest = np.maximum.reduceat(sizes.max(axis=0), firsts[:-1])
    ratio = (np.abs(exact).sum(axis=(0, 1)) + SCALE_SMOOTHING) / (estimated + SCALE_SMOOTHING)
    ratio = np.clip(ratio, MIN_SCALE, MAX_SCALE)
    found: Doubles = ratio / np.maximum(ratio * largest, 1.0)
    return found


def without_each(network: Network, texts: Sequence[Ints], whole: Doubles) -> Doubles:
    """p(class | text) - p(class | text without the word), for every word; T predictions a text.

    Parameters
    ----------
    texts
        B texts, each (T,) ids. Without its only word a text is the unknown word.
    whole
        (B, C) probabilities of the texts.

    Returns
    -------
    (C, n_words), text after text.
    """
    parts = [network.probabilities(part) for part in _chunks(texts)]
    found: Doubles = np.repeat(whole, [len(ids) for ids in texts], axis=0) - np.concatenate(parts)
    return found.T


def _chunks(texts: Sequence[Ints]) -> Iterator[list[Ints]]:
    chunk: list[Ints] = []
    n_words = 0
    for ids in texts:
        for i in range(len(ids)):
            chunk.append(np.delete(ids, i) if len(ids) > 1 else np.array([UNK_ID]))
            n_words += len(ids)
            if n_words > CHUNK_WORDS:
                yield chunk
                chunk, n_words = [], 0
    if chunk:
        yield chunk

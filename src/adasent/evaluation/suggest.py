"""Which texts to label next: those a model is least certain of, no two of them nearly alike.

Uncertain is a text whose two most probable classes are close (margin), or whose probability is
spread over many classes (entropy). Nearly alike are two texts that share most of their different
words: their number in both, divided by their number in either (Jaccard), is at least ``ALIKE``.
Needs numpy alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from adasent.checks import check_choice, check_range

#: Share of common words from which on two texts are nearly alike.
ALIKE = 0.7

MEASURES = ("margin", "entropy")


def uncertainty(probabilities: np.ndarray, by: str = "margin") -> np.ndarray:
    """(N, C) probabilities -> (N,) from 0, certain, to 1."""
    check_choice("by", by, MEASURES)
    n_classes = probabilities.shape[1]
    if n_classes < 2:
        return np.zeros(len(probabilities))
    if by == "entropy":
        logs = np.log(np.maximum(probabilities, np.finfo(np.float64).tiny))
        found: np.ndarray = -(probabilities * logs).sum(axis=1) / np.log(n_classes)
        return found
    second, first = np.sort(probabilities, axis=1)[:, -2:].T
    margin: np.ndarray = 1 - (first - second)
    return margin


def suggest(
    texts: Sequence[str],
    uncertain: np.ndarray,
    n: int,
    tokenize: Callable[[str], Sequence[str]],
    alike: float = ALIKE,
) -> list[int]:
    """Positions of at most ``n`` texts, the most uncertain first.

    A text is left out if it is nearly like one that comes before it, or has no word. Of equally
    uncertain texts the first comes first.
    """
    check_range("n", n, 1, whole=True)
    check_range("alike", alike, 0, 1)
    chosen: list[int] = []
    words_of: list[frozenset[str]] = []
    for i in np.argsort(-uncertain, kind="stable").tolist():
        words = frozenset(word.casefold() for word in tokenize(texts[i]))
        if words and not any(_share(words, others) >= alike for others in words_of):
            chosen.append(i)
            words_of.append(words)
            if len(chosen) == n:
                break
    return chosen


def _share(some: frozenset[str], others: frozenset[str]) -> float:
    common = len(some & others)
    return common / (len(some) + len(others) - common)

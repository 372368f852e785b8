"""Tokens of training texts -> where texts are cut, and what is lost by it.

Without a cut, a few long texts can take most of a training: a pyramid over T words has T²/2 units.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from adasent.text.batch import n_cells

#: Texts are cut there at the latest, and nowhere before :data:`SHORT`, unless the user says so.
MAX_WORDS, SHORT = 2000, 200

#: The longest of the texts, this part of them, are the few; they shall not take more than this
#: part of the work.
FEW, MOST = 0.05, 0.5


class Cut(NamedTuple):
    """Where the texts of a training were cut, and what that left out."""

    max_words: int
    n_texts: int  # that were cut
    n_words: int  # of all texts
    n_lost: int  # of these, behind the cut
    share: float  # of the units, that the few longest texts have after the cut
    longest: int  # words of the longest text after the cut


def cut_of(
    tokens: Sequence[Sequence[str]], max_words: int | None, height: int | None = None
) -> Cut:
    """What is to be cut of texts.

    Parameters
    ----------
    max_words
        None for :func:`cut_length`.
    height
        Levels of a pyramid at most.
    """
    lengths = np.array([max(1, len(row)) for row in tokens], dtype=np.int64)
    if max_words is None:
        max_words = cut_length(lengths, height)
    read = np.minimum(lengths, max_words)
    return Cut(
        max_words,
        int((lengths > max_words).sum()),
        int(lengths.sum()),
        int((lengths - read).sum()),
        share_of_few(read, height),
        int(read.max()),
    )


def cut_length(lengths: np.ndarray, height: int | None = None) -> int:
    """The length at which texts are cut where the user names none, from those of the training.

    :data:`MAX_WORDS`, unless a few long texts would take most of the work: then the length at
    which they take :data:`MOST` of it, and not below :data:`SHORT`.
    """

    def share(max_words: int) -> float:
        return share_of_few(np.minimum(lengths, max_words), height)

    if lengths.max() <= SHORT or share(MAX_WORDS) <= MOST:
        return MAX_WORDS
    choices = range(SHORT, MAX_WORDS)  # the share rises with the length
    return choices[max(0, bisect_right(choices, MOST, key=share) - 1)]


def share_of_few(lengths: np.ndarray, height: int | None = None) -> float:
    """Share of all units that the pyramids of the :data:`FEW` longest texts have."""
    n_few = int(FEW * len(lengths))  # none of less than twenty texts
    cells = np.sort(n_cells(lengths, height))
    return float(cells[len(cells) - n_few :].sum() / cells.sum())

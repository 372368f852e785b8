"""Units of texts counted one by one, and scores made to add up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def level_and_first_word(
    lengths: Sequence[int], height: int | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Of every unit, text after text and level after level: its level, from 0, and first word."""
    units = [(t, j) for n in lengths for t in range(min(n, height or n)) for j in range(n - t)]
    level, first_word = np.array(units).T
    return level, first_word


def filled_up(scores: np.ndarray, total: np.ndarray) -> np.ndarray:
    """Scores (n, C) with what they miss of their sum shared out by their sizes."""
    sizes = np.abs(scores).sum(axis=1)
    found: np.ndarray = scores + np.outer(sizes / (sizes.sum() or 1.0), total - scores.sum(axis=0))
    return found

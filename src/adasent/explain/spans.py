"""Which words each unit of a pyramid is really made of, by its gates.

A unit on level t covers t words, but its gates may have copied one of them up. Its effective span
is the weight of every word in it: a unit hands its weight on to its children by their gates, and
what it composed, half to each. Where dimensions have gates of their own, the mean over their groups
counts, which have equally many dimensions each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from adasent.runtime.arrays import Floats


def span_levels(gates: Iterable[Floats], n_words: int) -> Iterator[Floats]:
    """Effective spans of the units of texts of as many words, level by level.

    Parameters
    ----------
    gates
        For each level t from the second on, (..., units, 3), means over the groups of dimensions.

    Yields
    ------
    (..., units, t) the weight in a unit of each word that it covers, the first of which is the
    unit's own number; rows sum to 1. The first level is (T, 1), whatever the gates are.
    """
    spans: Floats = np.ones((n_words, 1), dtype=np.float32)
    yield spans
    for level in gates:
        left, right = child_shares(level[..., None])  # (..., units, 1)
        wider = np.zeros((*level.shape[:-1], spans.shape[-1] + 1), dtype=np.float32)
        wider[..., :-1] = left * spans[..., :-1, :]
        wider[..., 1:] += right * spans[..., 1:, :]
        spans = wider
        yield spans


def child_shares(gates: Floats) -> tuple[Floats, Floats]:
    """(..., N) what of a unit comes from its left and its right child, by gates (..., 3, N)."""
    half = np.float32(0.5) * gates[..., 2, :]
    return gates[..., 0, :] + half, gates[..., 1, :] + half

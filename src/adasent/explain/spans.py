"""Gates of a pyramid in; which words each unit is really made of, out.

A unit on level t covers t words, but its gates may have copied one of them up. Its effective span
is the weight of every word in it: a unit hands its weight on to its children by their gates, and
what it composed, half to each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adasent.runtime.arrays import Floats, Ints

#: Weight that may be cut off on either side of a unit to get at its core.
TAIL = 0.1


def span_levels(gates: Floats, n_words: int) -> Iterator[Floats]:
    """Effective spans, level by level.

    Parameters
    ----------
    gates
        (B, cells from the second level up, 3), the cells level after level.

    Yields
    ------
    (B, units, T) weights; the last axis sums to 1.
    """
    n_texts = len(gates)
    spans = np.broadcast_to(np.eye(n_words, dtype=np.float32), (n_texts, n_words, n_words))
    yield spans
    first = 0
    for n in range(n_words - 1, 0, -1):
        share = gates[:, first : first + n]
        left, right = child_shares(share)
        spans = left * spans[:, :-1] + right * spans[:, 1:]
        yield spans
        first += n


def child_shares(gates: Floats) -> tuple[Floats, Floats]:
    """(..., 1) what of a unit comes from its left and from its right child."""
    half = np.float32(0.5) * gates[..., 2:]
    return gates[..., :1] + half, gates[..., 1:2] + half


def cores(spans: Floats) -> tuple[Ints, Ints]:
    """The words that make up a unit but for at most :data:`TAIL` of its weight on either side.

    Parameters
    ----------
    spans
        (..., T).

    Returns
    -------
    start, stop
        (...,) the first word and the one after the last.
    """
    before = np.cumsum(spans, axis=-1)
    start = (before > TAIL).argmax(axis=-1)
    reached = before >= 1 - TAIL
    return start, reached.argmax(axis=-1) + 1

"""Gates of a pyramid in; which words each unit is really made of, out.

A unit on level t covers t words, but its gates may have copied one of them up. Its effective span
is the weight of every word in it: a unit hands its weight on to its children by their gates, and
what it composed, half to each.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.cells import left_children

#: Weight that may be cut off on either side of a unit to get at its core.
TAIL = 0.1


def span_levels(gates: Floats, counts: Ints) -> Iterator[Floats]:
    """Effective spans, level by level.

    Parameters
    ----------
    gates
        (n, 3) of the units from the second level up, level after level.
    counts
        (T,) texts that have a word at each position; the units of a level are packed with it.

    Yields
    ------
    (units, T) the weight of each word of its text in a unit; rows sum to 1.
    """
    spans = np.repeat(np.eye(len(counts), dtype=np.float32), counts, axis=0)
    yield spans
    done = 0
    for t in range(len(counts) - 1):
        n = len(spans) - int(counts[t])
        left, right = child_shares(gates[done : done + n])
        done += n
        above = right * spans[counts[t] :]
        cell = 0
        for first, last in left_children(counts[t:]):
            cells = slice(cell, cell + last - first)
            above[cells] += left[cells] * spans[first:last]
            cell = cells.stop
        spans = above
        yield spans


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

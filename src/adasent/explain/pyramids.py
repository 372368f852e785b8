"""Words of a batch in; every unit, pooled level and gate of its pyramids out."""

from __future__ import annotations

from types import ModuleType
from typing import NamedTuple

import numpy as np

from adasent.explain.places import Places
from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.pyramid import Composition, Level, build_level, has_scipy, pool_level
from adasent.runtime.words import Words


class Pyramids(NamedTuple):
    """The pyramids of a batch, in the rows that :class:`~adasent.explain.places.Places` names."""

    units: Floats  # (n_cells, D)
    levels: Floats  # (n_words, D) level t of each text in the row of its word t, pooled
    gates: Floats  # (n_cells - n_words, 3) from the second level up


def grow(
    words: Words,
    which: Ints,
    places: Places,
    composition: Composition,
    cells: ModuleType | None,
) -> Pyramids:
    """Build the pyramids of a batch and keep all of them.

    Parameters
    ----------
    words, which
        Units of the distinct words, and (n_words,) which of them is in each row.
    cells
        :mod:`adasent.pyramid.cells`, or None for plain numpy.
    """
    n_words, n_cells = len(which), int(places.first_unit[-1])
    counts, starts = places.counts, places.starts
    size = len(composition.matrix)
    made = Pyramids(
        np.empty((n_cells, size), dtype=np.float32),
        np.empty((n_words, size), dtype=np.float32),
        np.empty((n_cells - n_words, 3), dtype=np.float32),
    )
    product = words.products[which]
    np.take(words.units, which, axis=0, out=made.units[:n_words])
    if cells is not None and has_scipy():
        from adasent.explain.pyramids_numba import grow_batch

        biases = composition.compose_bias, composition.gate_bias
        flags = composition.relu or None, composition.maximum or None
        grow_batch(product, composition.matrix, *biases, counts, *made, *flags)
        return made
    below, buffer = made.units[:n_words], np.empty_like(product)
    pool_level(below, counts, made.levels[: counts[0]], composition, cells)
    for t in range(1, len(counts)):
        if t > 1:
            product = np.matmul(below, composition.matrix, out=buffer[: len(below)])
        first = int(places.levels[t])
        last = first + n_words - int(starts[t])
        level = Level(made.units[first:last], made.gates[first - n_words : last - n_words])
        pooled = made.levels[starts[t] : starts[t] + counts[t]]
        build_level(below, product, counts[t - 1 :], level, pooled, composition, cells)
        below = level.units
    return made

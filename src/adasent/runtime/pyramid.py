"""First-level units of a batch in; every level pooled out, one level at a time.

A level costs one matrix product, h [W_L | W_R | G_L | G_R] of the level below; each row of it is
used once as left and once as right child. Two levels are in memory at a time, so memory grows with
the words, not with the cells.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from adasent.runtime.arrays import Floats, Ints
from adasent.runtime.cells import level_numpy, pool_numpy
from adasent.systems.config import AdaSentConfig
from adasent.text.batch import n_cells

#: On so many cells numba saves the time that it takes to start. It is started after that many: in
#: the worst case twice that time is lost, whatever comes later (docs/runtime.md).
NUMBA_CELLS = 600_000


@dataclass(frozen=True)
class Composition:
    """The weights of the cells, laid out for one product a level.

    Attributes
    ----------
    matrix
        (D, 2 D + 2 H), the four matrices transposed, side by side.
    compose_bias, gate_bias
        (D,) and (H,).
    gate_out, gate_out_bias
        (3, H) and (3,) of a gate that is an MLP, else None.
    """

    matrix: Floats
    compose_bias: Floats
    gate_bias: Floats
    gate_out: Floats | None
    gate_out_bias: Floats | None
    relu: bool
    maximum: bool

    @classmethod
    def of(cls, config: AdaSentConfig, tensors: Mapping[str, np.ndarray]) -> Composition:
        """From the tensors of a network by name."""
        names = ("compose_left", "compose_right", "gate_left", "gate_right")
        parts = [tensors[f"composition.{name}"] for name in names]
        return cls(
            np.ascontiguousarray(np.concatenate(parts).T),
            tensors["composition.compose_bias"],
            tensors["composition.gate_bias"],
            tensors.get("composition.gate_out"),
            tensors.get("composition.gate_out_bias"),
            relu=config.activation == "relu",
            maximum=config.pooling == "max",
        )


class Level(NamedTuple):
    """A level of the pyramids of a batch; overwritten when the level after the next is built."""

    units: Floats  # (cells, D)
    gates: Floats  # (cells, 3): left, right, composed; no rows on the first level


class Scratch:
    """Memory for the batches of a call, the largest of so many words."""

    def __init__(self, composition: Composition, n_words: int) -> None:
        size, width = composition.matrix.shape
        self.units = np.empty((2, n_words, size), dtype=np.float32)
        self.product = np.empty((n_words, width), dtype=np.float32)
        self.gates = np.empty((2, n_words, 3), dtype=np.float32)


class Compiler:
    """Decides when numba, which takes its time to start, is worth it."""

    def __init__(self) -> None:
        self._n_cells = 0  # that were built without it

    def cells(self, composition: Composition, lengths: Ints) -> ModuleType | None:
        """:mod:`adasent.pyramid.cells` if it can do the gate, is installed and pays; else None.

        Parameters
        ----------
        lengths
            (N,) words of all texts of a call.
        """
        if composition.gate_out is not None:
            return None
        self._n_cells += int(n_cells(lengths).sum())
        if "numba" not in sys.modules and self._n_cells < NUMBA_CELLS:
            return None
        try:
            from adasent.pyramid import cells
        except ImportError:
            return None
        return cells


def climb(
    words: Floats,
    product: Floats,
    counts: Ints,
    composition: Composition,
    levels: Floats,
    scratch: Scratch,
    cells: ModuleType | None,
    *,
    keep_gates: bool = True,
) -> Iterator[Level]:
    """Build the pyramids of a batch level by level.

    Parameters
    ----------
    words, product
        (n_words, D) units of the first level, position-major, and their product with the matrix.
    counts
        Texts that have a word at each position.
    levels
        (n_words, D) filled: level t of every text that has one, in place of its word t.
    cells
        :mod:`adasent.pyramid.cells`, or None for plain numpy.
    keep_gates
        Whether the gates of a level are wanted; the compiled pass is spared writing them.
    """
    pool_level(words, counts, levels[: counts[0]], composition, cells)
    yield Level(words, scratch.gates[0, :0])
    below, row = words, int(counts[0])
    for t in range(1, len(counts)):
        if t > 1:
            product = np.matmul(below, composition.matrix, out=scratch.product[: len(below)])
        n = len(below) - int(counts[t - 1])
        level = Level(scratch.units[t % 2, :n], scratch.gates[t % 2, :n])
        pooled = levels[row : row + counts[t]]
        build_level(
            below,
            product,
            counts[t - 1 :],
            level,
            pooled,
            composition,
            cells,
            keep_gates=keep_gates,
        )
        yield level
        below, row = level.units, row + len(pooled)


def pool_levels(
    words: Floats,
    product: Floats,
    counts: Ints,
    composition: Composition,
    levels: Floats,
    scratch: Scratch,
    cells: ModuleType | None,
) -> None:
    """Fill ``levels`` as :func:`climb` does, for who needs no units."""
    if cells is not None and has_scipy():
        cells.climb(
            words,
            product,
            composition.matrix,
            composition.compose_bias,
            composition.gate_bias,
            counts,
            levels,
            scratch.units,
            scratch.product,
            relu=composition.relu,
            maximum=composition.maximum,
        )
        return
    climbed = climb(words, product, counts, composition, levels, scratch, cells, keep_gates=False)
    for _ in climbed:
        pass


@cache
def has_scipy() -> bool:
    """Whether compiled code may call matrix products, which saves a call a level."""
    return importlib.util.find_spec("scipy") is not None


def pool_level(
    units: Floats, counts: Ints, pooled: Floats, composition: Composition, cells: ModuleType | None
) -> None:
    """Fill ``pooled`` (texts, D) from the units of a level packed with ``counts``."""
    pool = pool_numpy if cells is None else cells.pool
    pool(units, counts, pooled, maximum=composition.maximum)


def build_level(
    below: Floats,
    product: Floats,
    counts: Ints,
    above: Level,
    pooled: Floats,
    composition: Composition,
    cells: ModuleType | None,
    *,
    keep_gates: bool = True,
) -> None:
    """Fill a level, as it is and pooled, from the level below that is packed with ``counts``."""
    biases = composition.compose_bias, composition.gate_bias
    if cells is not None:
        cells.level_forward(
            below,
            product,
            *biases,
            counts,
            above.units,
            pooled,
            None,  # the composed part is for training
            above.gates if keep_gates else None,
            relu=composition.relu,
            maximum=composition.maximum,
        )
        return
    level_numpy(
        below,
        product,
        *biases,
        counts,
        above.units,
        above.gates,
        relu=composition.relu,
        gate_out=composition.gate_out,
        gate_out_bias=composition.gate_out_bias,
    )
    pool_numpy(above.units, counts[1:], pooled, maximum=composition.maximum)

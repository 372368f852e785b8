"""From the words of a batch to all levels of its pyramids: the one climb of prediction.

A level costs one matrix product, h [W_L | W_R | A_L | A_R] of the level below; each row of it is
used once as left and once as right child. A scores the gates of N groups of dimensions: how far
the left and the right child's share are above the composed one. The caller says what to keep: the
pooled levels alone, for which two levels are in memory at a time and memory grows with the words;
or every unit and gate, for traces and explanations. Rows lie as :mod:`adasent.pyramid.layout` says.

The recurrence is written once, in :func:`build_level`, :func:`pool_level` and
:func:`climb_levels`, with numpy. Where numba is at hand, :mod:`adasent.runtime.compiled` compiles
the last of the three with the compiled passes of training in place of the first two.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from adasent.pyramid import RELU_CAP
from adasent.pyramid.layout import Layout, left_children, n_levels, n_units
from adasent.runtime.arrays import Array, Ints
from adasent.runtime.head import norm_rows
from adasent.systems.config import AdaSentConfig

#: Beyond it one share of a softmax is all of it, and its exponential stays finite in float32.
MAX_SCORE = 80.0

#: On so many units numba saves the time that it takes to start. It is started after that many: in
#: the worst case twice that time is lost, whatever comes later (docs/runtime.md).
UNITS_WORTH_NUMBA = 600_000


@dataclass(frozen=True)
class Composition:
    """The weights of the recurrence, laid out for one product a level.

    H is 2 N, or the hidden size of a gate that is an MLP.
    """

    matrix: Array  # (D, 2 D + 2 H), the four matrices transposed, side by side
    compose_bias: Array  # (D,)
    gate_bias: Array  # (H,)
    gate_out: Array | None  # (2 N, H), of an MLP alone
    gate_out_bias: Array | None  # (2 N,)
    relu: bool
    maximum: bool

    @classmethod
    def of(cls, config: AdaSentConfig, tensors: Mapping[str, np.ndarray]) -> Composition:
        """From the tensors of a network by name."""
        own = {name.removeprefix("composition."): tensor for name, tensor in tensors.items()}
        scores = ["gate_out", "gate_out_bias"]
        if config.local_gate == "softmax":
            scores = ["gate_left", "gate_right", "gate_bias"]
        own |= {name: _relative(own[name]) for name in scores}
        names = ("compose_left", "compose_right", "gate_left", "gate_right")
        return cls(
            np.ascontiguousarray(np.concatenate([own[name] for name in names]).T),
            own["compose_bias"],
            own["gate_bias"],
            own.get("gate_out"),
            own.get("gate_out_bias"),
            relu=config.activation == "relu",
            maximum=config.pooling == "max",
        )

    @property
    def n_groups(self) -> int:
        """N."""
        scores = self.gate_bias if self.gate_out_bias is None else self.gate_out_bias
        return len(scores) // 2

    def in_double(self) -> Composition:
        """The same weights in double precision, for exact decompositions."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        arrays = {name: value for name, value in values.items() if hasattr(value, "dtype")}
        return replace(self, **{name: value.astype(float) for name, value in arrays.items()})

    @cached_property
    def by_column(self) -> Array:
        """The matrix column by column, which scipy's products, unlike numpy's, are faster on."""
        return np.asfortranarray(self.matrix)

    def composed(self, left: Array, right: Array) -> Array:
        """(n, D) h~ of neighbours, (n, D) each."""
        size = len(self.matrix)
        sums: Array = left @ self.matrix[:, :size] + right @ self.matrix[:, size : 2 * size]
        sums += self.compose_bias
        activate(sums, self.relu)
        return sums


def _relative(rows: Array) -> Array:
    """Rows for the scores of left, right and composed shares -> the first two less the last."""
    left, right, composed = np.split(rows, 3)
    with np.errstate(over="ignore"):  # shows in the result, as in all that follows
        return np.concatenate([left - composed, right - composed])


class Pyramids(NamedTuple):
    """The pyramids of a batch; units and gates where they were to be kept."""

    levels: Array  # (n_pooled, D) level t of each text in the row of its word t, pooled
    units: Array  # (n_units, D), level after level; no rows if not kept
    gates: Array  # (n_units - n_words, 3, N) left, right, composed, from the second level up

    def by_level(self, layout: Layout) -> tuple[list[Array], list[Array]]:
        """Units of each level, and gates of each level from the second on."""
        bounds = layout.level_starts[1:]
        gates = np.split(self.gates, bounds[1:] - layout.n_words) if len(bounds) else []
        return np.split(self.units, bounds), gates


class Memory:
    """Room for what is not kept, for the batches of a call, the largest of so many words."""

    def __init__(self, composition: Composition, n_words: int) -> None:
        size, width = composition.matrix.shape
        self.units = np.empty((2 * n_words, size), dtype=composition.matrix.dtype)
        self.products = np.empty((n_words, width), dtype=composition.matrix.dtype)


def climb(
    words: Array,
    product: Array,
    layout: Layout,
    composition: Composition,
    passes: Passes,
    memory: Memory | None = None,
    *,
    keep: bool = False,
) -> Pyramids:
    """Build the pyramids of a batch.

    Parameters
    ----------
    words, product
        (n_words, D) units of the first level, and their product with the matrix; they may lie in
        the memory, at the beginning.
    memory
        What another batch of the call used before, if there was one.
    keep
        Whether every unit and gate is kept, or the pooled levels alone.
    """
    n_words, size = words.shape
    memory = Memory(composition, n_words) if memory is None else memory
    n_groups = composition.n_groups
    levels = np.empty((layout.n_pooled, size), dtype=words.dtype)
    if keep:
        units = np.empty((layout.n_units, size), dtype=words.dtype)
        gates = np.empty((layout.n_units - n_words, 3 * n_groups), dtype=words.dtype)
        firsts = layout.level_starts
    else:
        units, gates = memory.units, None
        firsts = np.arange(layout.n_levels) % 2 * n_words
    units[:n_words] = words
    # Compiled code checks no bounds.
    assert len(product) == n_words == layout.n_words
    assert min(len(units) // (1 if keep else 2), len(memory.products)) >= n_words
    passes.climb_levels(
        units,
        product,
        memory.products,
        composition.by_column if passes.by_column else composition.matrix,
        composition.compose_bias,
        composition.gate_bias,
        composition.gate_out,
        composition.gate_out_bias,
        layout.counts,
        firsts,
        levels,
        gates,
        composition.relu or None,
        composition.maximum or None,
        n_groups > 1 or None,
    )
    if gates is None:
        return Pyramids(levels, units[:0], levels[:0])
    return Pyramids(levels, units, gates.reshape(-1, 3, n_groups))


# -- The recurrence. Flags are True or None: a branch on None is decided when compiling. -----------


def climb_levels(
    units: Array,
    product: Array,
    products: Array,
    matrix: Array,
    compose_bias: Array,
    gate_bias: Array,
    gate_out: Array | None,
    gate_out_bias: Array | None,
    counts: Ints,
    firsts: Ints,
    levels: Array,
    gates: Array | None,
    relu: bool | None,
    maximum: bool | None,
    grouped: bool | None,
) -> None:
    """Fill all levels from the first, whose units are in place and multiplied with the matrix.

    Parameters
    ----------
    units
        Filled: level t in the rows from ``firsts[t]`` on. The first level begins at 0.
    products
        Room for the products of the other levels.
    levels, gates
        Filled: (n_pooled, D), and (n_units - n_words, 3 N) where gates are kept.
    grouped
        Whether N is more than 1.
    """
    n_words = n_rows = len(product)
    row = counts[0]
    pool_level(units[:n_rows], counts, levels[:row], maximum)
    for t in range(1, len(firsts)):
        below = units[firsts[t - 1] : firsts[t - 1] + n_rows]
        if t > 1:
            product = products[:n_rows]
            np.dot(below, matrix, product)
        n_rows -= counts[t - 1]
        first = firsts[t]
        kept = gates
        if gates is not None:
            kept = gates[first - n_words : first - n_words + n_rows]
        build_level(
            below,
            product,
            compose_bias,
            gate_bias,
            gate_out,
            gate_out_bias,
            counts[t - 1 :],
            units[first : first + n_rows],
            levels[row : row + counts[t]],
            kept,
            relu,
            maximum,
            grouped,
        )
        row += counts[t]


def build_level(
    below: Array,
    product: Array,
    compose_bias: Array,
    gate_bias: Array,
    gate_out: Array | None,
    gate_out_bias: Array | None,
    counts: Ints,
    above: Array,
    pooled: Array,
    gates: Array | None,
    relu: bool | None,
    maximum: bool | None,
    grouped: bool | None,
) -> None:
    """Fill a level, as it is and pooled, and its gates where they are kept.

    Parameters
    ----------
    below, product
        (rows, D) units of the level below, and their product with the matrix, (rows, 2 D + 2 H).
    counts
        Rows of each block of the level below.
    above, pooled, gates
        Filled: (units, D), (texts that reach the level, D) and (units, 3 N).
    """
    size, width = below.shape[1], len(gate_bias)
    shift, done = int(counts[0]), 0
    for first, last in left_children(counts):
        # Right children follow their left ones at the distance of a block, which shrinks where
        # texts end.
        right = slice(shift + done, shift + done + last - first)
        left, here = slice(first, last), slice(done, done + last - first)
        units = above[here]
        np.add(product[left, :size], product[right, size : 2 * size], out=units)
        units += compose_bias
        activate(units, relu)
        scores = product[left, 2 * size : 2 * size + width] + product[right, 2 * size + width :]
        scores += gate_bias
        if gate_out is not None:
            scores = np.tanh(scores) @ gate_out.T + gate_out_bias
        n_units, n_groups = len(units), scores.shape[1] // 2
        powers = np.exp(np.minimum(scores, MAX_SCORE, out=scores)).reshape(n_units, 2, n_groups)
        composed = 1 / (1 + powers.sum(axis=1, keepdims=True))
        powers *= composed
        if gates is not None:
            gates[here, : 2 * n_groups] = powers.reshape(n_units, -1)
            gates[here, 2 * n_groups :] = composed[:, 0]
        by_group = (n_units, -1, n_groups)  # dimension d is of group d mod N
        mixed = units.reshape(by_group)
        mixed *= composed
        mixed += powers[:, :1] * below[left].reshape(by_group)
        mixed += powers[:, 1:] * below[right].reshape(by_group)
        done = here.stop
    pool_level(above, counts[1:], pooled, maximum)


def activate(sums: Array, relu: bool | None) -> None:
    """f of the composition, in place."""
    if relu:
        np.clip(sums, 0.0, RELU_CAP, out=sums)
    else:
        np.tanh(sums, out=sums)


def pool_level(level: Array, counts: Ints, pooled: Array, maximum: bool | None) -> None:
    """Fill ``pooled`` (texts, D) from the units of a level packed with ``counts``."""
    # Blocks of equal size are reduced together: (blocks, texts, D).
    firsts = np.flatnonzero(np.diff(counts, prepend=-1))
    row = 0
    for first, last in zip(firsts, [*firsts[1:], len(counts)], strict=True):
        n = int(counts[first])
        stop = row + (int(last) - int(first)) * n
        blocks = level[row:stop].reshape(-1, n, level.shape[1])
        reduced = blocks.max(axis=0) if maximum else blocks.sum(axis=0)
        if row == 0:
            pooled[:] = reduced
        elif maximum:
            np.maximum(pooled[:n], reduced, out=pooled[:n])
        else:
            pooled[:n] += reduced
        row = stop
    if not maximum:
        n_units = np.searchsorted(-counts, -np.arange(len(pooled)), side="left")
        pooled /= n_units[:, None].astype(pooled.dtype)


# -- Numpy or numba --------------------------------------------------------------------------------


class Passes(NamedTuple):
    """How pyramids are climbed, and their levels normalised."""

    name: str  # numpy or numba
    climb_levels: Callable[..., Any]
    norm_rows: Callable[..., Any]
    by_column: bool  # how it takes the matrix


NUMPY = Passes("numpy", climb_levels, norm_rows, by_column=False)


class Backend:
    """Decides when numba, which takes its time to start, is worth it."""

    def __init__(self) -> None:
        self._n_units = 0  # that were built without it
        self._missing = False  # an import that fails is slow, and is not tried again

    def passes(self, composition: Composition, lengths: Ints, height: int | None) -> Passes:
        """Numba's passes if they can do the gate, are installed and pay; else numpy's.

        Parameters
        ----------
        lengths, height
            (n,) words of all texts of a call, and levels of a pyramid at most.
        """
        if composition.gate_out is not None or self._missing:
            return NUMPY
        self._n_units += int(n_units(lengths, n_levels(lengths, height)).sum())
        if "numba" not in sys.modules and self._n_units < UNITS_WORTH_NUMBA:
            return NUMPY
        try:
            from adasent.runtime.compiled import NUMBA
        except ImportError:
            self._missing = True
            return NUMPY
        return NUMBA

"""The element-wise part of a level of the pyramid as one compiled pass, forward and backward.

Numpy arrays in, numpy arrays filled; needs numba, knows no torch. The matrix products around it
are the caller's: with P = h [W_L | W_R | G_L | G_R] of the level below, (rows, 2 D + 6), a cell
reads its left child's first D columns and its right child's next D, and likewise the gates' three.

Rows are position-major as in :mod:`adasent.pyramid.packed`: sentences longest first, a block of
rows for each position. ``counts`` are the rows of each block of the level *below*; the level above
has one block less, of ``counts[1:]`` rows. The left child of row i of block j is row i of block j
below, the right child row i of block j + 1.

Sentence i is worked on by strip i mod ``n_strips``, so that threads never write the same row.
"""

from __future__ import annotations

import numpy as np

from adasent.pyramid.cells_backward import backward_one, backward_threads, pool_backward_strip
from adasent.pyramid.cells_forward import climb_batch, forward_strip, forward_threads, pool_strip


def climb(
    words: np.ndarray,
    product: np.ndarray,
    matrix: np.ndarray,
    compose_bias: np.ndarray,
    gate_bias: np.ndarray,
    counts: np.ndarray,
    levels: np.ndarray,
    units: np.ndarray,
    products: np.ndarray,
    *,
    relu: bool,
    maximum: bool,
) -> None:
    """All levels of a batch pooled, in one call; needs scipy, whose matrix product numba uses.

    Parameters
    ----------
    words, product
        (n_words, D) units of the first level, and their product with the matrix.
    matrix
        (D, 2 D + 6).
    counts
        Rows of each block of the first level, int64.
    levels
        Filled: (n_words, D) level t of every text that has one, in place of its word t.
    units, products
        Scratch, (2, n_words or more, D) and (n_words or more, 2 D + 6).
    """
    assert len(product) == len(words) == len(levels)
    assert min(units.shape[1], len(products)) >= len(words)
    climb_batch(
        words, product, matrix, compose_bias, gate_bias, counts, levels, units, products,
        relu or None, maximum or None,
    )  # fmt: skip


def level_forward(
    below: np.ndarray,
    product: np.ndarray,
    compose_bias: np.ndarray,
    gate_bias: np.ndarray,
    counts: np.ndarray,
    above: np.ndarray,
    pooled: np.ndarray,
    composed: np.ndarray | None,
    gates: np.ndarray | None,
    *,
    relu: bool,
    maximum: bool,
    n_strips: int = 1,
) -> None:
    """Fill the units of a level, pooled and as they are.

    Parameters
    ----------
    below, product
        (rows, D) units of the level below, and their product with the four matrices.
    compose_bias, gate_bias
        (D,) and (3,).
    counts
        Rows of each block of the level below, int64.
    above, pooled
        Filled: (cells, D), and (sentences that reach the level, D).
    composed, gates
        Filled for the backward pass, (cells, D) and (cells, 3); None where they are not wanted.
    maximum
        Pool by maximum rather than mean.
    n_strips
        Threads.
    """
    # The compiled code checks no bounds.
    assert len(product) == len(below)
    assert len(above) == len(below) - counts[0]
    for kept in (composed, gates):
        assert kept is None or len(kept) == len(above)
    arguments = (
        below, product, compose_bias, gate_bias, counts, above, pooled, composed, gates,
        relu or None, maximum or None,
    )  # fmt: skip
    if n_strips == 1:
        forward_strip(*arguments, 0, 1)
    else:
        forward_threads(*arguments, n_strips)


def pool(level: np.ndarray, counts: np.ndarray, pooled: np.ndarray, *, maximum: bool) -> None:
    """Fill ``pooled`` (sentences, D) from the units of a level packed with ``counts``."""
    pool_strip(level, counts, pooled, maximum or None, 0, 1)


def pool_backward(
    level: np.ndarray,
    counts: np.ndarray,
    pooled: np.ndarray,
    d_pooled: np.ndarray,
    ties: np.ndarray,
    d_level: np.ndarray,
    *,
    maximum: bool,
) -> None:
    """Fill ``d_level`` with the gradient of the pooled level alone; equal maxima share it.

    Parameters
    ----------
    ties
        Scratch, (sentences, D).
    """
    pool_backward_strip(level, counts, pooled, d_pooled, maximum or None, ties, d_level, 0, 1)


def level_backward(
    below: np.ndarray,
    pooled: np.ndarray,
    d_pooled: np.ndarray,
    ties: np.ndarray,
    composed: np.ndarray,
    gates: np.ndarray,
    counts: np.ndarray,
    d_above: np.ndarray,
    d_below: np.ndarray,
    d_product: np.ndarray,
    d_bias: np.ndarray,
    *,
    relu: bool,
    maximum: bool,
    n_strips: int = 1,
) -> None:
    """From the gradient at a level to that at the level below, but for its matrix products.

    Parameters
    ----------
    pooled, d_pooled
        (sentences, D) the level below pooled, and the gradient there.
    d_above
        (cells, D) the whole gradient at the units of the level.
    d_below
        Filled: (rows, D) gradient from pooling and from the gates' copies. What comes through the
        matrix products, ``d_product @ [W_L | W_R | G_L | G_R].T``, is the caller's to add.
    d_product
        Filled: (rows, 2 D + 6).
    d_bias
        Added to: (n_strips, D + 3), composition and gates side by side.
    """
    arguments = (
        below, pooled, d_pooled, maximum or None, ties, composed, gates, counts, d_above, d_below,
        d_product, d_bias, relu or None,
    )  # fmt: skip
    if n_strips == 1:
        backward_one(*arguments)
    else:
        backward_threads(*arguments, n_strips)

"""Every word has one row, and texts of similar length meet."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.runtime.packing import Packing, batches


def test_by_hand() -> None:
    packing = Packing.of(np.array([3, 2, 2]))
    assert packing.counts.tolist() == [3, 3, 1]
    assert packing.starts.tolist() == [0, 3, 6]
    assert packing.firsts.tolist() == [0, 3, 5]
    # Words of the first text, of the second, of the third.
    assert packing.rows.tolist() == [0, 3, 6, 1, 4, 2, 5]


@pytest.mark.parametrize("lengths", [[1], [5], [1, 1, 1], [9, 4, 4, 2, 1, 1]])
def test_rows_are_a_permutation(lengths: list[int]) -> None:
    packing = Packing.of(np.array(lengths))
    assert sorted(packing.rows) == list(range(sum(lengths)))
    assert packing.counts.sum() == sum(lengths)


def test_batches_hold_every_text_once_longest_first() -> None:
    lengths = np.random.default_rng(0).integers(1, 40, size=200)
    found = batches(lengths, 100)
    order = np.concatenate(found)
    assert sorted(order) == list(range(200))
    assert (np.diff(lengths[order]) <= 0).all()
    assert all(lengths[group].sum() <= 100 for group in found)
    # None could take a text of the next one in.
    firsts = [lengths[group[0]] for group in found[1:]]
    sums = [lengths[group].sum() for group in found[:-1]]
    assert all(n + first > 100 for n, first in zip(sums, firsts, strict=True))


def test_long_texts_are_alone() -> None:
    found = batches(np.array([3, 500, 700, 2]), 100)
    assert [group.tolist() for group in found] == [[2], [1], [0, 3]]


def test_no_texts() -> None:
    assert batches(np.empty(0, dtype=np.int64)) == []

"""Padding, and batches of similar length that hold every row once."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.text.batch import length_buckets, n_cells, pad
from adasent.text.vocabulary import PAD_ID


def test_pad() -> None:
    batch = pad([np.array([5]), np.array([2, 3, 4])])
    assert batch.ids.tolist() == [[5, PAD_ID, PAD_ID], [2, 3, 4]]
    assert batch.lengths.tolist() == [1, 3]
    assert batch.ids.dtype == batch.lengths.dtype == np.int64


def test_cells_of_a_pyramid() -> None:
    assert n_cells(np.array([1, 2, 3, 2000])).tolist() == [1, 3, 6, 2_001_000]
    assert n_cells(np.array([1, 2, 3, 2000]), 2).tolist() == [1, 3, 5, 3_999]


@pytest.mark.parametrize("batch_size", [1, 7, 1000])
def test_every_row_occurs_once(batch_size: int) -> None:
    lengths = np.random.default_rng(2).integers(1, 60, size=200)
    batches = length_buckets(lengths, batch_size)
    assert sorted(np.concatenate(batches).tolist()) == list(range(200))
    assert max(map(len, batches)) <= batch_size


def test_in_order_of_length_and_of_rows() -> None:
    batches = length_buckets(np.array([5, 1, 3, 1]), 2)
    assert [batch.tolist() for batch in batches] == [[1, 3], [2, 0]]


def test_similar_lengths_meet() -> None:
    lengths = np.random.default_rng(2).integers(1, 60, size=1000)
    batches = length_buckets(lengths, 20)
    spread = [np.ptp(lengths[batch]) / lengths[batch].mean() for batch in batches]
    assert np.median(spread) < 0.2


def test_long_texts_go_into_small_batches() -> None:
    lengths = np.array([10] * 6 + [100] * 3)  # 55 cells and 5,050 cells each
    batches = length_buckets(lengths, 6, max_cells=6000)
    assert [batch.tolist() for batch in batches] == [[0, 1, 2, 3, 4, 5], [6], [7], [8]]
    flat = length_buckets(lengths, 6, max_cells=6000, height=8)  # 772 cells at most
    assert [batch.tolist() for batch in flat] == [[0, 1, 2, 3, 4, 5], [6, 7, 8]]


def test_row_above_the_limit_is_alone() -> None:
    assert [b.tolist() for b in length_buckets(np.array([50, 1]), 5, max_cells=10)] == [[1], [0]]


def test_no_rows() -> None:
    assert length_buckets(np.array([], dtype=np.int64), 5) == []

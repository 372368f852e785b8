"""The measured work is the work that is claimed."""

from __future__ import annotations

import numpy as np
import torch

from benchmarks.padded import pyramid_padded
from benchmarks.workloads import PackedWork, PaddedWork, network, rows_of_levels, shape

LENGTHS = np.array([3, 1, 2])


def test_rows_of_levels_by_hand() -> None:
    # Lengths 3, 2, 1: six words, then two units and one, then the top, which nothing follows.
    assert rows_of_levels(np.array([3, 2, 1])) == [6, 3]


def test_flops_and_cells_by_hand() -> None:
    work = PackedWork(LENGTHS, 4)
    assert work.flops == 2 * 4 * (2 * 4 + 4) * (6 + 3)
    assert work.traffic == 4 * (3 * 4 + 2 * 12) * (6 + 3)
    assert shape(LENGTHS, 4, "MR").cells == 6 + 1 + 3


def test_packed_work_builds_the_pyramids_of_its_words() -> None:
    work = PackedWork(np.array([5]), 6)  # one sentence: packed rows are its words in order
    (levels,) = work.pyramid()
    with torch.no_grad():
        expected = pyramid_padded(
            torch.from_numpy(work.words[0])[None],
            torch.tensor([5]),
            network(6).composition.weights(),
            pooling="max",
        )[0]
    np.testing.assert_allclose(levels, expected.numpy(), atol=1e-5)


def test_flops_grow_with_the_groups() -> None:
    work = PackedWork(LENGTHS, 4, n_groups=2)
    assert work.flops == 2 * 4 * (2 * 4 + 4 * 2) * (6 + 3)


def test_padded_work_covers_every_sentence_in_either_order() -> None:
    mixed = PaddedWork(LENGTHS, 4, 2, by_length=False)
    assert [lengths.tolist() for _, lengths in mixed.batches] == [[3, 1], [2]]
    by_length = PaddedWork(LENGTHS, 4, 2, by_length=True)
    assert [lengths.tolist() for _, lengths in by_length.batches] == [[3, 2], [1]]
    assert [tuple(levels.shape) for levels in by_length.pyramid()] == [(2, 3, 4), (1, 1, 4)]

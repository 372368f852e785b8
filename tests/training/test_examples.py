"""Encoded texts as padded tensors."""

from __future__ import annotations

import numpy as np
import torch

from adasent.text.vocabulary import PAD_ID
from adasent.training.examples import Examples


def example() -> Examples:
    ids = [np.array([2, 3, 4]), np.array([5]), np.array([6, 7])]
    targets = np.eye(3, dtype=np.float32)
    return Examples(ids, targets, np.array([1, 2, 3], dtype=np.float32))


def test_take_keeps_rows_together() -> None:
    taken = example().take(np.array([2, 0]))
    assert [row.tolist() for row in taken.ids] == [[6, 7], [2, 3, 4]]
    assert taken.targets.argmax(axis=1).tolist() == [2, 0]
    assert taken.weights.tolist() == [3, 1]
    assert taken.lengths.tolist() == [2, 3]


def test_tensors_are_padded() -> None:
    ids, lengths, targets, weights = example().tensors()
    assert ids.tolist() == [[2, 3, 4], [5, PAD_ID, PAD_ID], [6, 7, PAD_ID]]
    assert lengths.tolist() == [3, 1, 2]
    assert torch.equal(targets, torch.eye(3))
    assert weights.tolist() == [1, 2, 3]

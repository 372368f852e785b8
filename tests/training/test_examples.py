"""Encoded texts as padded tensors, with words dropped."""

from __future__ import annotations

import numpy as np
import torch

from adasent.text.vocabulary import PAD_ID, UNK_ID
from adasent.training.examples import Examples

CPU = torch.device("cpu")


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
    ids, lengths, targets, weights = example().tensors(CPU)
    assert ids.tolist() == [[2, 3, 4], [5, PAD_ID, PAD_ID], [6, 7, PAD_ID]]
    assert lengths.tolist() == [3, 1, 2]
    assert torch.equal(targets, torch.eye(3))
    assert weights.tolist() == [1, 2, 3]


def test_word_dropout_makes_words_unknown_at_its_rate() -> None:
    many = Examples(
        [np.full(50, 9) for _ in range(100)],
        np.ones((100, 1), np.float32),
        np.ones(100, np.float32),
    )
    ids, *_ = many.tensors(CPU, word_dropout=0.3, rng=np.random.default_rng(0))
    assert set(ids.unique().tolist()) == {9, UNK_ID}
    assert abs((ids == UNK_ID).double().mean().item() - 0.3) < 0.03
    assert (many.tensors(CPU, word_dropout=0.3)[0] == 9).all()  # no generator, no dropout

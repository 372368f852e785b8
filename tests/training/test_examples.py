"""Encoded texts of one model and of several, as padded tensors."""

from __future__ import annotations

import numpy as np
import torch

from adasent.text.batch import n_cells
from adasent.text.vocabulary import PAD_ID
from adasent.training.examples import SAMPLE_TEXTS, SAMPLE_UNITS, Examples, StackedExamples


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


def test_a_sample_has_few_units(examples: Examples) -> None:
    """Keeping every unit of a 2,000-word text takes gigabytes; such texts are passed over."""
    long = Examples(
        [np.zeros(2000, dtype=np.int64), *examples.ids],
        np.vstack([examples.targets[:1], examples.targets]),
        np.ones(len(examples) + 1, dtype=np.float32),
    )
    for seed in range(5):
        sample = long.sample(seed)
        assert len(sample) == SAMPLE_TEXTS
        assert n_cells(sample.lengths).sum() <= SAMPLE_UNITS
    only_long = long.take(np.array([0]))
    assert len(only_long.sample(0)) == 1


def stacked() -> StackedExamples:
    first = Examples(
        [np.array([2, 3, 4]), np.array([5])],
        np.eye(2, dtype=np.float32),
        np.array([1, 2], dtype=np.float32),
    )
    second = Examples(
        [np.array([6, 7])], np.array([[0.25, 0.75]], np.float32), np.array([3], np.float32)
    )
    return StackedExamples([first, second], torch.device("cpu"), torch.float64)


def test_batches_are_padded() -> None:
    batch = stacked().batch(torch.tensor([[1, 0], [0, 2]]), 4)
    pad = PAD_ID
    assert batch.ids.tolist() == [
        [[5, pad, pad, pad], [2, 3, 4, pad]],
        [[6, 7, pad, pad], [pad] * 4],
    ]
    assert batch.lengths.tolist() == [[1, 3], [2, 1]]
    assert batch.targets.tolist() == [[[0, 1], [1, 0]], [[0.25, 0.75], [0, 0]]]
    assert batch.weights.tolist() == [[2, 1], [3, 0]]
    assert batch.targets.dtype == torch.float64


def test_filler_is_no_text() -> None:
    examples = stacked()
    assert examples.filler == 2
    batch = examples.batch(torch.full((2, 1), examples.filler), 1)
    assert (batch.ids == PAD_ID).all()
    assert (batch.weights == 0).all()
    assert (batch.lengths == 1).all()


def test_models_are_dropped() -> None:
    examples = stacked()
    examples.keep(torch.tensor([1]))
    assert examples.batch(torch.tensor([[0]]), 2).ids.tolist() == [[[6, 7]]]

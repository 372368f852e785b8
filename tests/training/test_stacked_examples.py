"""Texts of several models on the device: rows in, padded batches out."""

from __future__ import annotations

import numpy as np
import torch

from adasent.text.vocabulary import PAD_ID
from adasent.training.examples import Examples
from adasent.training.stacked_examples import StackedExamples


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

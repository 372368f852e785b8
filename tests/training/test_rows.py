"""Sums over equal words and their updates: by hand, and the kernels against their definition."""

from __future__ import annotations

import os

import pytest
import torch
from torch import Tensor

from adasent.text.vocabulary import PAD_ID
from adasent.training.optimizer import AdagradStep, AdamStep, TorchRows, sum_rows

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
pytest.importorskip("triton")
from adasent.training.rows_triton import TritonRows  # noqa: E402

N_MODELS, N_WORDS, SIZE = 3, 12, 5


def occurrences(n: int = 24) -> tuple[Tensor, Tensor]:
    """Words of three models and their gradients; one word in long runs, and padding of none."""
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(0, N_WORDS, (N_MODELS, n), generator=generator, dtype=torch.int32)
    ids[0, :18] = 7  # more than the kernel sums at a time
    ids[2] = PAD_ID
    gradient = torch.randn(N_MODELS, n, SIZE, generator=generator, dtype=torch.float64)
    gradient[ids == PAD_ID] = 0
    return ids.to(DEVICE), gradient.to(DEVICE)


def random(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, generator=generator, dtype=torch.float64).to(DEVICE)


def test_equal_words_are_summed() -> None:
    ids = torch.tensor([[3, 1, 3, PAD_ID], [1, 1, 1, 1]], dtype=torch.int32)
    gradient = torch.tensor([[[1.0], [2.0], [4.0], [0.0]], [[1.0], [1.0], [1.0], [1.0]]])
    rows = sum_rows(ids, gradient, n_words=4)
    assert isinstance(rows, TorchRows)
    assert rows.squares.tolist() == [5.0**2 + 2.0**2, 4.0**2]
    assert rows.rows.tolist() == [0, 1, 3, 5]
    assert rows.values.tolist() == [[0.0], [2.0], [5.0], [4.0]]


def test_kernel_sums() -> None:
    ids, gradient = occurrences()
    squares = TritonRows(ids, gradient, N_WORDS).squares
    torch.testing.assert_close(squares, TorchRows(ids, gradient, N_WORDS).squares)


def test_kernel_adam() -> None:
    ids, gradient = occurrences()
    settings = [random(N_MODELS, seed=seed) for seed in (1, 2)]
    active = torch.tensor([1.0, 0.0, 1.0], dtype=torch.float64, device=DEVICE)
    shape = (N_MODELS, N_WORDS, SIZE)
    found = [random(*shape, seed=seed) for seed in (3, 4, 5)]
    expected = [tensor.clone() for tensor in found]
    for kind, tables in ((TritonRows, found), (TorchRows, expected)):
        rows = kind(ids, gradient, N_WORDS)
        scale, size = settings
        rows.adam(tables[0], AdamStep(*tables[1:], scale, active, size * active, 0.9, 0.999, 1e-8))
    for table, reference in zip(found, expected, strict=True):
        # Padding, whose gradient is zero, is updated by the definition alone.
        torch.testing.assert_close(table[:, 1:], reference[:, 1:])
    start = [random(*shape, seed=seed) for seed in (3, 4, 5)]
    assert all(torch.equal(a[1], b[1]) for a, b in zip(found, start, strict=True))  # it idled


def test_kernel_adagrad() -> None:
    ids, gradient = occurrences()
    scale, size = (random(N_MODELS, seed=seed) for seed in (1, 2))
    shape = (N_MODELS, N_WORDS, SIZE)
    found = [random(*shape, seed=seed) for seed in (3, 4)]
    expected = [tensor.clone() for tensor in found]
    for kind, tables in ((TritonRows, found), (TorchRows, expected)):
        rows = kind(ids, gradient, N_WORDS)
        rows.adagrad(tables[0], AdagradStep(tables[1], scale, size, 1e-10))
    for table, reference in zip(found, expected, strict=True):
        torch.testing.assert_close(table, reference)

"""Updates of dense weights: the kernels against their definition."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch
from torch import Tensor

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
if DEVICE.type == "cpu":
    os.environ["TRITON_INTERPRET"] = "1"  # before triton is imported
pytest.importorskip("triton")
from adasent.training import dense_triton, optimizer  # noqa: E402
from adasent.training.optimizer import OPTIMIZERS, Pace, TorchRows  # noqa: E402

N_MODELS, N_WORDS, SIZE = 3, 6, 4
RATES = torch.tensor([0.1, 0.02, 0.5], dtype=torch.float64, device=DEVICE)
CLIP = torch.tensor([1e9, 0.3, 9.0], dtype=torch.float64, device=DEVICE)
#: Texts of each step; the second model idles in the first and in the fourth.
N_ROWS = torch.tensor([[2, 0, 1], [2, 1, 1], [2, 1, 1], [2, 0, 1], [2, 1, 1]], device=DEVICE)


@pytest.fixture(autouse=True)
def poisoned(monkeypatch: pytest.MonkeyPatch) -> None:
    def empty(*shape: Any, **options: Any) -> Tensor:
        return torch.empty(*shape, **options).fill_(float("nan"))

    monkeypatch.setattr(dense_triton, "_empty", empty)


def use(monkeypatch: pytest.MonkeyPatch, *, kernels: bool) -> None:
    """Update by the kernels, or as they are defined."""
    monkeypatch.setattr(optimizer, "_kernels", lambda device: dense_triton if kernels else None)


def random(*shape: int, seed: int, dtype: torch.dtype) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64).to(DEVICE, dtype)


def train(
    name: str, n: int, dtype: torch.dtype, *, fine_tune: bool = True
) -> tuple[dict[str, Tensor], list[Pace]]:
    """Five steps: weights, table and state by name, and the numbers of each step."""
    weights = random(N_MODELS, n, seed=0, dtype=dtype)
    table = random(N_MODELS, N_WORDS, SIZE, seed=1, dtype=dtype)
    made = OPTIMIZERS[name](weights, table if fine_tune else None, RATES.clone(), 3 * RATES)
    tensors = {"weights": weights, "table": table, **made.state}
    paces = []
    for step, n_rows in enumerate(N_ROWS):
        gradient, rows = random(N_MODELS, n, seed=10 + step, dtype=dtype), None
        if fine_tune:
            ids = torch.arange(1, N_WORDS, device=DEVICE).expand(N_MODELS, -1)
            of_words = random(N_MODELS, N_WORDS - 1, SIZE, seed=20 + step, dtype=dtype)
            rows = TorchRows(ids, of_words, N_WORDS)
        before = {key: tensor.clone() for key, tensor in tensors.items()}
        paces.append(made.update(weights, gradient, table, rows, CLIP, n_rows))
        for key, tensor in tensors.items():  # a model that idles stays bit for bit
            assert torch.equal(tensor[n_rows == 0], before[key][n_rows == 0])
    return tensors, paces


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 2e-6), (torch.float64, 1e-12)], ids=str
)
@pytest.mark.parametrize("n", [1, 7, 1024, 9000])
@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_kernels_equal_the_definition(
    name: str, n: int, dtype: torch.dtype, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """9,000 weights are three parts of a sum, and nine blocks of an update."""
    use(monkeypatch, kernels=True)
    tensors, paces = train(name, n, dtype)
    use(monkeypatch, kernels=False)
    expected = train(name, n, dtype)
    torch.testing.assert_close((tensors, paces), expected, rtol=tolerance, atol=tolerance)
    assert torch.equal(torch.stack([pace.active for pace in paces]), (N_ROWS > 0).to(dtype))


@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_kernels_without_a_table(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, kernels=True)
    found = train(name, 7, torch.float64, fine_tune=False)
    use(monkeypatch, kernels=False)
    expected = train(name, 7, torch.float64, fine_tune=False)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernels", [True, False])
def test_nan_in_a_gradient_is_not_hidden(kernels: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It makes the norm NaN, and by it all weights of that model."""
    use(monkeypatch, kernels=kernels)
    weights, gradient = (random(N_MODELS, 5, seed=seed, dtype=torch.float64) for seed in (0, 1))
    gradient[2, 3] = float("nan")
    made = OPTIMIZERS["adam"](weights, None, RATES.clone())
    pace = made.update(weights, gradient, weights, None, CLIP, N_ROWS[1])
    assert pace.norms.isnan().tolist() == [False, False, True]
    assert weights.isnan().sum(dim=1).tolist() == [0, 0, 5]


@pytest.mark.gpu
@pytest.mark.skipif(DEVICE.type == "cpu", reason="no CUDA device")
def test_the_kernels_are_taken_on_cuda() -> None:
    assert optimizer._kernels("cuda") is dense_triton

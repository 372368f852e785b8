"""The stacked updates against torch's own optimisers, model by model."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from adasent.training.optimizer import OPTIMIZERS, sum_rows

N_MODELS, N_WEIGHTS, N_WORDS, SIZE = 3, 7, 9, 4
RATES = torch.tensor([0.1, 0.02, 0.5], dtype=torch.float64)
#: The second model idles in the first and in the fourth step.
N_ROWS = torch.tensor([[2, 0, 1], [2, 1, 1], [2, 1, 1], [2, 0, 1], [2, 1, 1]])
CLIP = torch.tensor([1e9, 0.3, 9.0], dtype=torch.float64)


def random(*shape: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


@pytest.mark.parametrize("table_rate", [None, [1.0, 0.3, 4.0]])
@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_as_torch_does(name: str, table_rate: list[float] | None) -> None:
    """A rate of the table is another learning rate for its rows, and for them alone."""
    weights, table = random(N_MODELS, N_WEIGHTS, seed=0), random(N_MODELS, N_WORDS, SIZE, seed=1)
    references = []
    for k in range(N_MODELS):
        dense = torch.nn.Parameter(weights[k].clone())
        rows = torch.nn.Parameter(table[k].clone())
        rate = RATES[k].item()
        row_rate = rate * table_rate[k] if table_rate else rate
        if name == "adam":
            pair = torch.optim.Adam([dense], lr=rate), torch.optim.SparseAdam([rows], lr=row_rate)
        else:
            pair = torch.optim.Adagrad([dense], lr=rate), torch.optim.Adagrad([rows], lr=row_rate)
        references.append((dense, rows, pair))

    multiples = None if table_rate is None else torch.tensor(table_rate, dtype=torch.float64)
    optimizer = OPTIMIZERS[name](weights, table, RATES.clone(), multiples)
    for step, n_rows in enumerate(N_ROWS):
        gradient = random(N_MODELS, N_WEIGHTS, seed=10 + step)
        # Word 0 is padding, whose gradient is zero; word 8 never occurs.
        generator = torch.Generator().manual_seed(step)
        ids = torch.randint(0, 8, (N_MODELS, 12), generator=generator)
        of_words = random(N_MODELS, 12, SIZE, seed=20 + step)
        of_words[ids == 0] = 0
        rows_gradient = sum_rows(ids, of_words, N_WORDS)
        pace = optimizer.update(weights, gradient, table, rows_gradient, CLIP, n_rows)
        for k, (dense, rows, pair) in enumerate(references):
            if not n_rows[k]:
                continue
            with torch.sparse.check_sparse_tensor_invariants(False):
                summed = torch.sparse_coo_tensor(ids[k][None], of_words[k], rows.shape).coalesce()
                norm = torch.cat([gradient[k], summed.values().flatten()]).norm()
                torch.testing.assert_close(pace.norms[k], norm)
                scale = min(1.0, float(CLIP[k] / norm))
                dense.grad, rows.grad = gradient[k] * scale, summed * scale
                for one in pair:
                    one.step()
    for k, (dense, rows, _) in enumerate(references):
        torch.testing.assert_close(weights[k], dense.detach(), rtol=1e-12, atol=1e-12)
        torch.testing.assert_close(table[k], rows.detach(), rtol=1e-12, atol=1e-12)
    assert torch.equal(table[:, 8], random(N_MODELS, N_WORDS, SIZE, seed=1)[:, 8])


@pytest.mark.parametrize("name", ["adam", "adagrad"])
def test_a_frozen_table_has_no_state(name: str) -> None:
    weights, table = random(2, 3, seed=0), random(2, 5, 4, seed=1)
    optimizer = OPTIMIZERS[name](weights, None, RATES[:2].clone())
    ones = torch.ones(2, dtype=torch.float64)
    before = table.clone()
    optimizer.update(weights, random(2, 3, seed=2), table, None, ones, ones)
    assert torch.equal(table, before)
    assert all(tensor.shape != table.shape for tensor in optimizer.state.values())

"""Work is done every time, recorded or not."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from adasent.training.graphs import Graphs


def test_without_recording_work_is_simply_done() -> None:
    graphs, seen = Graphs(enabled=False), []
    for value in range(4):
        graphs.run("same", lambda x: seen.append(x.item()), torch.tensor(value))
    assert seen == [0, 1, 2, 3]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_replayed_work_reads_its_new_inputs() -> None:
    total = torch.zeros(2, device="cuda")
    graphs = Graphs(enabled=True)

    def add(x: Tensor) -> None:
        total.add_(x * 2)

    for value in range(1, 6):
        graphs.run("add", add, torch.full((2,), float(value), device="cuda"))
    assert total.tolist() == [30.0, 30.0]
    graphs.forget()
    graphs.run("add", add, torch.ones(2, device="cuda"))
    assert total.tolist() == [32.0, 32.0]

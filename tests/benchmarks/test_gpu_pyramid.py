"""The check that runs before anything is timed, and the rows of times: in Triton's interpreter."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

if torch.cuda.is_available():
    pytest.skip("the script itself runs on a machine with CUDA", allow_module_level=True)
os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from adasent.pyramid import cuda
from benchmarks import gpu_pyramid
from benchmarks.bounds import MODES
from triton_interpreter import repair_interpreter


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    repair_interpreter()
    monkeypatch.setattr(gpu_pyramid, "DEVICE", "cpu")
    monkeypatch.setattr(gpu_pyramid, "LENGTHS", {"2": [2, 2], "mixed": [3, 1, 2]})
    monkeypatch.setattr(cuda, "_empty", cuda._empty)  # which the check poisons
    before = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(before)


@pytest.mark.parametrize("mode", MODES)
def test_the_check_passes(mode: str) -> None:
    rows = gpu_pyramid.check(4, mode)
    assert all(row["ok"] for row in rows), rows
    assert {row["groups"] for row in rows} == {1, 4}


def test_every_size_has_a_gate_of_all_and_one_of_each() -> None:
    for size in gpu_pyramid.SIZES:
        assert {1, size} <= {n_groups for _, n_groups, *_ in gpu_pyramid.cases(size)}


def test_the_stack_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    make = gpu_pyramid.random_case

    def shorter(lengths: list[list[int]], *rest: Any) -> list[torch.Tensor]:
        return make([[min(n, 4) for n in row] for row in lengths], *rest)

    monkeypatch.setattr(gpu_pyramid, "random_case", shorter)
    assert gpu_pyramid.check_stack()[0]["ok"]


@pytest.mark.parametrize("mode", ["float64", "float32"])
def test_an_error_fails_the_check(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    right = gpu_pyramid.pyramid_cuda
    monkeypatch.setattr(
        gpu_pyramid, "pyramid_cuda", lambda *args, **options: 1.001 * right(*args, **options)
    )
    found = gpu_pyramid.check(4, mode)
    assert not any(row["ok"] for row in found)
    assert all("failure" not in row and row["of_bound"]["levels"] > 1 for row in found)


@pytest.mark.parametrize("work", [gpu_pyramid.Work(1, 3, 4), gpu_pyramid.Work(2, 2, 4)])
def test_rows_of_times(work: gpu_pyramid.Work, monkeypatch: pytest.MonkeyPatch) -> None:
    def once(run: Callable[[], object]) -> list[float]:
        run()
        return [1.0, 2.0, 4.0]

    monkeypatch.setattr(gpu_pyramid, "milliseconds", once)
    monkeypatch.setattr(gpu_pyramid, "graphed", lambda run: run)
    monkeypatch.setattr(gpu_pyramid, "peak_mb", lambda run: 7.0)
    lengths = gpu_pyramid.mr_lengths
    monkeypatch.setattr(gpu_pyramid, "mr_lengths", lambda *shape: lengths(*shape) % 3 + 2)
    ceiling = {"bfloat16_TFLOP_per_s": 1e-6, "copy_GB_per_s": 1e-3}
    rows = {row["variant"]: row for row in gpu_pyramid.time_all(work, 2, ceiling)}
    assert ("N=2: eager" in rows) is (work.n_models == 1)
    times = {"without gradient", "forward", "backward", "both", "both, as a graph"}
    assert {f"N=2: {name}" for name in times} <= rows.keys()
    assert rows["N=2: both"]["median"] == 2.0
    share = rows["N=2: of products"]
    assert 0 < share["p20"] < share["median"] < share["p80"]
    assert {row["shape"] for row in rows.values()} == {work.shape}


def test_costs_of_a_cell() -> None:
    flop, moved = gpu_pyramid.costs(100, 25, 1)
    assert flop == 3 * 2 * 100 * (2 * 100 + 4 * 25)
    assert moved == 2 * (5 * 300 + 3 * 100) + 4 * (9 * 100 + 4 * 25)


def test_prediction_is_counted_in_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    precisions = []

    def once(run: Callable[[], np.ndarray]) -> list[float]:
        precisions.append(torch.get_float32_matmul_precision())
        assert run().shape == (10, 2)
        return [1.0, 2.0, 4.0]

    monkeypatch.setattr(gpu_pyramid, "wall_ms", once)
    rows = {row["variant"]: row for row in gpu_pyramid.predict(n_texts=10)}
    assert list(rows) == ["from ids, float32", "from ids, TF32"]
    assert precisions == ["highest", "high"]
    for row in rows.values():
        assert [row[name] for name in ("p20", "median", "p80")] == [2500, 5000, 10_000]


def test_wall_times_leave_out_the_first_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    lasting = [100, 100, 100, 1, 2, 3]  # seconds
    clock = iter([t for n in lasting for t in (0.0, float(n))])
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: None)
    monkeypatch.setattr(gpu_pyramid, "time", SimpleNamespace(perf_counter=lambda: next(clock)))
    p20, median, p80 = gpu_pyramid.wall_ms(lambda: None, repeats=3)
    assert (round(p20), round(median), round(p80)) == (1400, 2000, 2600)

"""The check that runs before anything is timed, on the CPU in Triton's interpreter."""

from __future__ import annotations

import os
from typing import Any

import pytest
import torch

if torch.cuda.is_available():
    pytest.skip("the script itself runs on a machine with CUDA", allow_module_level=True)
os.environ["TRITON_INTERPRET"] = "1"  # read when the kernels are first imported
pytest.importorskip("triton")

from adasent.pyramid import fused
from benchmarks import gpu_pyramid
from triton_interpreter import repair_interpreter


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    repair_interpreter()
    monkeypatch.setattr(gpu_pyramid, "DEVICE", "cpu")
    monkeypatch.setattr(gpu_pyramid, "LENGTHS", {"mixed": [3, 1, 2]})
    monkeypatch.setattr(fused, "SPLITS", 1)
    monkeypatch.setattr(fused, "_empty", fused._empty)  # which the check poisons


def rows() -> list[dict[str, Any]]:
    return gpu_pyramid.check(5, "ieee")


def test_the_check_passes() -> None:
    assert [row["group"] for row in rows() if row["ok"]] == [1, 4]


def test_an_error_fails_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    right = gpu_pyramid.pyramid_fused
    monkeypatch.setattr(
        gpu_pyramid, "pyramid_fused", lambda *args, **options: 1.001 * right(*args, **options)
    )
    found = rows()
    assert not any(row["ok"] for row in found)
    assert all("failure" not in row and row["of_bound"]["levels"] > 1 for row in found)

"""Each Triton kernel compiles for a GPU of compute capability 9.0, also where there is none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton", reason="triton, which compiles the kernels, is not installed")

KERNELS = {
    *("forward_kernel", "backward_kernel"),
    *("_sum", "_adam", "_adagrad"),
    *("_squares", "_pace", "_update"),
    *("_fill", "_forward", "_backward"),
}
SHARED = 232_448  # bytes of shared memory that a program may have


@pytest.mark.parametrize("options", [[], pytest.param(["--all"], marks=pytest.mark.slow)])
def test_every_kernel_compiles_and_fits(tmp_path: Path, options: list[str]) -> None:
    settings = {**os.environ, "TRITON_CACHE_DIR": str(tmp_path)}
    settings.pop("TRITON_INTERPRET", None)  # which other tests set: hence a process of its own
    script = Path(__file__).with_name("compile_kernels.py")
    result = subprocess.run(
        [sys.executable, str(script), *options],
        env=settings,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    found = {row["kernel"]: row for row in map(json.loads, result.stdout.splitlines())}
    assert set(found) == KERNELS
    assert all(row["bytes"] > 0 and row["shared"] <= SHARED for row in found.values())

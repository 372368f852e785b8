"""Functions compile whether or not the result can be kept."""

from __future__ import annotations

from typing import Any

import pytest

numba = pytest.importorskip("numba")

from adasent.pyramid import compiling  # noqa: E402


def double(x: Any) -> Any:
    return 2 * x


def test_without_a_folder_to_write_to_it_still_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    njit, asked = numba.njit, []

    def refuse_to_keep(*, cache: bool = False, **options: Any) -> Any:
        asked.append(cache)
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(**options)

    monkeypatch.setattr(compiling.numba, "njit", refuse_to_keep)
    assert compiling.compiled(double)(3) == 6
    assert asked == [True, False]

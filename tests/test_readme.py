"""The README's figures are those of the committed records."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(not (ROOT / "results").is_dir(), reason="the records are not shipped here")
def test_accuracy_table_is_made_from_the_records() -> None:
    table = runpy.run_path(str(ROOT / "benchmarks" / "defaults.py"))["table"]()
    assert table.count("\n") >= 2
    assert table in (ROOT / "README.md").read_text(encoding="utf-8")

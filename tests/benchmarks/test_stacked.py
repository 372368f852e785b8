"""Stacked training is measured in every part; tiny, on the CPU."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import stacked


def test_rates_and_phases(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    network = {"vector_size": 4, "hidden_size": 4, "gate_groups": 2}
    tiny = stacked.Size(n_texts=20, n_held=4, n_words=30, **network)
    monkeypatch.setattr(stacked, "SMALL", tiny)
    out = tmp_path / "stacked.jsonl"
    options = ["--quick", "--no-check", "--models", "2", "--epochs", "2", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["stacked.py", *options])
    stacked.main()
    rows = [json.loads(line) for line in out.read_text().splitlines()]
    assert all("error" not in row for row in rows)
    assert len(rows[-1]["updates_per_s"]) == 2
    assert {f"{name}_ms" for name in ("data", "forward", "backward", "optimiser")} <= set(rows[-1])
    assert {"device", "commit"} <= set(rows[-1])

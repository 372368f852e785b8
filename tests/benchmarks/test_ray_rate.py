"""What is made of the rates over Ray; no rate is measured here."""

from __future__ import annotations

from pathlib import Path

import pyarrow
import pytest

from benchmarks import ray_rate
from benchmarks.ray_rate import agrees, gpu_rate, on_paper, shown

RATES = {"single process": 900.0, "one worker": 1000.0, "two workers": 1800.0}
STAGES = {"read Parquet": 1e6, "write Parquet": 1e6, "texts to ids": 1e5}


def rows() -> list[ray_rate.Row]:
    origin = {"device": "CPU", "adasent": "1", "commit": "abc", "date": "today"}
    found: list[ray_rate.Row] = []
    for name, rate in (RATES | STAGES).items():
        row = {"run": name, "texts": 10, "seconds": 1.0, "texts/s": rate, "output": ""}
        found.append(row | {"peak memory, MB": 5} | origin)
    return found


def test_ten_to_the_nine_on_paper() -> None:
    cores, gpus = on_paper(rows(), 1e6).splitlines()[2:4]
    hours = 1e9 / (100 * 900) / 3600
    assert f"| 100 x 900 | {hours:,.1f} |" in cores
    assert f"= {hours * 100 * ray_rate.CORE_HOUR:,.0f} |" in cores
    fed = 1 / (1 / 1e5 + 2 / 1e6)
    assert f"{fed:,.0f} that a core feeds" in gpus
    assert f"| {1e9 / (8 * fed) / 3600:,.1f} |" in gpus
    assert "90% was left" in on_paper(rows(), None)
    assert "GPU" not in on_paper(rows(), None)


def test_the_ratio_is_that_of_the_rows() -> None:
    assert "Two workers have 1.80 times the rate of one." in shown(rows())


def test_the_rate_of_a_gpu_is_the_best_measured(tmp_path: Path) -> None:
    path = tmp_path / "gpu.csv"
    lines = ["what,shape,variant,median,unit", "pyramid,K=1 B=64,x: without gradient,1.0,ms"]
    lines += ["pyramid,K=5 B=50,x: without gradient,0.5,ms", "pyramid,K=5 B=50,x: both,0.1,ms"]
    path.write_text("\n".join(lines))
    assert gpu_rate(path) == pytest.approx(500_000)


@pytest.mark.parametrize(
    ("column", "values", "equal"),
    [
        ("confidence", [0.9, 0.50001, 0.8], True),
        ("confidence", [0.9, 0.5, 0.7], False),
        ("predicted", ["a", "b", "a"], True),  # where rounding decides
        ("predicted", ["b", "a", "a"], False),
        ("row", [0, 1, 1], False),
    ],
)
def test_outputs_are_compared_row_by_row(column: str, values: list[object], equal: bool) -> None:
    expected = {"row": [0, 1, 2], "predicted": ["a", "a", "a"], "confidence": [0.9, 0.5, 0.8]}
    found = pyarrow.table(expected | {column: values})
    assert agrees(found, pyarrow.table(expected)) is equal
    assert not agrees(found.slice(1), pyarrow.table(expected))

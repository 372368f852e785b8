"""What the GPU scripts wrote becomes rows, and rows become tables."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gpu_results
from benchmarks.gpu_results import (
    CSV,
    NONE_YET,
    PAGE,
    TABLES,
    accuracy,
    fill,
    folds,
    origin,
    rates,
    read_csv,
    rows_of,
    speed,
    write_csv,
)

ABOUT = {"device": "a GPU", "torch": "2.0", "commit": "abc", "numpy": "2.0"}


def check(mode: str, pooling: str, error: float, of_bound: float) -> dict[str, Any]:
    names = ("levels", "b_G")
    return {
        "mode": mode,
        "activation": "tanh",
        "pooling": pooling,
        "errors": dict.fromkeys(names, error),
        "of_bound": dict.fromkeys(names, of_bound),
    }


def timed(
    shape: str, variant: str, median: float, *, what: str = "pyramid", unit: str = "ms"
) -> dict[str, Any]:
    spread = {"p20": median, "median": median, "p80": median}
    return {"what": what, "shape": shape, "variant": variant, "unit": unit, **spread}


REPORT = {
    **ABOUT,
    "checks": [
        check("tf32", "mean", 1e-3, 0.1),
        check("tf32", "mean", 2e-3, 0.2),
        check("tf32", "max", 5e-2, 0.5),
        {"mode": "tf32", "failure": "no memory"},
    ],
    "ceilings": {"tf32_TFLOP_per_s": 300.0},
    "rows": [
        timed("K=1 B=64", "N=1: eager", 60.0),
        timed("K=1 B=64", "N=1: both", 2.0),
        timed("K=50 B=50", "N=100: both, as a graph", 5.0),
        timed("K=50 B=50", "N=100: of products", 0.042, unit="share"),
        timed("K=50 B=50", "N=100: peak", 1234.4, unit="MB"),
        timed("9 texts", "from ids, TF32", 100_000.0, what="prediction", unit="sentences/s"),
    ],
}
TRAINING = {
    **{"what": "training", "models": 50, "gate_groups": 100, "graph": True},
    "updates_per_s": [9, 300, 320, 310],
}
CROSSVAL = [
    {
        **{"what": "crossval", "data": "MR", "folds": 10, "epochs": 10, "vectors": "v"},
        **{"run": run, "seconds": seconds, "accuracy": 75.5},
    }
    for run, seconds in (("first", 20.04), ("again", 12.0))
] + [
    {"what": "accuracy", "data": "TREC", "vectors": "v", "runs": 5, "error": "changed"},
    {
        **{"what": "accuracy", "data": "CR", "vectors": "v", "runs": 10, "here": 81.651},
        **{"here_sd": 2.0, "recorded": 81.57, "recorded_sd": 2.48, "recorded_on": "cpu"},
    },
]


def put_lines(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line | ABOUT) + "\n" for line in lines))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "gpu_pyramid.json").write_text(json.dumps(REPORT))
    put_lines(tmp_path / "stacked.jsonl", [{"what": "check"}, TRAINING])
    put_lines(tmp_path / "gpu_crossval.jsonl", CROSSVAL)
    return tmp_path


@pytest.fixture
def rows(folder: Path) -> list[dict[str, Any]]:
    write_csv(folder / "gpu.csv", rows_of(folder))
    return read_csv(folder / "gpu.csv")


def test_speed(rows: list[dict[str, Any]]) -> None:
    header, _, *lines = speed(rows).splitlines()[2:]
    assert header.startswith("| shape | gates | eager, ms | both, ms | both as a graph, ms |")
    assert header.endswith("| of products | peak, MB |")
    assert lines == [
        "| K=1 B=64 | N=1 | 60.0 | 2.00 |  |  |  |",
        "| K=50 B=50 | N=100 |  |  | 5.00 | 4.2% | 1,234 |",
    ]


def test_rates_are_medians(rows: list[dict[str, Any]]) -> None:
    assert rates(rows).splitlines()[2:] == [
        "| training, K=50 B=50 | N=100: recorded steps | 310 updates/s |",
        "| prediction, 9 texts | from ids, TF32 | 100,000 sentences/s |",
    ]


def test_errors_are_the_largest(rows: list[dict[str, Any]]) -> None:
    assert accuracy(rows).splitlines()[2:] == ["| tf32 | 2.0e-03 | 2.0e-03 | 5.0e-02 | 50 % |"]


def test_folds(rows: list[dict[str, Any]]) -> None:
    assert folds(rows).splitlines()[2:] == [
        "| MR, 10 folds, 10 epochs: kernels compiled first | 20.0 s | 75.50 % |  |",
        "| MR, 10 folds, 10 epochs: the same again | 12.0 s | 75.50 % |  |",
        "| CR, v, 10 runs, default settings |  | 81.65 ± 2.00 % "
        "| 81.57 ± 2.48 %, recorded on cpu |",
    ]


def test_who_measured_is_named_once(rows: list[dict[str, Any]]) -> None:
    assert origin(rows) == (
        "- error, ceiling, pyramid, prediction, training, crossval, accuracy: "
        "measured on a GPU, torch 2.0, commit abc."
    )


def test_what_was_not_measured_anew_stays(folder: Path, rows: list[dict[str, Any]]) -> None:
    (folder / "gpu_pyramid.json").unlink()
    (folder / "gpu_crossval.jsonl").unlink()
    put_lines(folder / "stacked.jsonl", [TRAINING | {"updates_per_s": [9, 400]}])
    write_csv(folder / "gpu.csv", rows_of(folder))
    after = read_csv(folder / "gpu.csv")
    assert [row for row in after if row["what"] != "training"] == [
        row for row in rows if row["what"] != "training"
    ]
    assert [row["median"] for row in after if row["what"] == "training"] == ["400"]


def test_without_rows_the_page_says_so(rows: list[dict[str, Any]]) -> None:
    few = [row for row in rows if row["what"] == "ceiling"]
    assert speed(few) == rates(few) == accuracy(few) == folds(few) == NONE_YET


def test_a_run_goes_into_the_csv_and_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "speed.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.setattr(gpu_results, "CSV", folder / "gpu.csv")
    monkeypatch.setattr(gpu_results, "PAGE", page)
    gpu_results.main([str(folder)])
    made = read_csv(folder / "gpu.csv")
    for name, make in TABLES.items():
        assert f"{name}: made by benchmarks/gpu_results.py -->\n{make(made)}\n" in page.read_text()


def test_the_committed_page_holds_the_committed_rows() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert fill(page, read_csv(CSV)) == page

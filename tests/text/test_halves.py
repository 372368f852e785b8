"""Lone surrogates are kept in a model, and are escapes where UTF-8 is written."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.cli import outputs
from adasent.estimators import answers
from adasent.estimators.registry import SYSTEMS, find, load_estimator
from adasent.text.halves import readable, writable

HALVES = "good \ud800 film \udfff\ud83d"
WRITTEN = "good \\ud800 film \\udfff\\ud83d"
SMALL = {"vector_size": 4, "epochs": 1}


def test_one_length_to_read_and_escapes_to_write() -> None:
    assert readable(HALVES) == "good \ufffd film \ufffd\ufffd"
    assert writable(HALVES) == WRITTEN
    assert readable("a é \U0001f600") == writable("a é \U0001f600") == "a é \U0001f600"


@pytest.mark.parametrize("system", sorted(SYSTEMS))
def test_every_system(system: str, tmp_path: Path) -> None:
    if "paragraph" in system:
        pytest.importorskip("gensim")
    entry = SYSTEMS[system]
    settings: dict[str, Any] = SMALL if entry.by_epochs or "vector" in system else {}
    if system == "mv-recnn":
        from adasent.data.span_parser import N_ROWS, SpanParser

        settings = settings | {"parser": SpanParser(np.zeros(N_ROWS))}
    texts = [HALVES, "bad film", "a good \ud800", "bad \udfff"] * 3
    model = find(system)(**settings).fit(texts, ["a\ud800", "b"] * 6)
    found = model.predict_proba([HALVES, "\ud800"])
    assert np.isfinite(found).all()
    model.save(tmp_path)
    loaded = load_estimator(tmp_path)
    np.testing.assert_allclose(loaded.predict_proba([HALVES, "\ud800"]), found, atol=1e-6)
    assert loaded.classes_.tolist() == ["a\ud800", "b"]


def write(tmp_path: Path, ending: str, values: list[Any], label: str) -> Path:
    path = tmp_path / f"out.{ending}"
    layout = answers.lay_out(["te\ud800xt"], [label], proba=True, typed=True)
    with path.open("wb") as stream:
        writer = outputs.open_writer(outputs.Format(ending), stream, layout)
        writer.write([answers.Answer(0, values, {}, label, 1.0, [1.0])])
        writer.close()
    return path


@pytest.mark.parametrize("value", [HALVES, [HALVES], {"a": HALVES}])
def test_outputs(tmp_path: Path, value: Any) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    line = json.loads(write(tmp_path, "jsonl", [value], HALVES).read_text(encoding="utf-8"))
    assert (line["te\ud800xt"], line["predicted"]) == (value, HALVES)  # JSON can say them
    assert write(tmp_path, "csv", [value], HALVES).read_text(encoding="utf-8").count(WRITTEN) >= 2
    assert WRITTEN in write(tmp_path, "tsv", [value], HALVES).read_text(encoding="utf-8")
    (row,) = parquet.read_table(write(tmp_path, "parquet", [value], HALVES)).to_pylist()
    assert row["predicted"] == WRITTEN
    assert WRITTEN in str(row["te\\ud800xt"]).replace("\\\\", "\\")


def test_commands(run_on_halves: Callable[..., Any], tmp_path: Path) -> None:
    for args in (
        ["data", "stats"],
        ["data", "audit"],
        ["crossval", "--system", "mnb", "--folds", "2"],
    ):
        result = run_on_halves(*args)
        assert result.exit_code == 0, result.output
    assert "\\ud800" in run_on_halves("data", "stats").stdout


@pytest.fixture
def run_on_halves(tmp_path: Path) -> Callable[..., Any]:
    from typer.testing import CliRunner

    from adasent.cli.app import app

    path = tmp_path / "halves.jsonl"
    rows = [{"text": f"{HALVES} {i}", "label": ["a\ud800", "b"][i % 2]} for i in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(*args: str) -> Any:
        place = 2 if args[0] == "data" else 1
        words = [*args[:place], str(path), *args[place:]]
        return CliRunner().invoke(app, words, catch_exceptions=False)

    return run

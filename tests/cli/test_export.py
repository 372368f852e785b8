"""A model on the command line becomes a file for another runtime."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from typer.testing import Result

import adasent
from examples.onnx_predict import Reader, classify

Run = Callable[..., Result]


def test_onnx_with_what_makes_ids_of_texts(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "new" / "small.onnx"
    result = run("export", model, "--format", "onnx", "--out", out, "--texts")
    assert result.exit_code == 0, result.stderr
    written = ["small.onnx", "small.tokenizer.json", "small.vocabulary.json"]
    assert sorted(path.name for path in out.parent.iterdir()) == written
    lines = result.stdout.splitlines()
    assert [line.partition(": ")[0] for line in lines] == [str(out.parent / n) for n in written]
    assert lines[0].endswith(" MB")
    assert [one.name for one in onnx.load(out).graph.output] == [
        "probabilities",
        "beliefs",
        "votes",
        "gates",
    ]


def test_a_trained_model_answers_as_before(
    run: Run, model: Path, tmp_path: Path, reviews: tuple[list[str], list[str]]
) -> None:
    """Its vectors are rounded and its temperature is in the weights: nothing else is to be done."""
    out = tmp_path / "small.onnx"
    assert run("export", model, "--format", "onnx", "--out", out, "--texts").exit_code == 0
    session = onnxruntime.InferenceSession(out, providers=["CPUExecutionProvider"])
    texts = [*reviews[0][:20], "a word nobody knows"]
    read = Reader(out.with_suffix(".tokenizer.json"))
    found = classify(session, [read(text) for text in texts])
    expected = adasent.load(model).predict_proba(texts)
    assert expected.max() > 0.9
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


def test_it_is_named_after_the_model(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("export", model, "--format", "onnx").exit_code == 0
    assert [path.name for path in tmp_path.iterdir()] == [f"{model.name}.onnx"]


def test_a_file_that_is_there_is_kept(run: Run, model: Path, tmp_path: Path) -> None:
    for name in ("small.onnx", "small.vocabulary.json"):
        (tmp_path / "small.onnx").unlink(missing_ok=True)
        (tmp_path / name).write_text("mine")
        args = ("export", model, "--format", "onnx", "--out", tmp_path / "small.onnx", "--texts")
        result = run(*args)
        assert result.exit_code == 1
        assert f"{name} is there already; add --force to replace it" in result.stderr
        assert (tmp_path / name).read_text() == "mine"
    assert run(*args, "--force").exit_code == 0


def test_a_page_in_one_file(run: Run, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "page.html"
    command = ("export", model, "--format", "page", "--out", out)
    result = run(*command, "--name", "Films & plots", "--words", "2")
    assert result.exit_code == 0, result.stderr
    assert re.fullmatch(r".*page\.html: 0\.\d MB; open it in a browser\n", result.stdout)
    known = re.search(r'id="held-known">(.*?)</script>', out.read_text("utf-8"))
    assert known is not None
    values = json.loads(known[1])
    assert (values["name"], values["n_vocabulary"]) == ("Films & plots", 4)
    assert "is there already; add --force" in run(*command).stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--format", "page", "--texts"], "--texts means nothing to --format page"),
        (["--format", "onnx", "--words", "9"], "--words means nothing to --format onnx"),
        (["--format", "onx"], "--format: expected .*onnx.*, got 'onx'"),
        ([], "Missing option '--format'"),
    ],
)
def test_what_cannot_be_written(run: Run, model: Path, arguments: list[str], message: str) -> None:
    result = run("export", model, *arguments)
    assert result.exit_code != 0
    assert re.search(message, result.stderr)


def test_other_systems_are_refused_in_a_line(run: Run, reviews_csv: Path, tmp_path: Path) -> None:
    trained = run("train", reviews_csv, "--system", "mnb", "--out", tmp_path / "mnb", "--quiet")
    assert trained.exit_code == 0, trained.stderr
    result = run("export", tmp_path / "mnb", "--format", "onnx", "--out", tmp_path / "a.onnx")
    assert result.exit_code == 1
    assert "expected a model of AdaSent" in result.stderr
    assert "one of mnb" in result.stderr
    assert len(result.stderr.splitlines()) == 1

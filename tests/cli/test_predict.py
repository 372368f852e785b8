"""Streams of texts through a model."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas
import pytest
from typer.testing import Result

from adasent import AdaSentClassifier
from adasent.cli import outputs, predict

Run = Callable[..., Result]
TEXTS = ["a good film", "the plot was awful", "superb music"]


def test_jsonl_from_standard_input(run: Run, model: Path) -> None:
    result = run("predict", model, stdin="\n".join(TEXTS))
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    shares = AdaSentClassifier.load(model).predict_proba(TEXTS).round(6).max(axis=1).tolist()
    labels = AdaSentClassifier.load(model).predict(TEXTS).tolist()
    assert rows == [
        {"row": i, "text": text, "predicted": label, "confidence": share}
        for i, (text, label, share) in enumerate(zip(TEXTS, labels, shares, strict=True))
    ]
    assert run("predict", model, "-", stdin="\n".join(TEXTS)).stdout == result.stdout
    assert run("predict", model, *TEXTS).stdout == result.stdout  # as arguments


def test_probabilities_in_all_formats(run: Run, model: Path, tmp_path: Path) -> None:
    clf = AdaSentClassifier.load(model)
    expected = clf.predict_proba(TEXTS).round(6)
    stdin = "\n".join(TEXTS)
    lines = run("predict", model, "--proba", stdin=stdin).stdout.splitlines()
    found = [list(json.loads(line)["probabilities"].values()) for line in lines]
    assert found == expected.tolist()
    table = run("predict", model, "--proba", "--format", "tsv", stdin=stdin).stdout.splitlines()
    assert table[0] == "label\tneg\tpos"
    assert [[float(cell) for cell in row.split("\t")[1:]] for row in table[1:]] == expected.tolist()
    for ending, read in {"csv": pandas.read_csv, "parquet": pandas.read_parquet}.items():
        out = tmp_path / f"out.{ending}"
        assert run("predict", model, *TEXTS, "--proba", "--out", out).output == ""
        frame = read(out)
        assert list(frame) == ["row", "text", "predicted", "confidence", "p_neg", "p_pos"]
        assert frame[["p_neg", "p_pos"]].to_numpy().tolist() == expected.tolist()
        assert frame.text.tolist() == TEXTS


ODD = (
    'id;"Review; long";row;label\r\n1;"a; b ""c""";x;pos\r\n\r\n2;;y;\r\n3;"two\nlines, é";;neg\r\n'
)


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A semicolon file with a mark, Windows line ends, a missing text and a column called row."""
    path = tmp_path / "odd.csv"
    path.write_bytes(("\ufeff" + ODD).encode())
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_columns_that_came_stand_beside_the_answers(
    run: Run, model: Path, odd: Path, tmp_path: Path, ending: str
) -> None:
    out = tmp_path / f"out.{ending}"
    result = run("predict", model, odd, "--text", "Review; long", "--out", out)
    assert result.exit_code == 0, result.stderr
    assert result.stderr == (
        "columns: text from 'Review; long'; semicolon between fields\n"
        "warning: 1 of 3 rows have no text and got no label\n"
    )
    read = {
        "csv": lambda: pandas.read_csv(out, dtype=str, keep_default_na=False),
        "jsonl": lambda: pandas.read_json(out, lines=True, dtype=False),
        "parquet": lambda: pandas.read_parquet(out),
    }
    frame = read[ending]()
    names = ["row_2", "id", "Review; long", "row", "label", "predicted", "confidence"]
    assert list(frame) == names
    before = pandas.read_csv(odd, sep=";", dtype=str, keep_default_na=False)
    for name in before:
        assert frame[name].tolist() == before[name].tolist()
    assert [int(row) for row in frame["row_2"]] == before.index.tolist()
    labels = AdaSentClassifier.load(model).predict(['a; b "c"', "two\nlines, é"]).tolist()
    assert [frame.predicted[0], frame.predicted[2]] == labels
    assert not frame.predicted[1] or pandas.isna(frame.predicted[1])


def test_id_alone_is_kept(run: Run, model: Path, odd: Path) -> None:
    args = ("predict", model, odd, "--text", "Review; long", "--id", "id", "--quiet")
    rows = [json.loads(line) for line in run(*args).stdout.splitlines()]
    assert [set(row) for row in rows] == [{"row", "id", "predicted", "confidence"}] * 3
    assert [row["id"] for row in rows] == ["1", "2", "3"]


def test_types_of_json_and_parquet_stay(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    lines = [
        {"text": "good", "n": 1, "tags": ["a"]},
        {"text": "bad", "n": None, "tags": [], "x": 2},
    ]
    data.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    back = run("predict", model, data).stdout.splitlines()
    for line, row in zip(lines, map(json.loads, back), strict=True):
        assert line.items() <= row.items()
    out = tmp_path / "out.parquet"
    result = run("predict", model, data, "--out", out)
    assert "1 lines have keys that the first line does not have ('x')" in result.stderr
    frame = pandas.read_parquet(out)
    assert (frame.n[0], list(frame.tags[0])) == (1, ["a"])
    again = tmp_path / "again.parquet"
    assert run("predict", model, out, "--out", again).exit_code == 0
    twice = pandas.read_parquet(again)
    assert list(twice)[-2:] == ["predicted_2", "confidence_2"]
    assert twice.predicted.tolist() == twice.predicted_2.tolist()


def test_standard_input_as_a_table(run: Run, model: Path) -> None:
    stdin = "id;body\n1;good, film\n2;bad\n"
    rows = run("predict", model, "-", "--text", "body", stdin=stdin).stdout.splitlines()
    assert [json.loads(row)["body"] for row in rows] == ["good, film", "bad"]


def test_several_files(run: Run, model: Path, tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text(f"text\n{name}\n{name}{name}\n", encoding="utf-8")
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    rows = [json.loads(row) for row in run("predict", model, *files).stdout.splitlines()]
    assert [(row["file"], row["row"], row["text"]) for row in rows] == [
        (str(files[0]), 0, "a"), (str(files[0]), 1, "aa"),
        (str(files[1]), 0, "b"), (str(files[1]), 1, "bb"),
    ]  # fmt: skip
    files[1].write_text("words\nx\n", encoding="utf-8")
    other = run("predict", model, *files, "--out", tmp_path / "out.csv")
    assert other.exit_code == 1
    assert not list(tmp_path.glob("*out*"))


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["gone.csv"], "error: no file called 'gone.csv'"),
        (["a good film", "--text", "x"], "error: --text: it describes a file"),
        (["a good film", "--format", "parquet"], "give --out FILE"),
        (["a good film", "--out", "x.doc"], "the ending tells no format"),
        (["a good film", "--id", "x"], "plain lines have no columns"),
    ],
)
def test_what_is_refused(
    run: Run,
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    args: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("predict", model, *args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_texts_and_files_are_not_mixed(run: Run, model: Path, odd: Path) -> None:
    result = run("predict", model, odd, "a good film")
    assert "expected texts or files, got both" in result.stderr


# -- --out: whole or not at all ------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_an_error_leaves_nothing_and_what_was_there(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    monkeypatch.setattr(predict, "_CHUNK", 2)
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "good"}\n' * 5 + "broken\n", encoding="utf-8")
    out = tmp_path / "folder" / f"out.{ending}"
    assert run("predict", model, data, "--out", out).exit_code == 1
    assert list(out.parent.iterdir()) == []
    out.write_text("old")
    assert "add --force" in run("predict", model, "good", "--out", out).stderr
    assert run("predict", model, data, "--out", out, "--force").exit_code == 1
    assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert out.read_text() == "old"
    assert run("predict", model, "good", "--out", out, "--force").exit_code == 0
    assert out.read_bytes() != b"old"


def test_a_type_that_changes_later_is_an_error_of_parquet_alone(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(predict, "_CHUNK", 2)
    data = tmp_path / "d.jsonl"
    rows: list[dict[str, object]] = [{"text": "good", "n": n} for n in (1, 2, 3, "many")]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    result = run("predict", model, data, "--out", tmp_path / "out.parquet")
    assert result.exit_code == 1
    assert "rows 2 to 3: column 'n' does not hold int64 alone" in result.stderr
    assert list(tmp_path.iterdir()) == [data]
    assert run("predict", model, data, "--out", tmp_path / "out.csv").exit_code == 0
    assert pandas.read_csv(tmp_path / "out.csv").n.tolist() == ["1", "2", "3", "many"]


def test_whole_numbers_beyond_64_bits(run: Run, model: Path, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    data, out = tmp_path / "data.jsonl", tmp_path / "out.parquet"
    rows = [{"text": "a", "n": 2**70}, {"text": "b", "n": 1}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert run("predict", model, data, "--out", out).exit_code == 0
    assert pandas.read_parquet(out)["n"].tolist() == [str(2**70), "1"]
    rows = [{"text": "a", "n": 1}] * 1024 + [{"text": "b", "n": 2**70}]
    data.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("predict", model, data, "--out", out, "--force")
    assert result.exit_code == 1
    assert "column 'n' does not hold int64 alone" in result.stderr


def test_what_formats_cannot_hold(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    data.write_text('{"text": "half \\ud83d", "x": [1, "a"], "y": NaN}\n', encoding="utf-8")
    found = json.loads(run("predict", model, data).stdout)
    assert (found["text"], found["x"], found["y"]) == ("half \ud83d", [1, "a"], None)
    out = tmp_path / "out.parquet"
    assert run("predict", model, data, "--out", out).exit_code == 0
    frame = pandas.read_parquet(out)
    assert (frame.text[0], frame.x[0]) == ("half \\ud83d", '[1, "a"]')


def test_ctrl_c_leaves_nothing(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    code = "from adasent.cli import main; main()"
    args = [sys.executable, "-c", code, "predict", str(model), "-", "--out", str(out)]
    with subprocess.Popen(args, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"a good film\n" * 5000)
        process.stdin.flush()
        while not any(path.stat().st_size for path in tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130
    assert stderr == b"interrupted\n"
    assert list(tmp_path.iterdir()) == []


def test_a_device_is_written_to(run: Run, model: Path) -> None:
    assert run("predict", model, "good", "--out", "/dev/null", "--format", "csv").exit_code == 0


def test_tsv_has_a_line_a_text_whatever_is_in_it(run: Run, model: Path, tmp_path: Path) -> None:
    data = tmp_path / "d.jsonl"
    texts = ["tab\there", "line\nbreak", "\x00", "\U0001f600", "plain"]
    data.write_text("".join(json.dumps({"body": t}) + "\n" for t in texts), encoding="utf-8")
    result = run("predict", model, data, "--format", "tsv", "--text", "body")
    assert result.exit_code == 0, result.stderr
    assert len(result.stdout.splitlines()) == len(texts)
    assert set(result.stdout.split()) <= {"pos", "neg"}


def test_chunks_change_nothing_and_odd_texts_are_told_once(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin = "\n".join([*TEXTS, "", "good " * 31, "", "end"])
    whole = run("predict", model, stdin=stdin)
    assert whole.stderr == (
        "warning: of 7 texts: 1 longer than max_words=30, cut there; "
        "2 without a word, read as one unknown word\n"
    )
    monkeypatch.setattr(predict, "_CHUNK", 2)
    parts = run("predict", model, stdin=stdin)
    assert parts.stdout == whole.stdout
    assert parts.stderr == whole.stderr


def test_output_comes_before_the_input_ends(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "d.jsonl"
    lines = [json.dumps({"text": "good"})] * 5 + ["broken"]
    data.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(predict, "_CHUNK", 2)
    result = run("predict", model, data)
    assert result.exit_code == 1
    assert len(result.stdout.splitlines()) == 4
    assert "line 6: not valid JSON" in result.stderr


def test_nothing_in_nothing_out(run: Run, model: Path) -> None:
    result = run("predict", model, stdin="")
    assert (result.exit_code, result.output) == (0, "")
    assert run("predict", model, "--format", "csv", stdin="").stdout == (
        "row,text,predicted,confidence\n"
    )


@pytest.mark.parametrize(
    ("label", "key", "cell"),
    [
        ("a\tb\\\n", "a\tb\\\n", "a\\tb\\\\\\n"),
        (True, "true", "true"),
        (3, "3", "3"),
        ("\ud800", "\ud800", "\\ud800"),
    ],
)
def test_labels_of_any_kind(label: object, key: str, cell: str) -> None:
    layout = outputs.lay_out(["text"], [label], proba=True)
    answer = outputs.Answer(0, ["t"], {}, label, 1.0, [1.0])
    written = {}
    for kind in ("jsonl", "tsv"):
        stream = io.BytesIO()
        outputs.open_writer(outputs.Format(kind), stream, layout).write([answer])
        written[kind] = stream.getvalue().decode()
    found = json.loads(written["jsonl"])
    assert (found["predicted"], found["probabilities"]) == (label, {key: 1.0})
    assert written["tsv"] == f"label\t{cell}\n{cell}\t1.000000\n"


def test_a_terminal_without_a_file_is_a_usage_error(
    run: Run, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "from adasent.cli import main; main()"
    controller, terminal = os.openpty()
    with os.fdopen(controller), os.fdopen(terminal) as stdin:
        done = subprocess.run(
            [sys.executable, "-c", code, "predict", str(model)],
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert "standard input is a terminal" in done.stderr
    assert done.stderr.count("\n") == 1

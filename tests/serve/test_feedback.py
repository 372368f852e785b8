"""Labels put right: what is stored, what is refused, and that the next training reads the file."""

from __future__ import annotations

import csv
import errno
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from adasent.data import load
from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.serve.feedback import COLUMNS, FeedbackFile
from adasent.serve.limits import Limits

#: Texts that CSV files are lost on.
ODD = ['a "good", bad\nfilm; =1+1\r\n', "=SUM(A1)", "  café 😀 ", "\ufeffbom", "not,one\tcell"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "wrong.csv"


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def send(client: TestClient, text: Any, label: Any) -> tuple[int, dict[str, Any]]:
    answer = client.post("/v1/feedback", json={"text": text, "label": label})
    return answer.status_code, answer.json()


def test_a_row_has_the_label_and_what_the_model_said(
    make_client: Callable[..., TestClient], predictor: Predictor, path: Path
) -> None:
    with make_client(feedback=FeedbackFile(path)) as client:
        status, answer = send(client, "I am not happy", "neither")
        assert client.get("/v1/model").json()["feedback"] is True
    (shares,) = predictor.predict_proba(["I am not happy"])
    assert status == 200
    assert answer["predicted"] == predictor.classes_[shares.argmax()]
    assert answer["probability"] == pytest.approx(shares.max(), abs=1e-6)
    head, (text, label, predicted, probability, time) = rows(path)
    assert tuple(head) == COLUMNS
    assert (text, label, predicted) == ("I am not happy", "neither", answer["predicted"])
    assert float(probability) == pytest.approx(shares.max(), abs=1e-5)
    assert datetime.fromisoformat(time).utcoffset() == timedelta(0)


def test_training_finds_the_columns_and_the_texts_as_they_were(
    make_client: Callable[..., TestClient], path: Path
) -> None:
    with make_client(feedback=FeedbackFile(path)) as client:
        for text in ODD:
            assert send(client, text, "neither")[0] == 200
    corpus = load(path)
    assert (corpus.texts, corpus.labels) == (ODD, ["neither"] * len(ODD))


def test_without_a_file_there_is_no_such_endpoint(client: TestClient) -> None:
    assert send(client, "a", "neither") == (404, {"error": "POST /v1/feedback: Not Found"})
    assert client.get("/v1/model").json()["feedback"] is False
    assert "/v1/feedback" not in client.get("/openapi.json").json()["paths"]


@pytest.mark.parametrize(
    ("text", "label", "status", "reason"),
    [
        ("a", "odd", 422, "label: expected one of the classes, got 'odd'"),
        ("a", 1, 422, "label: expected a string"),
        (" ", "neither", 422, "text is blank; expected a text"),
        (None, "neither", 422, "text: expected a string"),
        ("a" * 21, "neither", 413, "text: expected at most 20 characters"),
    ],
)
def test_bad_rows_are_refused_and_not_stored(
    make_client: Callable[..., TestClient],
    path: Path,
    text: Any,
    label: Any,
    status: int,
    reason: str,
) -> None:
    with make_client(Limits(max_chars=20), feedback=FeedbackFile(path)) as client:
        assert send(client, text, label) == (status, {"error": reason})
        assert client.post("/v1/feedback", json={"text": "a"}).json() == {
            "error": 'expected {"text": "...", "label": ...}'
        }
    assert len(rows(path)) == 1


def test_feedback_waits_at_the_gate(make_client: Callable[..., TestClient], path: Path) -> None:
    with make_client(Limits(max_pending=1), feedback=FeedbackFile(path)) as client:
        with client.app.state.service.gate.admit():
            assert send(client, "a", "neither")[0] == 503
        assert send(client, "a", "neither")[0] == 200


def test_rows_of_several_writers_stay_whole(path: Path) -> None:
    text = "a line\nand another, " * 200

    def write(i: int) -> None:
        FeedbackFile(path).add(text, i, "x", 0.5)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(40)))
    head, *found = rows(path)
    assert tuple(head) == COLUMNS
    assert sorted(int(row[1]) for row in found) == list(range(40))
    assert {row[0] for row in found} == {text}


def test_a_service_that_starts_again_goes_on(path: Path) -> None:
    FeedbackFile(path).add("one", 1, 0, 0.9)
    path.write_bytes(path.read_bytes().removesuffix(b"\n"))  # as some editors leave it
    FeedbackFile(path).add("two", 1, 0, 0.9)
    assert [row[0] for row in rows(path)] == ["text", "one", "two"]


@pytest.mark.parametrize("content", ["text,label\ngood,1\n", "a line\n"])
def test_a_file_of_something_else_is_refused(path: Path, content: str) -> None:
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"expected a file with the columns text,label,predicted"):
        FeedbackFile(path)
    assert path.read_text(encoding="utf-8") == content


def test_a_name_that_training_would_not_take(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"ends in \.csv"):
        FeedbackFile(tmp_path / "wrong.txt")


def test_a_full_disk_leaves_whole_rows_and_is_told(
    make_client: Callable[..., TestClient], path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feedback = FeedbackFile(path)
    feedback.add("one", "neither", "neither", 0.9)
    before = path.read_bytes()

    class Full:
        """The file, on a disk with room for three bytes more."""

        def __init__(self, file: Any) -> None:
            self.file = file
            self.room = 3

        def __enter__(self) -> Full:
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def __getattr__(self, name: str) -> Any:
            return getattr(self.file, name)

        def write(self, data: bytes) -> int:
            if not self.room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            written: int = self.file.write(data[: self.room])
            self.room -= written
            return written

    opened = Path.open
    with make_client(feedback=feedback) as client:
        monkeypatch.setattr(Path, "open", lambda *args, **more: Full(opened(*args, **more)))
        status, answer = send(client, "two", "neither")
        monkeypatch.undo()
    assert status == 500
    assert answer["error"].startswith("not stored: ")
    assert path.read_bytes() == before


def test_labels_that_utf_8_has_no_place_for(path: Path) -> None:
    FeedbackFile(path).add("film", "a", "half \ud800", 0.5)
    assert "film,a,half \\ud800,0.5" in path.read_text(encoding="utf-8")

"""Several labels in a cell: separators, lists, none, and what cannot be told apart."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from adasent.data import load
from adasent.data.label_cells import label_list
from adasent.errors import ConfigError, DataError


@pytest.mark.parametrize(
    ("value", "separator", "expected"),
    [
        ("joy | 😢 sad|joy", "|", ("joy", "😢 sad")),
        ("joy", "|", ("joy",)),
        ("", "|", ()),
        (None, "|", ()),
        (float("nan"), "|", ()),
        (3, "|", (3,)),
        ("joy | sad", None, None),
        (["a", "b", "a"], None, ("a", "b")),
        ([], None, ()),
    ],
)
def test_a_cell(value: Any, separator: str | None, expected: Any) -> None:
    assert label_list(value, separator, "here") == expected


def test_what_is_no_label_is_refused() -> None:
    for value in ([None], [["a"]], [float("nan")]):
        with pytest.raises(DataError, match="here: expected strings"):
            label_list(value, None, "here")


def test_a_csv_with_a_separator(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("text,label\na b,1;2\nc,\nd,2\n", encoding="utf-8")
    corpus = load(path, label_separator=";")
    assert corpus.labels == [(1, 2), (), (2,)]
    assert corpus.multilabel
    assert corpus.classes == [1, 2]
    with pytest.raises(DataError, match="one label a text"):
        corpus.need_one_label("cross-validation")


def test_json_lines_with_lists(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    rows = [{"text": "a", "label": ["x", "y"]}, {"text": "b", "label": []}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert load(path).labels == [("x", "y"), ()]
    path.write_text(path.read_text() + '{"text": "c", "label": "x"}\n', encoding="utf-8")
    with pytest.raises(DataError, match="a list of labels in 2 rows, and a single label in 1"):
        load(path)


def test_a_registered_set_has_no_separator() -> None:
    with pytest.raises(ConfigError, match="registry set"):
        load("MR", label_separator="|")

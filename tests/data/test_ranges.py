"""Ranges of a file give the rows, numbers and messages that the whole file gives."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from adasent.data import ranges
from adasent.data.ranges import cut_file, open_range
from adasent.data.tables import How, Row, open_table
from adasent.errors import DataError

CSV = (
    "\n\nid,text\n1,plain\n\n"
    '2,"two\nlines"\n3,"a ""quoted"" word"\n   \n4,5" disk\n5,\n6,"é, ü"\n7,last\n\n'
)


def whole(path: Path, how: How) -> tuple[list[str], list[Row]]:
    with open_table(path, how, plain=True) as table:
        return table.columns, list(table.rows)


def in_ranges(path: Path, how: How, rows: int) -> tuple[list[str], list[Row], int]:
    found: list[Row] = []
    parts = list(cut_file(path, how, "v1", rows))
    for one in parts:
        with open_range(one, path, how) as table:
            own = list(table.rows)
            assert one.n_rows in (None, len(own))
            assert not own or own[0].number == one.row
            found += own
    return table.columns, found, len(parts)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
@pytest.mark.parametrize(
    ("name", "body", "how", "n_rows"),
    [
        ("a.csv", CSV.encode(), How(), 7),
        ("mark.csv", b"\xef\xbb\xbf" + CSV.lstrip().encode(), How(), 7),
        ("windows.csv", CSV.replace("\n", "\r\n").encode(), How(), 7),
        ("latin.csv", CSV.encode("cp1252"), How("cp1252"), 7),
        ("semi.csv", "text§n\nä§1\n".encode() + "ö§2\n".encode(), How(delimiter="§"), 2),
        ("a.tsv", b'text\tn\n"a\t1\n\nb"\t2\n\t\n', How(), 3),
        ("a.jsonl", b'{"text": "a", "n": 1}\n \n{"n": 2}\n{"text": "c", "x": [1]}', How(), 3),
        ("a.txt", "one\n\n\u3000\nfour".encode(), How(), 4),
        ("a.ft", b"__label__a one\n\n__label__b two\n", How(), 2),
        ("empty.csv", b"", How(), 0),
        ("header.csv", b"text,n\n", How(), 0),
    ],
)
def test_text_files(
    tmp_path: Path, name: str, body: bytes, how: How, n_rows: int, rows: int
) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    columns, expected = whole(path, how)
    assert len(expected) == n_rows
    found = in_ranges(path, how, rows)
    assert found[:2] == (columns, expected)
    assert found[2] >= max(1, n_rows // rows)


@pytest.mark.parametrize(
    ("name", "body", "encoding"),
    [
        ("a.csv.gz", gzip.compress(CSV.encode()), "utf-8"),
        ("wide.csv", CSV.encode("utf-16"), "utf-8"),
        ("mac.csv", b"text,n\ra,1\rb,2\r", "utf-8"),
    ],
)
def test_what_cannot_be_cut_is_one_range(
    tmp_path: Path, name: str, body: bytes, encoding: str
) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    columns, expected = whole(path, How(encoding))
    assert in_ranges(path, How(encoding), 1) == (columns, expected, 1)


@pytest.mark.parametrize("rows", [1, 3, 4, 7, 100])
def test_parquet_is_cut_by_rows(tmp_path: Path, rows: int) -> None:
    path = tmp_path / "a.parquet"
    table = pyarrow.table({"text": [f"t{i}" for i in range(11)], "n": range(11)})
    pyarrow.parquet.write_table(table, path, row_group_size=4)
    columns, expected = whole(path, How())
    assert in_ranges(path, How(), rows) == (columns, expected, -(-11 // rows))


def test_long_rows_make_short_ranges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranges, "_MAX_BYTES", 100)
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"text": "x" * 60}) + "\n" for _ in range(6)))
    assert in_ranges(path, How(), 1000)[1:] == (whole(path, How())[1], 3)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("a.csv", b"text,n\na,1\nb,2\nc,3,4\nd,5\n"),
        ("a.csv", b"text\na\nb\nc\xff\nd\n"),
        ("a.jsonl", b'{"text": "a"}\n\n{"text": "b"}\n[1]\n'),
        ("a.jsonl", b'{"text": "a"}\n{"text": "b"}\n{"text"\n'),
        ("a.ft", b"__label__a x\n__label__b y\nno label\n"),
    ],
)
def test_messages_name_the_same_row(tmp_path: Path, name: str, body: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(body)
    with pytest.raises(DataError) as expected:
        whole(path, How())
    with pytest.raises(DataError) as found:
        in_ranges(path, How(), 1)
    assert str(found.value) == str(expected.value)


def test_a_range_of_text_is_known_by_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"text\na\nb\nc\nd\n")
    before = [one.identity for one in cut_file(path, How(), "v1", 2)]
    path.write_bytes(b"text\na\nb\nc\nDD\n")
    after = [one.identity for one in cut_file(path, How(), "v2", 2)]
    assert (before[0] == after[0], before[1] == after[1]) == (True, False)

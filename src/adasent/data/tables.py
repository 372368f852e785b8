"""Reads files row by row: the number of a row and the values of chosen columns.

A row number is the physical line that the row starts on, counted from 1 (in Parquet the row
itself, counted from 1). Memory does not grow with the file. A blank line comes out as None, so
that the caller can count it.
"""

from __future__ import annotations

import codecs
import csv
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TypeAlias

from adasent.errors import ConfigError, DataError, require

Choose: TypeAlias = Callable[[Sequence[str]], list[str]]
"""Takes the columns there are, returns the ones to read; raises DataError if it cannot."""

Rows: TypeAlias = Iterator[tuple[int, list[Any] | None]]

STDIN = Path("-")

# Larger than any line that fits in memory on a 32-bit C long.
_NO_LIMIT = 2**31 - 1
_BATCH = 4096
_FASTTEXT = re.compile(r"__label__([^ \t]*)[ \t]*(.*)", re.DOTALL)
_SECOND_LABEL = re.compile(r"(?:^|[ \t])__label__")


@contextmanager
def open_lines(path: Path, encoding: str = "utf-8") -> Iterator[Iterator[str]]:
    """The decoded lines of a file, or of standard input for ``Path("-")``.

    A line ends at "\\n" only and keeps it; a byte order mark is dropped. DataError says that the
    file cannot be opened, or, while reading, where it has bytes that are not in the encoding.
    """
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        codec = "utf-8-sig" if is_utf8 else encoding
        if path == STDIN:
            stream = TextIOWrapper(sys.stdin.buffer, encoding=codec, newline="\n")
        else:
            stream = path.open(encoding=codec, newline="\n")
    except LookupError as error:
        raise ConfigError(
            f"unknown text encoding {encoding!r}; use a name such as 'utf-8', 'cp1252', 'latin-1'"
        ) from error
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    try:
        yield _decoded(stream, path, encoding)
    finally:
        if path == STDIN:
            stream.detach()  # closing the wrapper would close standard input itself
        else:
            stream.close()


def _decoded(stream: TextIOWrapper, path: Path, encoding: str) -> Iterator[str]:
    n_lines = 0
    try:
        for line in stream:
            n_lines += 1
            yield line
    except UnicodeDecodeError as error:
        # Lines before the bad byte but in the same block were not yielded yet.
        bad_line = n_lines + 1 + error.object[: error.start].count(b"\n")
        raise DataError(
            f"{path}, line {bad_line}: byte 0x{error.object[error.start]:02x} is not {encoding}; "
            "save the file as UTF-8 or name its encoding, such as encoding='cp1252'"
        ) from error


def bare(line: str) -> str:
    """The line without its end: one "\\n" and one "\\r" before it."""
    return line.removesuffix("\n").removesuffix("\r")


def csv_rows(path: Path, choose: Choose, encoding: str) -> Rows:
    """Comma-separated values with a header; quoted fields may span lines."""
    with open_lines(path, encoding) as lines:
        yield from _chosen(path, _csv_records(path, lines), choose)


def tsv_rows(path: Path, choose: Choose, encoding: str) -> Rows:
    """Tab-separated values with a header; a line is a row and quotes are plain characters."""
    with open_lines(path, encoding) as lines:
        records = (
            (n, text.split("\t") if (text := bare(line)) else [])
            for n, line in enumerate(lines, start=1)
        )
        yield from _chosen(path, records, choose)


def _csv_records(path: Path, lines: Iterator[str]) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, strict=True)
    while True:
        first_line = reader.line_num + 1
        # The limit is global to the process: lifted for one step and put back.
        limit = csv.field_size_limit(_NO_LIMIT)
        try:
            record = next(reader, None)
        except csv.Error as error:
            raise DataError(
                f"{path}, line {first_line}: the row that starts here is not valid CSV ({error}); "
                "a field that holds quotes or line breaks must be quoted, its quotes doubled"
            ) from error
        finally:
            csv.field_size_limit(limit)
        if record is None:
            return
        yield first_line, record


def _chosen(path: Path, records: Iterable[tuple[int, list[str]]], choose: Choose) -> Rows:
    """Take the first record as header and cut the others down to the chosen columns."""
    positions: list[int] | None = None
    columns: list[str] = []
    for number, record in records:
        if not record:
            yield number, None
        elif positions is None:
            columns = record
            positions = [columns.index(name) for name in choose(columns)]
        elif len(record) != len(columns):
            raise DataError(
                f"{path}, line {number}: expected {len(columns)} fields as in the header, "
                f"got {len(record)}; quote fields that hold the separator"
            )
        else:
            yield number, [record[i] for i in positions]


def jsonl_rows(path: Path, choose: Choose, encoding: str) -> Rows:
    """One JSON object a line; the columns are the keys of the first one."""
    names: list[str] | None = None
    with open_lines(path, encoding) as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                yield number, None
                continue
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise DataError(f"{path}, line {number}: not valid JSON ({error})") from error
            if not isinstance(value, dict):
                raise DataError(
                    f"{path}, line {number}: expected a JSON object, got {type(value).__name__}"
                )
            if names is None:
                names = choose(list(value))
            yield number, [value.get(name) for name in names]


def parquet_rows(path: Path, choose: Choose, encoding: str) -> Rows:
    """Columns of a Parquet file, read a batch at a time; strings in it are always UTF-8."""
    parquet = require("pyarrow.parquet", "tables", "reading Parquet")
    arrow = require("pyarrow", "tables", "reading Parquet")
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            names = choose(file.schema_arrow.names)
            for batch in file.iter_batches(batch_size=_BATCH, columns=names):
                columns = [batch.column(name).to_pylist() for name in names]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, list(values)
    except (arrow.ArrowException, OSError, UnicodeDecodeError) as error:
        raise DataError(f"cannot read {path} as Parquet after row {number}: {error}") from error


def fasttext_rows(path: Path, choose: Choose, encoding: str) -> Rows:
    """fastText lines, ``__label__x some text``, as [text, label]; there is nothing to choose."""
    with open_lines(path, encoding) as lines:
        for number, line in enumerate(lines, start=1):
            yield number, parse_fasttext(f"{path}, line {number}", bare(line))


def parse_fasttext(where: str, line: str) -> list[Any] | None:
    """[text, label] of one line, None for a blank one; the text may be empty."""
    if not line.strip():
        return None
    match = _FASTTEXT.match(line)
    if match is None or not match[1]:
        raise DataError(f"{where}: expected '__label__NAME text', got {line[:40]!r}")
    if _SECOND_LABEL.search(match[2]):
        raise DataError(f"{where}: more than one __label__; one label a text is supported")
    return [match[2], match[1]]


TABLES: dict[str, Callable[[Path, Choose, str], Rows]] = {
    ".csv": csv_rows,
    ".tsv": tsv_rows,
    ".tab": tsv_rows,
    ".jsonl": jsonl_rows,
    ".ndjson": jsonl_rows,
    ".parquet": parquet_rows,
    ".pq": parquet_rows,
    ".ft": fasttext_rows,
    ".fasttext": fasttext_rows,
}
UNTYPED = {".csv", ".tsv", ".tab"}
PLAIN = {".txt", ""}

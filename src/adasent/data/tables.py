"""Reads files of every format row by row, with all their columns.

A row is counted from 0 as pandas counts what it reads of the same file: the header and blank lines
are no rows (but of Excel, where a blank line between others is one). Beside it stands the physical
line that the row starts on, counted from 1 (in Excel the row of the sheet). Memory does not grow
with the file.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, TypeAlias

from adasent.data.delimiters import NAMES, NONE, find_delimiter, parse_delimiter
from adasent.data.excel import open_excel
from adasent.data.opening import STDIN, Lines, bare, is_packed, open_lines
from adasent.data.table import How as How
from adasent.data.table import LineFormat as LineFormat
from adasent.data.table import Row as Row
from adasent.data.table import Table as Table
from adasent.data.table import kind_of as kind_of
from adasent.errors import ConfigError, DataError, require, setting
from adasent.text.unpacking import check_size

# Larger than any line that fits in memory on a 32-bit C long.
_NO_LIMIT = 2**31 - 1
_BATCH = 4096
_FASTTEXT = re.compile(r"__label__([^ \t]*)[ \t]*(.*)", re.DOTALL)
_SECOND_LABEL = re.compile(r"(?:^|[ \t])__label__")


Opener: TypeAlias = Callable[[Path, How], AbstractContextManager[Table]]


def open_table(path: Path, how: How, *, plain: bool = False) -> AbstractContextManager[Table]:
    """Open a file in the format that its name, or else its first line, tells.

    Parameters
    ----------
    path, how
        The file, or "-" for standard input, and what the user says of it.
    plain
        Take a text file, and standard input, as plain lines with a text each; otherwise it must be
        in the format of fastText.
    """
    kind = kind_of(path)
    if how.sheet is not None and kind not in EXCEL:
        raise ConfigError(f"{setting('sheet')}: {path} is no Excel file; leave it out")
    if how.delimiter is not None or (path == STDIN and how.table):
        if kind in TABLES and kind not in DELIMITED:
            raise ConfigError(f"{setting('delimiter')}: {path} has no delimiter; leave it out")
        return _csv_table(path, how)
    if path == STDIN:
        return _plain_table(path, how)
    if kind in TABLES:
        return TABLES[kind](path, how)
    if _starts_with_label(path, how) or (kind in PLAIN and not plain):
        return _fasttext_table(path, how)
    if kind in PLAIN:
        return _plain_table(path, how)
    endings = ", ".join(sorted({*TABLES, *PLAIN} - {""}))
    more = {
        ".json": "; a file with one JSON object a line should end in .jsonl",
        ".xls": "; save an old Excel file as .xlsx",
    }
    raise DataError(
        f"{path}: unknown format; expected a file ending in {endings}{more.get(kind, '')}"
    )


def _starts_with_label(path: Path, how: How) -> bool:
    """Whether an unknown file is fastText; bytes that do not decode mean that it is not."""
    try:
        with open_lines(path, how.encoding, how.source) as lines:
            return next(lines, "").startswith("__label__")
    except DataError:
        if not path.is_file() or is_packed(path):
            raise
        return False


# -- CSV and TSV ---------------------------------------------------------------------------------


@contextmanager
def _csv_table(path: Path, how: How) -> Iterator[Table]:
    """Separated values with a header; quoted fields may span lines."""
    with open_lines(path, how.encoding, how.source) as opened:
        lines: Iterator[str] = opened
        notes = _encoding_note(opened)
        if how.delimiter is None:
            delimiter, lines = find_delimiter(opened)
            if delimiter not in (",", NONE):
                notes.append(f"{NAMES[delimiter]} between fields")
        else:
            delimiter = parse_delimiter(how.delimiter)
        table = _with_header(path, _csv_records(path, lines, delimiter), notes)
        table.lines = LineFormat("csv", opened.encoding, opened.line_end, delimiter)
        yield table


@contextmanager
def _tsv_table(path: Path, how: How) -> Iterator[Table]:
    """Tab-separated values with a header; a line is a row and quotes are plain characters."""
    with open_lines(path, how.encoding, how.source) as lines:
        table = _with_header(path, _tsv_records(lines), _encoding_note(lines))
        table.lines = LineFormat("tsv", lines.encoding, lines.line_end)
        yield table


def _tsv_records(lines: Iterator[str], before: int = 0) -> Iterator[tuple[int, list[str]]]:
    for n, line in enumerate(lines, start=before + 1):
        text = bare(line)
        yield n, text.split("\t") if text else []


def _encoding_note(lines: Lines) -> list[str]:
    return [] if lines.encoding == "utf-8" else [lines.encoding.upper()]


def _csv_records(
    path: Path, lines: Iterator[str], delimiter: str, before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        first_line = before + reader.line_num + 1
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


def _with_header(path: Path, records: Iterator[tuple[int, list[str]]], notes: list[str]) -> Table:
    """Take the first record that is not blank as header."""
    n_blank = 0
    columns: list[str] = []
    for _, columns in records:
        if not _is_blank(columns):
            break
        n_blank += 1
        columns = []
    table = Table(
        path, columns, iter(()), notes, typed=False, blank_is_missing=True, n_blank=n_blank
    )
    table.rows = _records_as_rows(table, records)
    return table


def _records_as_rows(
    table: Table, records: Iterator[tuple[int, list[str]]], number: int = 0
) -> Iterator[Row]:
    n_columns = len(table.columns)
    for line, record in records:
        if _is_blank(record):
            table.n_blank += 1
        elif len(record) != n_columns:
            raise DataError(
                f"{table.path}, line {line}: expected {n_columns} fields as in the header, got "
                f"{len(record)}; quote fields that hold the separator, or name another with "
                f"{setting('delimiter', 'CHAR')}"
            )
        else:
            yield Row(number, line, list(record), {})
            number += 1


def _is_blank(record: Sequence[str]) -> bool:
    """Whether a record is a line of nothing but white space; a quoted empty field is not."""
    return not record or (len(record) == 1 and record[0] != "" and not record[0].strip())


# -- other formats -------------------------------------------------------------------------------


@contextmanager
def _jsonl_table(path: Path, how: How) -> Iterator[Table]:
    """One JSON object a line; the columns are the keys of the first one."""
    with open_lines(path, how.encoding, how.source) as lines:
        table = Table(path, [], iter(()), _encoding_note(lines))
        table.lines = LineFormat("jsonl", lines.encoding, lines.line_end)
        objects = _json_objects(table, lines)
        first = next(objects, None)
        if first is not None:
            table.columns = list(first[1])
        table.rows = _objects_as_rows(table, first, objects)
        yield table


def _json_objects(
    table: Table, lines: Iterator[str], before: int = 0
) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=before + 1):
        if not line.strip():
            table.n_blank += 1
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{table.path}, line {number}: not valid JSON ({error})") from error
        if not isinstance(value, dict):
            raise DataError(
                f"{table.path}, line {number}: expected a JSON object, got {type(value).__name__}"
            )
        yield number, value


def _objects_as_rows(
    table: Table,
    first: tuple[int, dict[str, Any]] | None,
    others: Iterator[tuple[int, dict[str, Any]]],
    number: int = 0,
) -> Iterator[Row]:
    known = set(table.columns)
    while first is not None:
        line, value = first
        extra = {} if value.keys() <= known else {k: v for k, v in value.items() if k not in known}
        yield Row(number, line, [value.get(name) for name in table.columns], extra)
        number += 1
        first = next(others, None)


@contextmanager
def open_parquet(
    path: Path, how: How, first: int = 0, n_rows: int | None = None
) -> Iterator[Table]:
    """A Parquet file, read a batch at a time; strings in it are always UTF-8.

    Parameters
    ----------
    first, n_rows
        Of a part of it, which is read without what stands in other row groups.
    """
    parquet = require("pyarrow.parquet", "tables", "reading Parquet")
    arrow = require("pyarrow", "tables", "reading Parquet")
    errors = (arrow.ArrowException, OSError, UnicodeDecodeError)

    def rows(file: Any) -> Iterator[Row]:
        end = file.metadata.num_rows if n_rows is None else first + n_rows
        groups, number = _row_groups(file.metadata, first, end)
        try:
            for batch in file.iter_batches(batch_size=_BATCH, row_groups=groups):
                skipped = min(max(0, first - number), batch.num_rows)
                own = batch.slice(skipped, max(0, end - number - skipped))
                at = number + skipped
                columns = [_values(path, own, i, at) for i in range(own.num_columns)]
                for n, values in enumerate(zip(*columns, strict=True), start=at):
                    yield Row(n, n + 1, list(values), {})
                number += batch.num_rows
        except errors as error:
            raise DataError(f"cannot read {path} as Parquet after row {number}: {error}") from error

    try:
        file = parquet.ParquetFile(path if how.source is None else how.source())
    except errors as error:
        raise DataError(f"cannot read {path} as Parquet: {error}") from error
    with file:
        whole = file.metadata
        groups = [whole.row_group(i).total_byte_size for i in range(whole.num_row_groups)]
        # A row group is held at a time; of rows that repeat next to nothing is stored.
        if how.source is None:
            check_size(max([8 * whole.num_rows, *groups]), path.stat().st_size, path)
        schema = file.schema_arrow
        n = file.metadata.num_rows
        yield Table(path, list(schema.names), rows(file), schema=schema, n_rows=n)


def _row_groups(metadata: Any, first: int, end: int) -> tuple[list[int], int]:
    """The row groups that hold some rows, and the first row that they hold."""
    sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    starts = [0, *accumulate(sizes)]
    held = [i for i, size in enumerate(sizes) if starts[i] < end and starts[i] + size > first]
    return held, starts[held[0]] if held else first


def _values(path: Path, batch: Any, i: int, number: int) -> list[Any]:
    """The values of a column of a batch, of which the first is that of row ``number``."""
    column = batch.column(i)
    try:
        values: list[Any] = column.to_pylist()
    except (OverflowError, ValueError) as error:  # such as dates after the year 9999
        if isinstance(error, UnicodeDecodeError):
            raise
        name, last = batch.schema.names[i], number + len(column) - 1
        raise DataError(
            f"{path}, rows {number} to {last}: column {name!r} "
            f"holds a {column.type} that is out of range ({error}); turn the column into strings, "
            "or leave it out"
        ) from error
    return values


@contextmanager
def _fasttext_table(path: Path, how: How) -> Iterator[Table]:
    """fastText lines, ``__label__x some text``."""
    with open_lines(path, how.encoding, how.source) as lines:
        table = Table(path, ["text", "label"], iter(()), _encoding_note(lines), named=False)
        table.lines = LineFormat("fasttext", lines.encoding, lines.line_end)
        table.rows = _fasttext_rows(table, lines)
        yield table


def _fasttext_rows(
    table: Table, lines: Iterator[str], row: int = 0, before: int = 0
) -> Iterator[Row]:
    for number, line in enumerate(lines, start=before + 1):
        values = _parse_fasttext(f"{table.path}, line {number}", bare(line))
        if values is None:
            table.n_blank += 1
        else:
            yield Row(row, number, values, {})
            row += 1


def _parse_fasttext(where: str, line: str) -> list[Any] | None:
    """[text, label] of one line, None for a blank one; the text may be empty."""
    if not line.strip():
        return None
    match = _FASTTEXT.match(line)
    if match is None or not match[1]:
        raise DataError(f"{where}: expected '__label__NAME text', got {line[:40]!r}")
    if _SECOND_LABEL.search(match[2]):
        raise DataError(f"{where}: more than one __label__; one label a text is supported")
    return [match[2], match[1]]


@contextmanager
def _plain_table(path: Path, how: How) -> Iterator[Table]:
    """A text a line; a blank line is an empty text, so that lines in are rows out."""
    with open_lines(path, how.encoding, how.source) as lines:
        table = Table(path, ["text"], iter(()), _encoding_note(lines), plain=True, named=False)
        table.lines = LineFormat("plain", lines.encoding, lines.line_end)
        table.rows = _plain_rows(lines)
        yield table


def _plain_rows(lines: Iterator[str], before: int = 0) -> Iterator[Row]:
    return (Row(n, n + 1, [bare(line)], {}) for n, line in enumerate(lines, start=before))


def pass_header(table: Table, lines: Iterator[str]) -> None:
    """Take the lines up to the first row of a text file, and none behind."""
    assert table.lines is not None
    if table.lines.kind in ("csv", "tsv"):
        next((None for _, record in _records(table, lines) if not _is_blank(record)), None)


def count_records(table: Table, lines: Iterator[str]) -> Iterator[bool]:
    """Of each record behind the header whether it is a row, else it is blank.

    The lines are taken one by one, none before it is needed.
    """
    assert table.lines is not None
    if table.lines.kind in ("csv", "tsv"):
        yield from (not _is_blank(record) for _, record in _records(table, lines))
    else:
        is_plain = table.lines.kind == "plain"
        yield from (is_plain or bool(line.strip()) for line in lines)


def table_part(table: Table, lines: Iterator[str], row: int, before: int) -> Table:
    """A part of a text file as a table of its own.

    Parameters
    ----------
    table
        The file as it was opened, of which nothing more is read.
    lines
        Of the part, whole rows of them.
    row, before
        Its first row, and the physical lines before it, by which its rows are named.
    """
    assert table.lines is not None
    part = replace(table, n_blank=0)
    kind = table.lines.kind
    if kind in ("csv", "tsv"):
        part.rows = _records_as_rows(part, _records(table, lines, before), row)
    elif kind == "jsonl":
        objects = _json_objects(part, lines, before)
        part.rows = _objects_as_rows(part, next(objects, None), objects, row)
    elif kind == "fasttext":
        part.rows = _fasttext_rows(part, lines, row, before)
    else:
        part.rows = _plain_rows(lines, before)
    return part


def _records(
    table: Table, lines: Iterator[str], before: int = 0
) -> Iterator[tuple[int, list[str]]]:
    """Of a file of separated values."""
    delimiter = table.lines.delimiter if table.lines is not None else None
    if delimiter is None:
        return _tsv_records(lines, before)
    return _csv_records(table.path, lines, delimiter, before)


DELIMITED = {".csv", ".tsv", ".tab"}
EXCEL = {".xlsx", ".xlsm"}
TABLES: dict[str, Opener] = {
    ".csv": _csv_table,
    ".tsv": _tsv_table,
    ".tab": _tsv_table,
    ".jsonl": _jsonl_table,
    ".ndjson": _jsonl_table,
    ".parquet": open_parquet,
    ".pq": open_parquet,
    ".xlsx": open_excel,
    ".xlsm": open_excel,
    ".ft": _fasttext_table,
    ".fasttext": _fasttext_table,
}
PLAIN = {".txt", ""}

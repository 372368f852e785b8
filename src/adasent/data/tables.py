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
from dataclasses import dataclass, field
from datetime import date, time
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from adasent.data.delimiters import NAMES, NONE, find_delimiter, parse_delimiter
from adasent.data.opening import STDIN, Lines, bare, is_packed, open_lines
from adasent.errors import ConfigError, DataError, nearest, require, setting
from adasent.text.unpacking import check_size, open_zip

# Larger than any line that fits in memory on a 32-bit C long.
_NO_LIMIT = 2**31 - 1
_BATCH = 4096
_FASTTEXT = re.compile(r"__label__([^ \t]*)[ \t]*(.*)", re.DOTALL)
_SECOND_LABEL = re.compile(r"(?:^|[ \t])__label__")


@dataclass(frozen=True)
class How:
    """What the user says of a file, beside its name."""

    encoding: str = "utf-8"
    delimiter: str | None = None  # None: by the file's ending, or found out
    sheet: str | None = None  # of Excel; None: the first
    table: bool = False  # standard input is a table, not plain lines


class Row(NamedTuple):
    """A row of a table."""

    number: int  # as pandas counts it
    line: int
    values: list[Any]
    extra: dict[str, Any]  # of JSON lines: keys that the first line does not have


@dataclass
class Table:
    """A file that is being read."""

    path: Path
    columns: list[str]
    rows: Iterator[Row]
    notes: list[str] = field(default_factory=list)  # how it is read, where that was found out
    typed: bool = True  # whether values have types; else all are strings as they were written
    blank_is_missing: bool = False  # whether a blank cell is all that the format has for nothing
    plain: bool = False  # a text a line
    named: bool = True  # whether the columns have names in the file
    n_blank: int = 0  # blank lines so far
    schema: Any = None  # of Parquet

    def where(self, row: Row) -> str:
        """A row as messages name it."""
        is_parquet = kind_of(self.path) in (".parquet", ".pq")
        return f"{self.path}, " + (
            f"row {row.number}" if is_parquet else f"line {row.line}, row {row.number}"
        )


Opener: TypeAlias = Callable[[Path, How], AbstractContextManager[Table]]


def kind_of(path: Path) -> str:
    """The ending that tells the format, in lower case: ``.csv`` of ``reviews.CSV.gz``."""
    return Path(path.stem if is_packed(path) else path.name).suffix.lower()


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
    if _starts_with_label(path, how.encoding) or (kind in PLAIN and not plain):
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


def _starts_with_label(path: Path, encoding: str) -> bool:
    """Whether an unknown file is fastText; bytes that do not decode mean that it is not."""
    try:
        with open_lines(path, encoding) as lines:
            return next(lines, "").startswith("__label__")
    except DataError:
        if not path.is_file() or is_packed(path):
            raise
        return False


# -- CSV and TSV ---------------------------------------------------------------------------------


@contextmanager
def _csv_table(path: Path, how: How) -> Iterator[Table]:
    """Separated values with a header; quoted fields may span lines."""
    with open_lines(path, how.encoding) as opened:
        lines: Iterator[str] = opened
        notes = _encoding_note(opened)
        if how.delimiter is None:
            delimiter, lines = find_delimiter(opened)
            if delimiter not in (",", NONE):
                notes.append(f"{NAMES[delimiter]} between fields")
        else:
            delimiter = parse_delimiter(how.delimiter)
        yield _with_header(path, _csv_records(path, lines, delimiter), notes)


@contextmanager
def _tsv_table(path: Path, how: How) -> Iterator[Table]:
    """Tab-separated values with a header; a line is a row and quotes are plain characters."""
    with open_lines(path, how.encoding) as lines:
        records = (
            (n, text.split("\t") if (text := bare(line)) else [])
            for n, line in enumerate(lines, start=1)
        )
        yield _with_header(path, records, _encoding_note(lines))


def _encoding_note(lines: Lines) -> list[str]:
    return [] if lines.encoding == "utf-8" else [lines.encoding.upper()]


def _csv_records(
    path: Path, lines: Iterator[str], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
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


def _records_as_rows(table: Table, records: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    n_columns, number = len(table.columns), 0
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
    with open_lines(path, how.encoding) as lines:
        table = Table(path, [], iter(()), _encoding_note(lines))
        objects = _json_objects(table, lines)
        first = next(objects, None)
        if first is not None:
            table.columns = list(first[1])
        table.rows = _objects_as_rows(table, first, objects)
        yield table


def _json_objects(table: Table, lines: Iterator[str]) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(lines, start=1):
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
) -> Iterator[Row]:
    known = set(table.columns)
    number = 0
    while first is not None:
        line, value = first
        extra = {} if value.keys() <= known else {k: v for k, v in value.items() if k not in known}
        yield Row(number, line, [value.get(name) for name in table.columns], extra)
        number += 1
        first = next(others, None)


@contextmanager
def _parquet_table(path: Path, how: How) -> Iterator[Table]:
    """A Parquet file, read a batch at a time; strings in it are always UTF-8."""
    parquet = require("pyarrow.parquet", "tables", "reading Parquet")
    arrow = require("pyarrow", "tables", "reading Parquet")
    errors = (arrow.ArrowException, OSError, UnicodeDecodeError)

    def rows(file: Any) -> Iterator[Row]:
        number = 0
        try:
            for batch in file.iter_batches(batch_size=_BATCH):
                columns = [_values(path, batch, i, number) for i in range(batch.num_columns)]
                for values in zip(*columns, strict=True):
                    yield Row(number, number + 1, list(values), {})
                    number += 1
        except errors as error:
            raise DataError(f"cannot read {path} as Parquet after row {number}: {error}") from error

    try:
        file = parquet.ParquetFile(path)
    except errors as error:
        raise DataError(f"cannot read {path} as Parquet: {error}") from error
    with file:
        whole = file.metadata
        groups = [whole.row_group(i).total_byte_size for i in range(whole.num_row_groups)]
        # A row group is held at a time; of rows that repeat next to nothing is stored.
        check_size(max([8 * whole.num_rows, *groups]), path.stat().st_size, path)
        schema = file.schema_arrow
        yield Table(path, list(schema.names), rows(file), schema=schema)


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
def _excel_table(path: Path, how: How) -> Iterator[Table]:
    """A sheet of an Excel workbook, its first filled row the header; formulas by their results."""
    openpyxl = require("openpyxl", "excel", "reading Excel")
    try:
        with open_zip(path, path):
            book = openpyxl.load_workbook(path, read_only=True, data_only=True)
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror}") from error
    except DataError:
        raise
    except Exception as error:  # of the archive, of its XML, or of what openpyxl makes of them
        raise DataError(f"cannot read {path} as Excel: {error}") from error
    try:
        names = [sheet.title for sheet in book.worksheets]
        if not names:
            raise DataError(f"{path}: the workbook holds no sheet with cells")
        name = names[0] if how.sheet is None else how.sheet
        if name not in names:
            raise DataError(f"{path}: no sheet {name!r}{nearest(name, names)}")
        notes = [f"sheet {name!r}"] if how.sheet is not None or len(names) > 1 else []
        if how.sheet is None and len(names) > 1:
            notes = [f"sheet {name!r}, the first of {len(names)} ({setting('sheet')})"]
        cells = enumerate(book[name].iter_rows(values_only=True), start=1)
        header: tuple[Any, ...] = next((row for _, row in cells if any(map(_filled, row))), ())
        while header and not _filled(header[-1]):
            header = header[:-1]
        columns = [str(cell) if _filled(cell) else "" for cell in header]
        table = Table(path, columns, iter(()), notes, blank_is_missing=True)
        table.rows = _cells_as_rows(table, cells)
        yield table
    finally:
        book.close()


def _cells_as_rows(table: Table, cells: Iterator[tuple[int, tuple[Any, ...]]]) -> Iterator[Row]:
    n_columns = len(table.columns)
    for number, (line, found) in enumerate(cells):
        if not any(map(_filled, found)):
            table.n_blank += 1
            continue
        if any(map(_filled, found[n_columns:])):
            raise DataError(
                f"{table.path}, line {line}: a cell to the right of the last column that has a "
                "name; give it a name in the first row, or clear it"
            )
        values = [_plain_value(cell) for cell in found[:n_columns]]
        yield Row(number, line, values + [None] * (n_columns - len(values)), {})


def _filled(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def _plain_value(cell: Any) -> Any:
    """A cell as JSON and CSV can write it; a whole number that Excel keeps as a float is whole."""
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    return cell if cell is None or isinstance(cell, str | int | float) else str(cell)


@contextmanager
def _fasttext_table(path: Path, how: How) -> Iterator[Table]:
    """fastText lines, ``__label__x some text``."""
    with open_lines(path, how.encoding) as lines:
        table = Table(path, ["text", "label"], iter(()), _encoding_note(lines), named=False)
        table.rows = _fasttext_rows(table, lines)
        yield table


def _fasttext_rows(table: Table, lines: Iterator[str]) -> Iterator[Row]:
    row = 0
    for number, line in enumerate(lines, start=1):
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
    with open_lines(path, how.encoding) as lines:
        rows = (Row(n, n + 1, [bare(line)], {}) for n, line in enumerate(lines))
        yield Table(path, ["text"], rows, _encoding_note(lines), plain=True, named=False)


DELIMITED = {".csv", ".tsv", ".tab"}
EXCEL = {".xlsx", ".xlsm"}
TABLES: dict[str, Opener] = {
    ".csv": _csv_table,
    ".tsv": _tsv_table,
    ".tab": _tsv_table,
    ".jsonl": _jsonl_table,
    ".ndjson": _jsonl_table,
    ".parquet": _parquet_table,
    ".pq": _parquet_table,
    ".xlsx": _excel_table,
    ".xlsm": _excel_table,
    ".ft": _fasttext_table,
    ".fasttext": _fasttext_table,
}
PLAIN = {".txt", ""}

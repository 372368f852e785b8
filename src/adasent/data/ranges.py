"""Files -> ranges of their rows, each of which can be read by itself, by another process.

The ranges of a file follow each other, are cut at whole rows, and are read by the readers of whole
files (:mod:`adasent.data.tables`): rows have the same values, numbers and messages. Parquet is cut
by rows, a text file by bytes. What cannot be cut is one range: a gzipped file, Excel, UTF-16, and
the line ends of old Macs.
"""

from __future__ import annotations

import codecs
import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from adasent.data.opening import is_packed, lines_of
from adasent.data.tables import (
    How,
    LineFormat,
    Table,
    count_records,
    open_parquet,
    open_table,
    pass_header,
    table_part,
)
from adasent.errors import DataError

#: Rows of a range: some seconds of a core's work.
ROWS = 16_384
#: Bytes of a range of a text file, at most, but for a single row that is longer.
_MAX_BYTES = 64 * 2**20
#: Encodings in which a line ends at a byte 10 and nowhere else, whatever stands before it.
_BYTEWISE = re.compile(r"utf-8|ascii|cp125\d|iso8859-\d+|koi8-[rut]|mac-\w+")
_MARK = codecs.BOM_UTF8


@dataclass(frozen=True)
class Range:
    """Some rows of a file."""

    path: str  # as messages name it
    row: int  # the first of them
    n_rows: int | None  # None: the whole file, of which this is not known before it is read
    identity: str  # of what the rows are made from
    line: int = 0  # physical lines of a text file before it
    start: int = 0  # and its bytes
    end: int | None = None  # None: not a part of a text file


def cut_file(path: Path, how: How, identity: str, rows: int = ROWS) -> Iterator[Range]:
    """The ranges of a file, in order; at least one, which has no rows if the file has none.

    Parameters
    ----------
    identity
        Tells the file from one of the same name with another content. A range of a text file has
        its own instead, of the bytes that it is made from.
    rows
        Of a range.
    """
    with open_table(path, how, plain=True) as table:
        facts = table.lines
        if table.schema is not None:
            assert table.n_rows is not None
            for first in range(0, max(1, table.n_rows), rows):
                n = min(rows, table.n_rows - first)
                yield Range(str(path), first, n, identity)
            return
    if facts is None or facts.line_end != "\n" or is_packed(path) or not _is_bytewise(facts):
        yield Range(str(path), 0, None, identity)
        return
    with _open(path, how) as file:
        yield from _cut_text(file, table, rows)


def _is_bytewise(facts: LineFormat) -> bool:
    return _BYTEWISE.fullmatch(codecs.lookup(facts.encoding).name) is not None


@contextmanager
def open_range(one: Range, path: Path, how: How) -> Iterator[Table]:
    """The rows of a range as a table."""
    if one.end is not None:
        with open_table(path, how, plain=True) as table:
            facts = table.lines
        assert facts is not None
        with _open(path, how) as file:
            file.seek(one.start)
            body = file.read(one.end - one.start)
        if len(body) != one.end - one.start:
            raise DataError(f"{path} was cut short while it was read; start again")
        yield table_part(table, lines_of(body, path, facts.encoding, one.line), one.row, one.line)
    elif one.n_rows is not None:
        with open_parquet(path, how, one.row, one.n_rows) as table:
            yield table
    else:
        with open_table(path, how, plain=True) as table:
            yield table


@contextmanager
def _open(path: Path, how: How) -> Iterator[BinaryIO]:
    try:
        file = path.open("rb") if how.source is None else how.source()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}") from error
    with file:
        yield file


def _cut_text(file: BinaryIO, table: Table, rows: int) -> Iterator[Range]:
    """Count the rows of a text file, as its reader would, and cut where one ends."""
    lines = _Lines(file, table)
    pass_header(table, lines)
    lines.digest()
    path = str(table.path)
    row = n = 0
    start, before = lines.end, lines.n_lines
    for is_row in count_records(table, lines):
        n += is_row
        if n == rows or lines.end - start >= _MAX_BYTES:
            yield Range(path, row, n, lines.digest(), before, start, lines.end)
            row, n, start, before = row + n, 0, lines.end, lines.n_lines
    if lines.end > start or row == 0:
        yield Range(path, row, n, lines.digest(), before, start, lines.end)


class _Lines:
    """Decoded lines of a file, and how far it was read; bytes that do not decode pass unseen.

    The reader of the range finds them, and says where they are.
    """

    def __init__(self, file: BinaryIO, table: Table) -> None:
        assert table.lines is not None
        self._file = file
        self._encoding = table.lines.encoding
        self.end = self.n_lines = 0
        self._digest = hashlib.sha256()
        if file.read(len(_MARK)) == _MARK and codecs.lookup(self._encoding).name == "utf-8":
            self.end = len(_MARK)
        file.seek(self.end)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._file.readline()
        if not line:
            raise StopIteration
        self.end += len(line)
        self.n_lines += 1
        self._digest.update(line)
        return line.decode(self._encoding, "replace")

    def digest(self) -> str:
        """Of the bytes since it was asked last."""
        found, self._digest = self._digest.hexdigest(), hashlib.sha256()
        return found

"""A file of any format as rows of values under named columns, while it is being read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from adasent.data.opening import Source, is_packed


@dataclass(frozen=True)
class How:
    """What the user says of a file, beside its name."""

    encoding: str = "utf-8"
    delimiter: str | None = None  # None: by the file's ending, or found out
    sheet: str | None = None  # of Excel; None: the first
    table: bool = False  # standard input is a table, not plain lines
    source: Source | None = None  # opens a file that is not one of this machine


class Row(NamedTuple):
    """A row of a table."""

    number: int  # as pandas counts it
    line: int
    values: list[Any]
    extra: dict[str, Any]  # of JSON lines: keys that the first line does not have


@dataclass(frozen=True)
class LineFormat:
    """What there is to know of a text file to read a part of it."""

    kind: str  # csv, tsv, jsonl, fasttext or plain
    encoding: str
    line_end: str
    delimiter: str | None = None


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
    n_rows: int | None = None  # of Parquet; of others it is not known before they are read
    lines: LineFormat | None = None  # of a text file

    def where(self, row: Row) -> str:
        """A row as messages name it."""
        is_parquet = kind_of(self.path) in (".parquet", ".pq")
        return f"{self.path}, " + (
            f"row {row.number}" if is_parquet else f"line {row.line}, row {row.number}"
        )


def kind_of(path: Path) -> str:
    """The ending that tells the format, in lower case: ``.csv`` of ``reviews.CSV.gz``."""
    return Path(path.stem if is_packed(path) else path.name).suffix.lower()

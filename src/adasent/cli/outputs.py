"""Writes answers beside the columns that they belong to: JSON lines, CSV, TSV or Parquet.

A file is written whole or not at all.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import IO, Any, cast

from adasent.cli.console import Terminal, printable
from adasent.errors import ConfigError, require
from adasent.estimators.answers import (
    Answer,
    Extra,
    Layout,
    ParquetWriter,
    Writer,
    key_of,
    text_of_value,
    to_json,
)
from adasent.saving.whole import whole_file

Format = StrEnum("Format", ["jsonl", "csv", "tsv", "parquet"])

_ENDINGS = {
    ".jsonl": Format.jsonl,
    ".ndjson": Format.jsonl,
    ".csv": Format.csv,
    ".tsv": Format.tsv,
    ".parquet": Format.parquet,
    ".pq": Format.parquet,
}
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})


def choose_format(out: Path | None, given: Format | None) -> Format:
    """The format that was named, or the one of the file's ending, or JSON lines."""
    if given is None:
        given = Format.jsonl if out is None else _ENDINGS.get(out.suffix.lower())
    if given is None:
        raise ConfigError(
            f"--out {out}: the ending tells no format; end it in "
            f"{', '.join(_ENDINGS)}, or give --format"
        )
    if given is Format.parquet:
        require("pyarrow", "tables", "writing Parquet")
        if out is None:
            raise ConfigError("--format parquet: Parquet is no text for a screen; give --out FILE")
    return given


@contextmanager
def open_target(out: Path | None) -> Iterator[IO[bytes]]:
    """Where the bytes go: standard output, or a file that appears whole at the end."""
    if out is None:
        # Of some test runners and notebooks standard output is text alone.
        stream = sys.stdout.buffer
        yield cast(IO[bytes], Terminal(stream)) if sys.stdout.isatty() else stream
        return
    with whole_file(out) as whole:
        yield whole


def open_writer(format: Format, stream: IO[bytes], layout: Layout) -> Writer:
    """A writer of that format."""
    return _WRITERS[format](stream, layout)


class _JsonWriter(Writer):
    """An object a line."""

    def __init__(self, stream: IO[bytes], layout: Layout) -> None:
        self._stream = stream
        self._layout = layout
        self._keys = list(map(key_of, layout.classes))

    def write(self, answers: Sequence[Answer]) -> None:
        lines = [to_json(self._object(one)) for one in answers]
        # Half a character becomes its escape, which JSON reads as that half.
        self._stream.write("".join(f"{line}\n" for line in lines).encode("utf-8", _HALVES))
        self._stream.flush()

    def _object(self, one: Answer) -> dict[str, Any]:
        layout = self._layout
        value: dict[str, Any] = {layout.row: one.row}
        value |= dict(zip(layout.columns, one.values, strict=True)) | one.extra
        value |= {layout.row: one.row, layout.label: one.label, layout.confidence: one.confidence}
        if layout.shares:
            shares = None if one.shares is None else dict(zip(self._keys, one.shares, strict=True))
            value["probabilities"] = shares
        if layout.reasons is not None:
            value |= dict(zip(layout.reasons, one.reasons or (None, None), strict=True))
        return value


class _CsvWriter(Writer):
    """A header, and a row for each row of the input; what is neither text nor number is JSON."""

    def __init__(self, stream: IO[bytes], layout: Layout) -> None:
        self._stream = stream
        self._extra = Extra()
        self._n_shares = len(layout.shares)
        self._separator = layout.separator
        names = [layout.row, *layout.columns, layout.label, layout.confidence, *layout.shares]
        self._put([[*names, *(layout.reasons or ())]])
        self._n_reasons = len(layout.reasons or ())

    def write(self, answers: Sequence[Answer]) -> None:
        rows = []
        for one in answers:
            self._extra.count(one)
            shares = one.shares if one.shares is not None else [None] * self._n_shares
            label = one.label
            if isinstance(label, tuple):
                label = _joined(list(map(text_of_value, label)), self._separator)
            reasons = one.reasons or [None] * self._n_reasons
            values = [one.row, *one.values, label, one.confidence, *shares, *reasons]
            rows.append([_plain(value) for value in values])
        self._put(rows)

    def _put(self, rows: Sequence[Sequence[Any]]) -> None:
        text = StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._stream.write(text.getvalue().encode("utf-8", _HALVES))
        self._stream.flush()

    def close(self) -> None:
        self._extra.warn()


class _TsvWriter(Writer):
    """The label alone, one a line, or with probabilities; no column of the input."""

    def __init__(self, stream: IO[bytes], layout: Layout) -> None:
        self._stream = stream
        self._n_shares = len(layout.shares)
        self._separator = layout.separator
        if layout.shares:
            first = "label" if layout.separator is None else "labels"
            self._put([[first, *map(_cell, layout.classes)]])

    def write(self, answers: Sequence[Answer]) -> None:
        self._put([[self._label(one.label), *self._shares(one)] for one in answers])

    def _label(self, label: Any) -> str:
        if isinstance(label, tuple):
            return _joined(list(map(_cell, label)), self._separator)
        return _cell(label)

    def _shares(self, one: Answer) -> list[str]:
        if one.shares is None:
            return [""] * self._n_shares
        return [f"{share:.6f}" for share in one.shares]

    def _put(self, rows: list[list[str]]) -> None:
        lines = "".join("\t".join(row) + "\n" for row in rows)
        self._stream.write(lines.encode("utf-8", _HALVES))
        self._stream.flush()


_HALVES = "backslashreplace"
_WRITERS: dict[Format, Callable[[IO[bytes], Layout], Writer]] = {
    Format.jsonl: _JsonWriter,
    Format.csv: _CsvWriter,
    Format.tsv: _TsvWriter,
    Format.parquet: ParquetWriter,
}


def _cell(label: Any) -> str:
    """A label on one line, without what steers a terminal; nothing for a row without a text."""
    return "" if label is None else printable(key_of(label).translate(_ESCAPES))


def _joined(cells: list[str], separator: str | None) -> str:
    """Several labels as one cell; refused if one holds what stands between them."""
    separator = separator or "|"
    for one in cells:
        if separator in one:
            raise ConfigError(
                f"--label-separator: the label {one!r} holds {separator!r}; choose another, or "
                "--format jsonl"
            )
    return separator.join(cells)


def _plain(value: Any) -> Any:
    """A value as CSV holds it: texts and numbers as they are, nothing as a blank, else JSON."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return text_of_value(value)

"""Writes answers beside the columns that they belong to: JSON lines, CSV, TSV or Parquet.

A file is written whole or not at all.
"""

from __future__ import annotations

import csv
import json
import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from adasent.cli.console import Terminal, printable
from adasent.errors import AdaSentWarning, ConfigError, DataError, require
from adasent.saving.whole import whole_file
from adasent.text.halves import writable

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
_NAMED = 3
_GROUP = 1 << 16  # rows of a row group of Parquet


class Answer(NamedTuple):
    """A row of the input and what the model says of it."""

    row: int
    values: Sequence[Any]
    extra: dict[str, Any]  # keys of JSON lines that the first line does not have
    label: Any  # or a tuple of labels; None for a row without a text
    confidence: float | None
    shares: Sequence[float] | None  # of each class, where they were asked for


class Layout(NamedTuple):
    """The columns of the output."""

    columns: list[str]  # of the input, made distinct
    row: str
    label: str
    confidence: str
    shares: list[str]  # one a class, where they were asked for
    classes: list[Any]
    schema: Any  # of a Parquet input, else None
    typed: bool  # whether the values of the input have types
    separator: str | None  # between several labels in one cell; None: a text has one label


class Writer(ABC):
    """Takes answers, a chunk at a time."""

    @abstractmethod
    def write(self, answers: Sequence[Answer]) -> None:
        """Put them into the output."""

    def close(self) -> None:  # noqa: B027
        """End the output, and say what it could not hold."""

    def abandon(self) -> None:  # noqa: B027
        """Let go of an output that is of no use any more."""


def lay_out(
    columns: Sequence[str],
    classes: list[Any],
    *,
    proba: bool,
    schema: Any = None,
    typed: bool = False,
    separator: str | None = None,
) -> Layout:
    """Names for all columns; one of ours that the input has already gets a number."""
    taken: list[str] = []

    def free(name: str) -> str:
        number, free_name = 1, name
        while free_name in taken:
            number += 1
            free_name = f"{name}_{number}"
        taken.append(free_name)
        return free_name

    own = [free(name) for name in columns]
    return Layout(
        own,
        free("row"),
        free("predicted"),
        free("confidence"),
        [free(f"p_{_key(label)}") for label in classes] if proba else [],
        classes,
        schema,
        typed,
        separator,
    )


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
        self._keys = list(map(_key, layout.classes))

    def write(self, answers: Sequence[Answer]) -> None:
        lines = [_json(self._object(one)) for one in answers]
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
        return value


class _CsvWriter(Writer):
    """A header, and a row for each row of the input; what is neither text nor number is JSON."""

    def __init__(self, stream: IO[bytes], layout: Layout) -> None:
        self._stream = stream
        self._extra = _Extra()
        self._n_shares = len(layout.shares)
        self._separator = layout.separator
        names = [layout.row, *layout.columns, layout.label, layout.confidence, *layout.shares]
        self._put([names])

    def write(self, answers: Sequence[Answer]) -> None:
        rows = []
        for one in answers:
            self._extra.count(one)
            shares = one.shares if one.shares is not None else [None] * self._n_shares
            label = one.label
            if isinstance(label, tuple):
                label = _joined(list(map(_text, label)), self._separator)
            values = [one.row, *one.values, label, one.confidence, *shares]
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


class _ParquetWriter(Writer):
    """Columns with types: those of the input where it has them, else of its first rows."""

    def __init__(self, stream: IO[bytes], layout: Layout) -> None:
        self._arrow = require("pyarrow", "tables", "writing Parquet")
        self._parquet = require("pyarrow.parquet", "tables", "writing Parquet")
        self._stream = stream
        self._layout = layout
        self._extra = _Extra()
        self._writer: Any = None
        self._waiting: list[Any] = []  # batches of the next row group
        self._as_json: set[int] = set()

    def write(self, answers: Sequence[Answer]) -> None:
        for one in answers:
            self._extra.count(one)
        layout = self._layout
        columns = [list(values) for values in zip(*(one.values for one in answers), strict=True)]
        columns = columns or [[] for _ in layout.columns]
        if self._writer is None:
            self._open(columns)
        ours: list[list[Any]] = [
            [one.label for one in answers],
            [one.confidence for one in answers],
        ]
        for i in range(len(layout.shares)):
            ours.append([None if one.shares is None else one.shares[i] for one in answers])
        rows = [one.row for one in answers]
        for i in self._as_json:
            columns[i] = [None if value is None else _text(value) for value in columns[i]]
        schema = self._writer.schema
        arrays = []
        for values, field in zip([rows, *columns, *ours], schema, strict=True):
            try:
                arrays.append(self._array(values, field.type))
            except (self._arrow.ArrowException, TypeError, OverflowError) as error:
                raise DataError(
                    f"rows {rows[0]} to {rows[-1]}: column {field.name!r} does not hold "
                    f"{field.type} alone, as its first rows do ({error}); use --format jsonl or csv"
                ) from error
        self._waiting.append(self._arrow.record_batch(arrays, schema=schema))
        if sum(batch.num_rows for batch in self._waiting) >= _GROUP:
            self._write_group()

    def _write_group(self) -> None:
        """Small row groups would each cost memory until the end, and make the file slow to read."""
        if self._waiting:
            self._writer.write_table(self._arrow.Table.from_batches(self._waiting))
            self._waiting = []

    def _array(self, values: list[Any], kind: Any) -> Any:
        try:
            return self._arrow.array(values, type=kind)
        except UnicodeEncodeError:  # half a character, which Parquet has no way to hold
            return self._arrow.array([_whole(value) for value in values], type=kind)

    def _open(self, columns: list[list[Any]]) -> None:
        arrow, layout = self._arrow, self._layout
        fields = [arrow.field(layout.row, arrow.int64())]
        for i, (name, values) in enumerate(zip(layout.columns, columns, strict=True)):
            if layout.schema is not None:
                kind = layout.schema.field(i).type
            else:
                kind = self._infer(values) if layout.typed else arrow.string()
                if kind is None:
                    self._as_json.add(i)
                    kind = arrow.string()
            fields.append(arrow.field(writable(name), kind))
        label = self._infer(layout.classes) or arrow.string()
        if layout.separator is not None:
            label = arrow.list_(label)
        names = [layout.confidence, *layout.shares]
        fields += [arrow.field(layout.label, label)]
        fields += [arrow.field(writable(name), arrow.float64()) for name in names]
        schema = arrow.schema(fields)
        self._writer = self._parquet.ParquetWriter(self._stream, schema)

    def _infer(self, values: list[Any]) -> Any:
        """The type of values; None where they have no common one."""
        try:
            kind = self._arrow.array(values).type
        except (self._arrow.ArrowException, TypeError, OverflowError, UnicodeEncodeError):
            return None
        return self._arrow.string() if self._arrow.types.is_null(kind) else kind

    def close(self) -> None:
        if self._writer is None:
            self._open([[] for _ in self._layout.columns])
        self._write_group()
        self._writer.close()
        self._extra.warn()

    def abandon(self) -> None:
        if self._writer is not None:  # while its file is open; it would write when it is deleted
            self._writer.close()


class _Extra:
    """Counts what a table has no column for, to say so once."""

    def __init__(self) -> None:
        self._n_rows = 0
        self._names: dict[str, None] = {}

    def count(self, one: Answer) -> None:
        if one.extra:
            self._n_rows += 1
            self._names.update(dict.fromkeys(one.extra))

    def warn(self) -> None:
        if self._n_rows:
            names = ", ".join(map(repr, list(self._names)[:_NAMED]))
            more = ", ..." if len(self._names) > _NAMED else ""
            warnings.warn(
                f"{self._n_rows:,} lines have keys that the first line does not have ({names}"
                f"{more}): they are not in the output; --format jsonl keeps them",
                AdaSentWarning,
                stacklevel=2,
            )


_HALVES = "backslashreplace"
_WRITERS: dict[Format, Callable[[IO[bytes], Layout], Writer]] = {
    Format.jsonl: _JsonWriter,
    Format.csv: _CsvWriter,
    Format.tsv: _TsvWriter,
    Format.parquet: _ParquetWriter,
}


def _key(label: Any) -> str:
    """A label as the key of a JSON object: a string as it is, else as JSON writes the value."""
    return label if isinstance(label, str) else json.dumps(label)


def _cell(label: Any) -> str:
    """A label on one line, without what steers a terminal; nothing for a row without a text."""
    return "" if label is None else printable(_key(label).translate(_ESCAPES))


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


def _whole(value: Any) -> Any:
    """A value whose strings have escapes for halves of characters, as in the other formats."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    """JSON with letters as they are; NaN and infinity, which JSON has not, become null."""
    how: dict[str, Any] = {"ensure_ascii": False, "default": str}
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        loaded = json.loads(json.dumps(value, **how), parse_constant=lambda name: None)
        return json.dumps(loaded, **how)


def _plain(value: Any) -> Any:
    """A value as CSV holds it: texts and numbers as they are, nothing as a blank, else JSON."""
    if value is None or (isinstance(value, str | int | float) and not isinstance(value, bool)):
        return value
    return _text(value)

"""Answers of a model beside the columns they belong to, and Parquet that holds them.

The columns of an input come first, then ours: their names and order are the same in every format.
"""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from adasent.errors import AdaSentWarning, DataError, require
from adasent.text.halves import writable

_NAMED = 3
_GROUP = 1 << 16  # rows of a row group of Parquet


class Reasons(NamedTuple):
    """Why a text got its label."""

    verdict: str  # in a sentence
    words: list[list[Any]]  # each word of the text, and what it adds to the label


class Answer(NamedTuple):
    """A row of the input and what the model says of it."""

    row: int
    values: Sequence[Any]
    extra: dict[str, Any]  # keys of JSON lines that the first line does not have
    label: Any  # or a tuple of labels; None for a row without a text
    confidence: float | None
    shares: Sequence[float] | None  # of each class, where they were asked for
    reasons: Reasons | None = None  # where they were asked for


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
    reasons: tuple[str, str] | None = None  # of the verdict and of the words, where asked for


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
    reasons: bool = False,
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
        [free(f"p_{key_of(label)}") for label in classes] if proba else [],
        classes,
        schema,
        typed,
        separator,
        (free("verdict"), free("words")) if reasons else None,
    )


class Types(NamedTuple):
    """The types of the columns of a Parquet output."""

    schema: Any
    as_json: frozenset[int]  # columns of the input whose values have no common type


def find_types(layout: Layout, columns: Sequence[list[Any]]) -> Types:
    """The types of an output whose first rows have these values of the input, by column."""
    arrow = require("pyarrow", "tables", "writing Parquet")
    fields, as_json = [arrow.field(layout.row, arrow.int64())], set()
    for i, (name, values) in enumerate(zip(layout.columns, columns, strict=True)):
        if layout.schema is not None:
            kind = layout.schema.field(i).type
        else:
            kind = _infer(values) if layout.typed else arrow.string()
            if kind is None:
                as_json.add(i)
                kind = arrow.string()
        fields.append(arrow.field(writable(name), kind))
    label = _infer(layout.classes) or arrow.string()
    if layout.separator is not None:
        label = arrow.list_(label)
    names = [layout.confidence, *layout.shares]
    fields += [arrow.field(layout.label, label)]
    fields += [arrow.field(writable(name), arrow.float64()) for name in names]
    fields += [arrow.field(name, arrow.string()) for name in layout.reasons or ()]
    return Types(arrow.schema(fields), frozenset(as_json))


def _infer(values: list[Any]) -> Any:
    """The type of values; None where they have no common one."""
    arrow = require("pyarrow", "tables", "writing Parquet")
    try:
        kind = arrow.array(values).type
    except (arrow.ArrowException, TypeError, OverflowError, UnicodeEncodeError):
        return None
    return arrow.string() if arrow.types.is_null(kind) else kind


class ParquetWriter(Writer):
    """Columns with types: those of the input where it has them, else of its first rows.

    ``types`` are those of another file, which this one is to be alike.
    """

    def __init__(self, stream: IO[bytes], layout: Layout, types: Types | None = None) -> None:
        self._arrow = require("pyarrow", "tables", "writing Parquet")
        self._parquet = require("pyarrow.parquet", "tables", "writing Parquet")
        self._stream = stream
        self._layout = layout
        self._extra = Extra()
        self._writer: Any = None
        self._waiting: list[Any] = []  # batches of the next row group
        self._types = types
        if types is not None:
            self._open(types)

    def write(self, answers: Sequence[Answer]) -> None:
        for one in answers:
            self._extra.count(one)
        layout = self._layout
        columns = [list(values) for values in zip(*(one.values for one in answers), strict=True)]
        columns = columns or [[] for _ in layout.columns]
        types = self._types
        if types is None:
            types = self._open(find_types(layout, columns))
        ours: list[list[Any]] = [
            [one.label for one in answers],
            [one.confidence for one in answers],
        ]
        for i in range(len(layout.shares)):
            ours.append([None if one.shares is None else one.shares[i] for one in answers])
        if layout.reasons is not None:
            found = [one.reasons for one in answers]
            ours.append([None if one is None else one.verdict for one in found])
            ours.append([None if one is None else to_json(one.words) for one in found])
        rows = [one.row for one in answers]
        for i in types.as_json:
            columns[i] = [None if value is None else text_of_value(value) for value in columns[i]]
        arrays = []
        for values, field in zip([rows, *columns, *ours], types.schema, strict=True):
            try:
                arrays.append(self._array(values, field.type))
            except (self._arrow.ArrowException, TypeError, OverflowError) as error:
                raise DataError(
                    f"rows {rows[0]} to {rows[-1]}: column {field.name!r} does not hold "
                    f"{field.type} alone, as its first rows do ({error}); use --format jsonl or csv"
                ) from error
        self._waiting.append(self._arrow.record_batch(arrays, schema=types.schema))
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

    def _open(self, types: Types) -> Types:
        self._types = types
        self._writer = self._parquet.ParquetWriter(self._stream, types.schema)
        return types

    def close(self) -> None:
        if self._writer is None:
            self._open(find_types(self._layout, [[] for _ in self._layout.columns]))
        self._write_group()
        self._writer.close()
        self._extra.warn()

    def abandon(self) -> None:
        if self._writer is not None:  # while its file is open; it would write when it is deleted
            self._writer.close()


class Extra:
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


def key_of(label: Any) -> str:
    """A label as the key of a JSON object: a string as it is, else as JSON writes the value."""
    return label if isinstance(label, str) else json.dumps(label)


def _whole(value: Any) -> Any:
    """A value whose strings have escapes for halves of characters, as in the other formats."""
    if isinstance(value, str):
        return writable(value)
    if isinstance(value, list | tuple):
        return [_whole(one) for one in value]
    if isinstance(value, dict):
        return {_whole(key): _whole(one) for key, one in value.items()}
    return value


def text_of_value(value: Any) -> str:
    return value if isinstance(value, str) else to_json(value)


def to_json(value: Any) -> str:
    """JSON with letters as they are; NaN and infinity, which JSON has not, become null."""
    how: dict[str, Any] = {"ensure_ascii": False, "default": str}
    try:
        return json.dumps(value, allow_nan=False, **how)
    except ValueError:
        loaded = json.loads(json.dumps(value, **how), parse_constant=lambda name: None)
        return json.dumps(loaded, **how)

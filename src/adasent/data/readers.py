"""Reads a registry name or a user's file as a corpus, or its rows or texts, one at a time.

The raw files of the registry hold traps: two are not UTF-8 and keep U+0085 (a line break to
`str.splitlines`) inside lines, so a line ends at "\\n" and nowhere else.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from adasent.data.columns import choose_columns
from adasent.data.corpus import Corpus, Label, Labels, counted, take
from adasent.data.fetch import fetch, tar_member, zip_member
from adasent.data.label_cells import check_alike, label_list
from adasent.data.registry import Entry, corpora, find
from adasent.data.splits import official_split
from adasent.data.tables import How, Row, Table, open_table
from adasent.errors import ConfigError, DataError, nearest, setting

# Whole numbers that print as they were written, so a prediction reads like the user's own label.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# What the cleaning of Kim 2014 keeps; a line without any of it has no word to learn from.
_KEPT = re.compile(r"[A-Za-z0-9(),!?'`]")
#: Rows that a message names one by one.
_NAMED = 5

Pair: TypeAlias = tuple[str, Label]
#: A cell of a row of a table, by its position, as it is used; None where there is none.
_Reader: TypeAlias = Callable[[Table, Row, int], Any]


def load(
    data: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    weight: str | None = None,
    id: str | None = None,
    split: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    sheet: str | None = None,
    skip_missing: bool = False,
    label_separator: str | None = None,
) -> Corpus:
    """Read labelled texts.

    Parameters
    ----------
    data
        A registry name in any letter case, or a file: ``.csv``, ``.tsv``/``.tab``, ``.xlsx``,
        ``.jsonl``/``.ndjson``, ``.parquet``/``.pq``, or fastText lines
        (``.ft``/``.fasttext``/``.txt``, or any name when the first line starts with
        ``__label__``); a text file may be gzipped, with ``.gz`` after its ending. A string that is
        a registry name means the registry; write ``./mr`` or pass a Path for a file of that name.
    text, label
        Column names of a file; None takes the one column that is called so, or else the only one
        whose name is among `TEXT_COLUMNS` or `LABEL_COLUMNS`, in any letter case.
    weight, id
        Columns of weights of the texts and of names for them, if there are any.
    split
        ``"train"`` or ``"test"`` for one part of a set that has an official split; None for all.
    encoding
        Of a text file; a byte order mark is dropped, and says that a file is UTF-16. Registry sets
        know their own.
    delimiter
        Between the fields of a text file: a character, or ``comma``, ``semicolon``, ``tab``,
        ``pipe`` or ``none``. None finds out which of these a CSV file has.
    sheet
        Of an Excel file; None is the first.
    skip_missing
        Leave rows out that have no text, no label or no weight, and say so in the notes of the
        corpus; otherwise such rows are an error that counts them.
    label_separator
        Where a text may have several labels, what stands between them in a cell, such as ``"|"``; a
        blank cell is a text without any. Lists in JSON lines or Parquet need none.

    Raises
    ------
    DataError
        For a file that cannot be used, with the line number.
    ConfigError
        For columns or a split that do not go with the data.
    FetchError
        If a registry set cannot be had.
    """
    entry = find(data) if isinstance(data, str) else None
    roles = {"text": text, "label": label, "weight": weight, "id": id}
    if entry is not None:
        of_files = roles | {
            "delimiter": delimiter,
            "sheet": sheet,
            "label_separator": label_separator,
        }
        given = [name for name, value in of_files.items() if value is not None]
        if given:
            raise ConfigError(
                f"{entry.name!r} is a registry set, not a file; leave "
                f"{' and '.join(map(setting, given))} out"
            )
        return _part(_read_entry(entry), split)
    if split is not None:
        raise ConfigError(f"{setting('split', split)}: a file has no official split; leave it out")
    path = Path(data)
    if not path.exists():
        is_name = not path.suffix and len(path.parts) == 1  # it may be meant as one of the registry
        hint = nearest(path.name, corpora()) if is_name else ""
        raise DataError(f"no file and no registered set called {str(data)!r}{hint}")
    if label_separator == "":
        raise ConfigError(f"{setting('label_separator', 'CHAR')}: expected a character, got none")
    how = How(encoding, delimiter, sheet)
    with open_table(path, how) as table:
        return _read_file(table, roles, skip_missing=skip_missing, separator=label_separator)


def stream_texts(
    path: str | Path,
    *,
    text: str | None = None,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    sheet: str | None = None,
) -> Iterator[tuple[int, str]]:
    """Read texts one at a time, in constant memory; labels, if any, are left unread.

    Parameters
    ----------
    path
        A file as for :func:`load`, a plain text file (``.txt`` or no ending) with one text a
        line, gzipped or not, or ``"-"`` for standard input with one text a line. A plain line ends
        at "\\n", one "\\r" before it is dropped, and a blank line is an empty text.
    text
        Column name, as for :func:`load`; not used for plain lines.
    encoding, delimiter, sheet
        As for :func:`load`.

    Yields
    ------
    The row of the text, as pandas counts it, and the text: an empty one for a blank cell of a CSV,
    TSV or Excel file. Where the format tells nothing from an empty string, nothing is an error.
    """
    with open_table(Path(path), How(encoding, delimiter, sheet), plain=True) as table:
        position = text_column(table, text)
        for row in table.rows:
            found = text_of(table, row, position)
            if found is None and not table.blank_is_missing:
                raise DataError(
                    f"{table.where(row)}: expected a string in column "
                    f"{table.columns[position]!r}, got nothing; fill it in or remove the row"
                )
            yield row.number, found or ""


def text_column(table: Table, text: str | None = None) -> int:
    """The position of the column of texts; of plain lines no name is asked."""
    if table.plain or not table.columns:
        return 0
    return table.columns.index(choose_columns(table.path, table.columns, {"text": text})["text"])


def text_of(table: Table, row: Row, position: int) -> str | None:
    """The text of a row; None where there is none.

    A blank cell of a CSV, TSV or Excel file is none; of files that tell an empty string from
    nothing, an empty string is a text.
    """
    value = row.values[position]
    if isinstance(value, str):
        return None if table.blank_is_missing and not value.strip() else value
    if _is_missing(value):
        return None
    if table.blank_is_missing:  # Excel, where a text that looks like a number is one
        return str(value)
    raise DataError(
        f"{table.where(row)}: expected a string in column {table.columns[position]!r}, got "
        f"{type(value).__name__}; turn it into a string or remove the row"
    )


def _part(corpus: Corpus, split: str | None) -> Corpus:
    if split is None:
        return corpus
    if split not in ("train", "test"):
        raise ConfigError(f"split={split!r}: expected 'train' or 'test'")
    fold = official_split(corpus)
    indices = fold.train if split == "train" else fold.test
    texts, labels = take(corpus.texts, indices), take(corpus.labels, indices)
    return replace(corpus, name=f"{corpus.name}-{split}", texts=texts, labels=labels, test=None)


def _read_file(
    table: Table, roles: dict[str, str | None], *, skip_missing: bool, separator: str | None
) -> Corpus:
    """All rows of a table that have what they need."""
    path = table.path
    if not table.columns:
        raise DataError(f"{path} holds no rows; expected at least one text with a label")
    columns = choose_columns(path, table.columns, roles)
    at = {role: table.columns.index(name) for role, name in columns.items()}
    read: dict[str, _Reader] = _READ | {"label": partial(_label, separator=separator)}
    found: dict[str, list[Any]] = {role: [] for role in columns}
    rows: list[int] = []
    missing: Counter[str] = Counter()
    without: list[Row] = []
    for row in table.rows:
        values: dict[str, Any] = {role: read[role](table, row, at[role]) for role in columns}
        lacks = [role for role, value in values.items() if value is None and role != "id"]
        if lacks:
            missing.update(lacks)
            without.append(row)
            continue
        rows.append(row.number)
        for role, value in values.items():
            found[role].append(value)
    notes = [f"{counted(table.n_blank, 'blank line')} skipped"] if table.n_blank else []
    if without:
        n_rows = counted(len(rows) + len(without), "row")
        what = _missing(missing, columns)
        if not skip_missing:
            first = table.where(without[0]).removeprefix(f"{path}, ")
            raise DataError(
                f"{path}: {len(without):,} of {n_rows} cannot be used: {what} (the first: "
                f"{first}); fill them in, or skip them with {setting('skip_missing', True)}"
            )
        named = ", ".join(str(row.number) for row in without[:_NAMED])
        more = ", ..." if len(without) > _NAMED else ""
        notes.append(f"{len(without):,} of {n_rows} skipped: {what} (rows {named}{more})")
    if not rows:
        raise DataError(f"{path} holds no rows; expected at least one text with a label")
    labels = found["label"]
    check_alike(labels, path)
    flat = [label for one in labels for label in (one if isinstance(one, tuple) else (one,))]
    if not table.typed and all(_INTEGER.fullmatch(str(label)) for label in flat):
        labels = [tuple(map(int, x)) if isinstance(x, tuple) else int(x) for x in labels]
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Corpus(
        path.name,
        found["text"],
        labels,
        digest,
        notes,
        rows=rows,
        weights=found.get("weight"),
        ids=found.get("id"),
        columns=columns if table.named else {},
        read_as=list(table.notes),
    )


def _missing(missing: Counter[str], columns: dict[str, str]) -> str:
    """``2 without a label in 'stars', 1 without a text in 'review'``."""
    parts = [f"{n:,} without a {role} in {columns[role]!r}" for role, n in missing.most_common()]
    return ", ".join(parts)


def _is_missing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and math.isnan(value))


def _label(
    table: Table, row: Row, position: int, separator: str | None = None
) -> Label | Labels | None:
    value = row.values[position]
    several = label_list(value, separator, table.where(row))
    if several is not None:
        return several
    if _is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    if isinstance(value, str | int | float):
        return value
    raise DataError(
        f"{table.where(row)}: expected one string, number or boolean in column "
        f"{table.columns[position]!r}, got {type(value).__name__}"
    )


def _weight(table: Table, row: Row, position: int) -> float | None:
    value = row.values[position]
    if _is_missing(value) or (isinstance(value, str) and not value.strip()):
        return None
    try:
        weight = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise DataError(
            f"{table.where(row)}: expected a weight of 0 or more in column "
            f"{table.columns[position]!r}, got {value!r}"
        )
    return weight


def _id(table: Table, row: Row, position: int) -> Any:
    return row.values[position]


_READ: dict[str, _Reader] = {"text": text_of, "label": _label, "weight": _weight, "id": _id}


def _read_entry(entry: Entry) -> Corpus:
    if entry.reader is None:
        raise DataError(
            f"{entry.name!r} is not a labelled data set but: {entry.title}; "
            f"adasent.data.fetch({entry.name!r}) gives its file"
        )
    bodies = [path.read_bytes() for path in fetch(entry.name)]
    for member in entry.members:
        bodies = [_member(body, member) for body in bodies]
    files = [_lines(body, entry.encoding) for body in bodies]
    pairs, notes = _READERS[entry.reader](entry, files)
    test = None
    if entry.split == "official":  # the last file, of which every line is kept
        test = np.arange(len(pairs) - len(files[-1]), len(pairs), dtype=np.int64)
    digest = hashlib.sha256(b"".join(bodies)).hexdigest()
    texts, labels = [text for text, _ in pairs], [label for _, label in pairs]
    return Corpus(entry.name, texts, labels, digest, notes, test)


def _member(body: bytes, name: str) -> bytes:
    is_zip = body.startswith(b"PK")
    return (zip_member if is_zip else tar_member)(io.BytesIO(body), name)


def _lines(body: bytes, encoding: str) -> list[str]:
    return body.decode(encoding).removesuffix("\n").split("\n") if body else []


def _read_classes(entry: Entry, files: list[list[str]]) -> tuple[list[Pair], list[str]]:
    """One file a class, one text a line; blank lines are dropped."""
    pairs: list[Pair] = []
    for file, lines in zip(entry.files, files, strict=True):
        assert file.label is not None
        pairs += [(line, file.label) for line in lines if line.strip()]
    n_blank = sum(map(len, files)) - len(pairs)
    n_wordless = sum(_KEPT.search(text) is None for text, _ in pairs)
    notes = []
    if n_blank:
        notes.append(f"{counted(n_blank, 'blank line')} dropped")
    if n_wordless:
        notes.append(f"{counted(n_wordless, 'line')} without a word after cleaning, kept")
    return pairs, notes


def _read_trec(entry: Entry, files: list[list[str]]) -> tuple[list[Pair], list[str]]:
    """``COARSE:fine question`` lines; the coarse class is the label."""
    parts = [line.partition(" ") for lines in files for line in lines]
    return [(question, kind.partition(":")[0]) for kind, _, question in parts], []


def _read_rated(entry: Entry, files: list[list[str]]) -> tuple[list[Pair], list[str]]:
    """``id, mean rating, text`` between tabs; the sign is the label, a mean of 0 is dropped."""
    rows = [line.rstrip("\r").split("\t", 2) for lines in files for line in lines]
    pairs: list[Pair] = [
        (text, "positive" if float(rating) > 0 else "negative")
        for _, rating, text in rows
        if float(rating) != 0
    ]
    n_undecided = len(rows) - len(pairs)
    return pairs, [f"{counted(n_undecided, 'undecided snippet')} (mean rating 0) dropped"]


def _read_reviews(entry: Entry, files: list[list[str]]) -> tuple[list[Pair], list[str]]:
    """CSV of ``text,label,source``: those of IMDb; the page's ``<br />`` is a line break."""
    rows = [row for lines in files for row in csv.reader(f"{line}\n" for line in lines[1:])]
    pairs: list[Pair] = [
        (text.replace("<br />", "\n"), "positive" if label == "1" else "negative")
        for text, label, source in rows
        if source == "imdb"
    ]
    return pairs, [f"{counted(len(rows) - len(pairs), 'sentence')} of another source dropped"]


_READERS = {
    "lines": _read_classes,
    "trec": _read_trec,
    "rated": _read_rated,
    "reviews": _read_reviews,
}

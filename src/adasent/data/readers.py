"""Reads a registry name or a user's file as a corpus, or only its texts, one at a time.

The raw files of the registry hold traps: two are not UTF-8 and keep U+0085 (a line break to
`str.splitlines`) inside lines, so a line ends at "\\n" and nowhere else.
"""

from __future__ import annotations

import csv
import hashlib
import io
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from adasent.data.corpus import Corpus, Label, counted, take
from adasent.data.fetch import fetch, tar_member, zip_member
from adasent.data.registry import Entry, corpora, find
from adasent.data.splits import official_split
from adasent.data.tables import (
    PLAIN,
    STDIN,
    TABLES,
    UNTYPED,
    Rows,
    bare,
    fasttext_rows,
    open_lines,
    parse_fasttext,
)
from adasent.errors import ConfigError, DataError, nearest

TEXT_COLUMNS = (
    "text", "sentence", "review", "question", "comment", "content", "message", "tweet",
    "phrase", "utterance", "snippet", "document", "body",
)  # fmt: skip
LABEL_COLUMNS = (
    "label", "labels", "class", "target", "category", "sentiment", "polarity", "intent", "topic",
    "y",
)  # fmt: skip

# Whole numbers that print as they were written, so a prediction reads like the user's own label.
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,17}")
# What the cleaning of Kim 2014 keeps; a line without any of it has no word to learn from.
_KEPT = re.compile(r"[A-Za-z0-9(),!?'`]")

Pair: TypeAlias = tuple[str, Label]


def load(
    data: str | Path,
    *,
    text: str | None = None,
    label: str | None = None,
    split: str | None = None,
    encoding: str = "utf-8",
) -> Corpus:
    """Read labelled texts.

    Parameters
    ----------
    data
        A registry name in any letter case, or a file: ``.csv``, ``.tsv``/``.tab``,
        ``.jsonl``/``.ndjson``, ``.parquet``/``.pq``, or fastText lines
        (``.ft``/``.fasttext``/``.txt``, or any name when the first line starts with
        ``__label__``). A string that is a registry name means the registry; write ``./mr`` or
        pass a Path for a file of that name.
    text, label
        Column names of a file; None takes the first of `TEXT_COLUMNS` and `LABEL_COLUMNS` that
        is there, in any letter case.
    split
        ``"train"`` or ``"test"`` for one part of a set that has an official split; None for all.
    encoding
        Of a text file; a byte order mark is dropped. Registry sets know their own.

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
    if entry is not None:
        if text is not None or label is not None:
            raise ConfigError(f"{entry.name!r} is a registry set: text and label name file columns")
        return _part(_read_entry(entry), split)
    if split is not None:
        raise ConfigError(f"split={split!r}: a file has no official split; leave it out")
    path = Path(data)
    if not path.exists():
        is_name = not path.suffix and len(path.parts) == 1  # it may be meant as one of the registry
        hint = nearest(path.name, corpora()) if is_name else ""
        raise DataError(f"no file and no registered set called {str(data)!r}{hint}")
    return _read_file(path, text, label, encoding)


def stream_texts(
    path: str | Path, *, text: str | None = None, encoding: str = "utf-8"
) -> Iterator[tuple[int, str]]:
    """Read texts one at a time, in constant memory; labels, if any, are left unread.

    Parameters
    ----------
    path
        A file as for :func:`load`, a plain text file (``.txt`` or no ending) with one text a
        line, or ``"-"`` for standard input with one text a line. A plain line ends at "\\n", one
        "\\r" before it is dropped, and a blank line is an empty text.
    text
        Column name, as for :func:`load`; not used for plain lines.
    encoding
        Of a text file.

    Yields
    ------
    The line (Parquet: row) that the text starts on, counted from 1, and the text.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if path == STDIN or suffix in PLAIN:
        yield from _plain(path, encoding)
        return
    columns = _Columns(path, text=text)
    for number, values in _rows(path, columns, encoding):
        if values is not None:
            yield number, _text(path, number, values[0], columns.chosen[0])


def _plain(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    labelled = False
    with open_lines(path, encoding) as lines:
        for number, line in enumerate(map(bare, lines), start=1):
            if number == 1:
                labelled = path != STDIN and line.startswith("__label__")
            if not labelled:
                yield number, line
            elif (pair := parse_fasttext(f"{path}, line {number}", line)) is not None:
                yield number, pair[0]


def _part(corpus: Corpus, split: str | None) -> Corpus:
    if split is None:
        return corpus
    if split not in ("train", "test"):
        raise ConfigError(f"split={split!r}: expected 'train' or 'test'")
    fold = official_split(corpus)
    indices = fold.train if split == "train" else fold.test
    texts, labels = take(corpus.texts, indices), take(corpus.labels, indices)
    return replace(corpus, name=f"{corpus.name}-{split}", texts=texts, labels=labels, test=None)


def _read_file(path: Path, text: str | None, label: str | None, encoding: str) -> Corpus:
    columns = _Columns(path, text=text, label=label)
    texts: list[str] = []
    labels: list[Label] = []
    n_blank = 0
    for number, values in _rows(path, columns, encoding):
        if values is None:
            n_blank += 1
            continue
        texts.append(_text(path, number, values[0], columns.chosen[0]))
        labels.append(_label(path, number, values[1], columns.chosen[1]))
    if not texts:
        raise DataError(f"{path} holds no rows; expected at least one text with a label")
    if path.suffix.lower() in UNTYPED and all(_INTEGER.fullmatch(str(label)) for label in labels):
        labels = [int(label) for label in labels]
    notes = [f"{counted(n_blank, 'blank line')} skipped"] if n_blank else []
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    return Corpus(path.name, texts, labels, digest, notes)


def _rows(path: Path, columns: _Columns, encoding: str) -> Rows:
    """Open the file in the format that its name, or else its first line, tells."""
    suffix = path.suffix.lower()
    if suffix in TABLES:
        return TABLES[suffix](path, columns, encoding)
    if suffix in PLAIN or _starts_with_label(path, encoding):
        return fasttext_rows(path, columns, encoding)
    endings = ", ".join(sorted({*TABLES, *PLAIN} - {""}))
    extra = "; a file with one JSON object a line should end in .jsonl" if suffix == ".json" else ""
    raise DataError(f"{path}: unknown format; expected a file ending in {endings}{extra}")


class _Columns:
    """Picks the text column, and the label column if wanted, out of those that a file has."""

    def __init__(self, path: Path, **wanted: str | None) -> None:
        self._path = path
        self._wanted = wanted  # role -> name, or None for the first that is likely
        self.chosen = ["text", "label"]  # what fastText lines hold; tables ask below

    def __call__(self, columns: Sequence[str]) -> list[str]:
        self.chosen = [self._pick(columns, role, name) for role, name in self._wanted.items()]
        if len(set(self.chosen)) < len(self.chosen):
            raise ConfigError(f"column {self.chosen[0]!r} cannot be both text and label")
        return self.chosen

    def _pick(self, columns: Sequence[str], role: str, wanted: str | None) -> str:
        guesses = TEXT_COLUMNS if role == "text" else LABEL_COLUMNS
        there = ", ".join(repr(name) for name in columns)
        if wanted is None:
            folded = {name.strip().casefold(): name for name in reversed(columns)}
            name = next((folded[guess] for guess in guesses if guess in folded), None)
            if name is None:
                raise DataError(
                    f"{self._path}: no column looks like the {role} (such as {guesses[0]!r} or "
                    f"{guesses[1]!r}); name it with {role}=...; the columns are {there}"
                )
        elif wanted in columns:
            name = wanted
        else:
            raise DataError(f"{self._path}: no column {wanted!r}; the columns are {there}")
        if columns.count(name) > 1:
            raise DataError(f"{self._path}: two columns are called {name!r}; rename one")
        return name


def _text(path: Path, number: int, value: Any, column: str) -> str:
    if isinstance(value, str):
        return value
    what = "nothing" if value is None else type(value).__name__
    raise DataError(
        f"{_where(path, number)}: expected a string in column {column!r}, got {what}; "
        "fill it in or remove the row"
    )


def _label(path: Path, number: int, value: Any, column: str) -> Label:
    missing = value is None or (isinstance(value, float) and math.isnan(value))
    if missing or (isinstance(value, str) and not value.strip()):
        raise DataError(
            f"{_where(path, number)}: no label in column {column!r}; fill it in or remove the row"
        )
    if isinstance(value, str | int | float):
        return value
    raise DataError(
        f"{_where(path, number)}: expected one string, number or boolean in column {column!r}, "
        f"got {type(value).__name__}"
    )


def _where(path: Path, number: int) -> str:
    unit = "row" if path.suffix.lower() in (".parquet", ".pq") else "line"
    return f"{path}, {unit} {number}"


def _starts_with_label(path: Path, encoding: str) -> bool:
    """Whether an unknown file is fastText; bytes that do not decode mean that it is not."""
    with open_lines(path, encoding) as lines:
        try:
            return next(lines, "").startswith("__label__")
        except DataError:
            return False


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

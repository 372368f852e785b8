"""Finds what stands between the fields of a table, from its first lines.

Of the 24 files in ``tests/data/test_delimiters.py``, Python's ``csv.Sniffer`` is wrong about three,
and the package clevercsv about three others, two of them single columns of texts with commas. Here
each candidate is tried by the parser that will read the file. Column names seldom hold a separator,
so the header says which are possible; the rows, of which most must have as many fields as the
header, say which of these it is.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from adasent.errors import ConfigError, setting

#: Names for messages; the order decides between candidates that fit equally well.
NAMES = {",": "comma", ";": "semicolon", "\t": "tab", "|": "pipe"}

#: Of a file without a separator: each row is one field. No text holds it.
NONE = "\x1f"
_SPELT = {"\\t": "\t", "none": NONE, **{name: char for char, name in NAMES.items()}}

#: How many characters of a file are looked at.
SAMPLE = 1 << 16


class _Fit(NamedTuple):
    share: float  # of the rows that have as many fields as the header
    n_fields: int  # of the header
    n_rows: int


def parse_delimiter(given: str) -> str:
    """One character, or the name of one: comma, semicolon, tab, pipe, none."""
    delimiter = _SPELT.get(given.lower(), given)
    if len(delimiter) != 1 or delimiter in '\r\n" ':
        raise ConfigError(
            f"{setting('delimiter')}: expected one character, or comma, semicolon, tab, pipe or "
            f"none, got {given!r}"
        )
    return delimiter


def find_delimiter(lines: Iterator[str]) -> tuple[str, Iterator[str]]:
    """The separator, and all the lines, those that were looked at included."""
    head: list[str] = []
    size = 0
    for line in lines:
        head.append(line)
        size += len(line)
        if size >= SAMPLE:
            return _guess(head, whole=False), chain(head, lines)
    return _guess(head, whole=True), iter(head)


def _guess(lines: Sequence[str], *, whole: bool) -> str:
    fits = {delimiter: _fit(lines, delimiter, whole=whole) for delimiter in NAMES}
    possible = {delimiter: fit for delimiter, fit in fits.items() if fit.n_fields > 1}
    if not possible:
        return NONE if any(line.strip() for line in lines) else ","
    best = max(possible, key=lambda delimiter: possible[delimiter][:2])
    # A name such as "What did you like, and why?" over a single column of texts.
    return NONE if possible[best].n_rows > 1 and possible[best].share == 0 else best


def _fit(lines: Sequence[str], delimiter: str, *, whole: bool) -> _Fit:
    """How well a separator explains the lines."""
    sizes: list[int] = []
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    n_broken = 0
    try:
        sizes.extend(len(record) for record in reader if any(map(str.strip, record)))
    except csv.Error:  # also of a field that is too long, and of the end of the sample in quotes
        n_broken = int(whole or reader.line_num < len(lines))
    else:
        if not whole:  # the last row may go on behind the sample
            sizes = sizes[:-1] or sizes
    if not sizes:
        return _Fit(0.0, 0, 0)
    header, *rows = sizes
    n_rows = len(rows) + n_broken
    return _Fit(rows.count(header) / n_rows if n_rows else 1.0, header, n_rows)

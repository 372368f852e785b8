"""What ``adasent predict`` labels: texts on the command line, files, or standard input."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from adasent.cli.reading import TextReading
from adasent.data.opening import STDIN
from adasent.data.tables import PLAIN, TABLES, How, Row, Table, kind_of, open_table
from adasent.errors import ConfigError, DataError


def sort_inputs(inputs: Sequence[str], reading: TextReading) -> Sequence[Path | str]:
    """The files, or the texts, that the arguments are; checked before anything is read."""
    if not inputs:
        if sys.stdin.isatty():
            raise typer.BadParameter("no TEXT or FILE given, and standard input is a terminal.")
        return [STDIN]
    files = [Path(one) for one in inputs if one == "-" or _is_file(one)]
    texts = [one for one in inputs if one != "-" and not _is_file(one)]
    meant = [one for one in texts if _looks_like_file(one)]
    if meant:
        raise DataError(f"no file called {meant[0]!r}")
    if files and texts:
        raise ConfigError(
            f"expected texts or files, got both: {files[0]} is a file, {texts[0]!r} is none"
        )
    if texts and reading.words:
        raise ConfigError(f"{reading.words[0]}: it describes a file, and texts were given")
    return texts or files


def _is_file(value: str) -> bool:
    try:
        return Path(value).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


def _looks_like_file(value: str) -> bool:
    """Whether a text without white space has the shape of a file's name."""
    if not value or any(map(str.isspace, value)):
        return False
    known = (*TABLES, *PLAIN, ".json", ".xls")
    return kind_of(Path(value)) in [ending for ending in known if ending] or os.sep in value


@contextmanager
def open_input(one: Path | str, reading: TextReading) -> Iterator[Table]:
    """A file, or a text of the command line, as a table.

    Standard input is plain lines, or a table if a column or delimiter is named.
    """
    if isinstance(one, str):
        yield Table(Path("-"), ["text"], iter([Row(0, 1, [one], {})]), plain=True)
        return
    how = How(reading.encoding, reading.delimiter, reading.sheet, table=reading.text is not None)
    with open_table(one, how, plain=True) as table:
        yield table

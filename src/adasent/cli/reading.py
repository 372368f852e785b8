"""How a user's file is read: the options for it, what is said of it, and hints that repeat them."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console
from adasent.cli.groups import Given

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.data.tables import Table

PANEL = "How the file is read"

Text = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the texts; else one called such as text.",
        rich_help_panel=PANEL,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COL",
        help="Column of the labels; else one called such as label.",
        rich_help_panel=PANEL,
    ),
]
Encoding = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Encoding of a text file; UTF-16 with a byte order mark is noticed.",
        rich_help_panel=PANEL,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="Between the fields of a text file: comma, semicolon, tab, pipe, none, or a "
        "character; found out by default.",
        rich_help_panel=PANEL,
    ),
]
Sheet = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Sheet of an Excel file; the first by default.", rich_help_panel=PANEL
    ),
]
SkipMissing = Annotated[
    bool,
    typer.Option(
        "--skip-missing",
        help="Leave out rows without a text or a label, and say how many.",
        rich_help_panel=PANEL,
    ),
]


LabelSeparator = Annotated[
    str | None,
    typer.Option(
        metavar="CHAR",
        help="A text may have several labels, with this between them in a cell, such as '|'. Lists "
        "in JSON lines or Parquet need no option.",
        rich_help_panel=PANEL,
    ),
]


@dataclass(frozen=True)
class TextReading(Given):
    """Options of a command that reads texts."""

    text: Text = None
    encoding: Encoding = "utf-8"
    delimiter: Delimiter = None
    sheet: Sheet = None


@dataclass(frozen=True)
class Reading(Given):
    """Options of a command that reads labelled texts."""

    text: Text = None
    label: Label = None
    encoding: Encoding = "utf-8"
    delimiter: Delimiter = None
    sheet: Sheet = None
    skip_missing: SkipMissing = False
    label_separator: LabelSeparator = None

    @property
    def options(self) -> dict[str, Any]:
        """Keywords of :func:`adasent.data.load`."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def load(self, data: str, *, quiet: bool = False, notes: bool = True, **more: Any) -> Corpus:
        """Read a set or a file, and say which columns it was read from, and what was skipped."""
        from adasent.data import load

        corpus = load(data, **self.options | more)
        if not quiet:
            given = [role for role in corpus.columns if getattr(self, role, None) or role in more]
            say_columns(corpus.columns, given, corpus.read_as)
            for note in corpus.notes if notes else ():
                console(stderr=True).print(f"note: {note}", soft_wrap=True)
        return corpus


def say_table(table: Table, columns: dict[str, str], given: list[str]) -> None:
    """As :func:`say_columns`, of a file that is being read."""
    if table.named:
        say_columns(columns, given, table.notes)


def say_columns(columns: dict[str, str], given: list[str], read_as: list[str]) -> None:
    """One line on standard error: the column of each role, and what was found out of the file."""
    if not columns:
        return
    line = "columns: " + ", ".join(f"{role} from {name!r}" for role, name in columns.items())
    guessed = [f"--{role}" for role in columns if role not in given]
    if guessed:
        line += f" (by name; {' and '.join(guessed)} can say otherwise)"
    console(stderr=True).print("; ".join([line, *read_as]), soft_wrap=True)

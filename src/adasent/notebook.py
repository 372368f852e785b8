"""Small tables of HTML, for objects that a notebook shows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def html_table(rows: Mapping[str, object]) -> str:
    """Names and values, one pair a line."""
    return _table(f"<tr><th>{_cell(name)}</th>{_td(value)}</tr>" for name, value in rows.items())


def html_columns(names: Sequence[str], rows: Sequence[Sequence[object]], bold: int | None) -> str:
    """A line for each row below the names; the row ``bold`` stands out."""
    head = "".join(f"<th>{_cell(name)}</th>" for name in names)
    lines = [f"<tr>{head}</tr>"]
    for i, row in enumerate(rows):
        style = ' style="font-weight:bold"' if i == bold else ""
        lines.append(f"<tr{style}>{''.join(map(_td, row))}</tr>")
    return _table(lines)


def _table(lines: Iterable[str]) -> str:
    return f"<table>{''.join(lines)}</table>"


def _td(value: object) -> str:
    return f'<td style="text-align:left">{_cell(value)}</td>'


def _cell(value: object) -> str:
    return escape("" if value is None else str(value))

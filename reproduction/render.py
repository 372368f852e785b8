"""Writes a table of strings as plain text, Markdown, LaTeX or HTML."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple


class Cell(NamedTuple):
    """What stands in one place of a table; bold marks the best of a column."""

    text: str
    bold: bool = False


@dataclass(frozen=True)
class Table:
    """A table ready to be written out.

    Attributes
    ----------
    name
        For files: ``table2``.
    rows
        As many cells each as there are columns; the first names the row.
    notes
        Sentences below the table.
    n_missing
        Cells that should hold a figure of ours and have no records.
    of_words
        Whether cells hold sentences rather than figures: these stand to the left.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    n_missing: int = 0
    of_words: bool = False


def render(table: Table, form: str) -> str:
    """The table in one of :data:`FORMS`, ending with a line end."""
    return FORMS[form](table)


def to_text(table: Table) -> str:
    """Columns lined up by spaces; the first to the left, figures to the right."""
    lines = [table.columns, *([cell.text for cell in row] for row in table.rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = "─" * (sum(widths) + 2 * (len(widths) - 1))
    align = str.ljust if table.of_words else str.rjust
    body = [
        "  ".join([first.ljust(widths[0]), *map(align, rest, widths[1:])]).rstrip()
        for first, *rest in lines
    ]
    return "\n".join([table.title, "", body[0], rule, *body[1:], "", *table.notes]).rstrip() + "\n"


def to_markdown(table: Table) -> str:
    """A pipe table; the best of a column in bold."""

    def row(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    side = ":--" if table.of_words else "--:"
    marks = [":--", *[side] * (len(table.columns) - 1)]
    body = [row([f"**{c.text}**" if c.bold else c.text for c in cells]) for cells in table.rows]
    notes = [line for note in table.notes for line in ("", note)]
    return (
        "\n".join([f"**{table.title}**", "", row(table.columns), row(marks), *body, *notes]) + "\n"
    )


_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "±": r"$\pm$",
        "Δ": r"$\Delta$",
        "−": "$-$",
        "–": "--",
        "<": "$<$",
        ">": "$>$",
        "▲": r"$\blacktriangle$",
        "▼": r"$\blacktriangledown$",
        "†": r"$\dagger$",
    }
)


def to_latex(table: Table) -> str:
    """A ``table`` environment; needs booktabs and amssymb."""

    def row(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    body = [
        row([rf"\textbf{{{_tex(c.text)}}}" if c.bold else _tex(c.text) for c in cells])
        for cells in table.rows
    ]
    caption = " ".join([f"{table.title}.", *table.notes])
    side = "l" if table.of_words else "r"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\begin{{tabular}}{{l{side * (len(table.columns) - 1)}}}",
            r"\toprule",
            row([_tex(column) for column in table.columns]),
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{_tex(caption)}}}",
            rf"\label{{tab:{table.name}}}",
            r"\end{table}",
            "",
        ]
    )


def _tex(text: str) -> str:
    return text.translate(_LATEX)


def to_html(table: Table) -> str:
    """A ``figure`` with the table and its notes; classes only, no style."""

    def row(kind: str, cells: Sequence[str]) -> str:
        first, *rest = cells
        scope = "col" if kind == "th" else "row"
        return (
            f'<tr><th scope="{scope}">{first}</th>'
            + "".join(f"<{kind}>{cell}</{kind}>" for cell in rest)
            + "</tr>"
        )

    body = [
        row("td", [f"<b>{html.escape(c.text)}</b>" if c.bold else html.escape(c.text) for c in r])
        for r in table.rows
    ]
    notes = "".join(f"<p>{html.escape(note)}</p>" for note in table.notes)
    kind = "words" if table.of_words else "table"
    return "\n".join(
        [
            f'<figure class="{kind}" id="{html.escape(table.name, quote=True)}">',
            "<table>",
            f"<caption>{html.escape(table.title)}</caption>",
            f"<thead>{row('th', [html.escape(column) for column in table.columns])}</thead>",
            "<tbody>",
            *body,
            "</tbody>",
            "</table>",
            f"<figcaption>{notes}</figcaption>",
            "</figure>",
            "",
        ]
    )


FORMS: dict[str, Callable[[Table], str]] = {
    "text": to_text,
    "markdown": to_markdown,
    "latex": to_latex,
    "html": to_html,
}
SUFFIXES = {"text": "txt", "markdown": "md", "latex": "tex", "html": "html"}

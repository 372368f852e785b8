"""One table in four forms, special characters included."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from reproduction.render import FORMS, SUFFIXES, Cell, Table, render

TABLE = Table(
    "toy",
    "A & B",
    ("Model", "|w| %"),
    ((Cell("a_b"), Cell("79.6 ± 1.1▼", bold=True)), (Cell("<c>"), Cell("−1"))),
    ("A note: 5 % < 6 %.",),
)


def test_text() -> None:
    assert render(TABLE, "text") == (
        "A & B\n"
        "\n"
        "Model        |w| %\n"
        "──────────────────\n"
        "a_b    79.6 ± 1.1▼\n"
        "<c>             −1\n"
        "\n"
        "A note: 5 % < 6 %.\n"
    )


def test_markdown() -> None:
    assert render(TABLE, "markdown").splitlines() == [
        "**A & B**",
        "",
        r"| Model | \|w\| % |",
        "| :-- | --: |",
        "| a_b | **79.6 ± 1.1▼** |",
        "| <c> | −1 |",
        "",
        "A note: 5 % < 6 %.",
    ]


def test_latex() -> None:
    lines = render(TABLE, "latex").splitlines()
    assert r"\begin{tabular}{lr}" in lines
    assert r"a\_b & \textbf{79.6 $\pm$ 1.1$\blacktriangledown$} \\" in lines
    assert r"$<$c$>$ & $-$1 \\" in lines
    assert r"\caption{A \& B. A note: 5 \% $<$ 6 \%.}" in lines


def test_html_is_well_formed() -> None:
    figure = ElementTree.fromstring(render(TABLE, "html"))
    assert figure.get("id") == "toy"
    assert [cell.text for cell in figure.iter("th")] == ["Model", "|w| %", "a_b", "<c>"]
    assert [cell.text for cell in figure.iter("b")] == ["79.6 ± 1.1▼"]
    assert [cell.text for cell in figure.iter("p")] == ["A note: 5 % < 6 %."]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_ends_with_one_line_end(form: str) -> None:
    text = render(TABLE, form)
    assert text.endswith("\n")
    assert not text.endswith("\n\n")
    assert form in SUFFIXES

"""Fills the template of the page, and writes the page with its pictures."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from adasent.errors import require
from reproduction.catalog import Catalog
from reproduction.figures import FIGURES
from reproduction.plots import accuracy_figure, draw
from reproduction.report.page import to_html
from reproduction.report.slots import slots


def template() -> str:
    """The page with its slots."""
    return resources.files("reproduction.report").joinpath("template.md").read_text("utf-8")


def build_report(catalog: Catalog) -> str:
    """The page as Markdown.

    Raises
    ------
    DataError
        If records of a figure are missing.
    """
    return fill(template(), slots(catalog))


def fill(text: str, values: Mapping[str, Any]) -> str:
    """The template with the values in its slots; a slot without a value is an error."""
    require("jinja2", "reproduction", "writing the report")
    from jinja2 import Environment, StrictUndefined

    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True)
    return environment.from_string(text).render(values)


def write_report(catalog: Catalog, folder: Path) -> None:
    """Write ``reproduction.md``, ``reproduction.html`` and ``pictures/`` into a folder."""
    text = build_report(catalog)
    for data in pictures(catalog):
        draw(data, folder / "pictures" / f"{data['figure']}.svg")
    (folder / "reproduction.md").write_text(text, "utf-8")
    (folder / "reproduction.html").write_text(to_html(text, folder), "utf-8")


def pictures(catalog: Catalog) -> list[Mapping[str, Any]]:
    """The data of every figure that there is."""
    found = [catalog.figure(name) for name in FIGURES]
    return [accuracy_figure(catalog.results), *(data for data in found if data is not None)]

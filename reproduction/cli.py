"""``python -m reproduction``: the paper's tables and figures, from records or computed again."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say
from adasent.cli.root import new_app
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from reproduction.catalog import Catalog
    from reproduction.render import Table
    from reproduction.tasks import Tasks


class What(StrEnum):
    """What can be reproduced."""

    table1 = "table1"
    table2 = "table2"
    table3 = "table3"
    ablations = "ablations"
    refit = "refit"
    fig_belief = "fig-belief"
    fig_example = "fig-example"
    fig_pca = "fig-pca"
    fig_composition = "fig-composition"
    all = "all"
    report = "report"


class Form(StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    html = "html"


def reproduce(
    what: Annotated[What, typer.Argument(show_default=False)],
    rerun: Annotated[
        bool, typer.Option("--rerun", help="Compute: train and test instead of reading records.")
    ] = False,
    sets: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these, such as MR,CR.", show_default=False),
    ] = None,
    systems: Annotated[
        list[str] | None,
        typer.Option(metavar="NAMES", help="Only these, such as adasent,cbow.", show_default=False),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of records: results, or rerun with --rerun. Finished runs are skipped.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[Form, typer.Option(help="How to print tables.")] = Form.text,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write every table in all forms, and every figure, there; the report: docs.",
            show_default=False,
        ),
    ] = None,
    readme: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With the report: put Table 2 in short between its marks.",
            show_default=False,
        ),
    ] = None,
    phrase: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="With fig-composition --rerun: up to 8 words to take apart; may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show the paper's tables and figures, ours beside the paper's.

    \b
    Examples:
      python -m reproduction table2
      python -m reproduction all --out reproduction
      python -m reproduction table2 --rerun --sets CR --systems nbsvm
      python -m reproduction report --out docs
    """
    from adasent.data import describe
    from reproduction.catalog import NAMES, Catalog
    from reproduction.specs import experiments

    root = records or Path("rerun" if rerun else "results")
    if not rerun and not root.is_dir():
        raise ConfigError(
            f"no records in {root}; give their folder with --records, or compute with --rerun"
        )
    columns = [describe(name).name for name in _names(sets)] or None
    rows = _names(systems) or None
    # The rows of the ablations are variants of one system.
    variants = rows if what is What.ablations else None
    catalog = Catalog(root, experiments(), columns, None if variants else rows)
    _check_options(what, rerun, readme, phrase)
    wanted = NAMES if what is What.all else (what.value,)
    if rerun:
        _compute(wanted, catalog, phrase or [], variants)
    if what is What.report:
        _write_report(catalog, out or Path("docs"), readme)
        return
    n_missing = 0
    for name in wanted:
        tables = catalog.tables(name)
        n_missing += sum(table.n_missing for table in tables)
        if out is None:
            _print(name, tables, format)
        else:
            _write(name, tables, catalog, out)
    if n_missing:
        console(stderr=True).print(f"{n_missing} cells have no or not all records in {root}")


def _check_options(what: What, rerun: bool, readme: Path | None, phrase: list[str] | None) -> None:
    if readme is not None and what is not What.report:
        raise ConfigError(f"--readme goes with report, not with {what.value}")
    if phrase and not (rerun and what is What.fig_composition):
        raise ConfigError("--phrase goes with fig-composition --rerun: it needs a model")


def _names(options: list[str] | None) -> list[str]:
    return [name.strip() for option in options or [] for name in option.split(",") if name.strip()]


def _compute(
    wanted: tuple[str, ...], catalog: Catalog, phrases: list[str], variants: list[str] | None
) -> None:
    from reproduction.figure_runs import Models, compute_figure
    from reproduction.specs import TABLES
    from reproduction.tasks import Tasks

    tasks = Tasks(catalog.plan)
    models = Models(tasks, catalog.root / "models")
    for name in wanted:
        if name == "table1":
            catalog.add_audits(tasks)
        elif name in TABLES:
            chosen = [system.name for system in catalog.systems]
            _run(name, catalog, tasks, variants if name == "ablations" else chosen)
        elif name == "report":
            catalog.add_trees(tasks)
            catalog.add_sizes(tasks)
        elif name.startswith("fig-"):
            catalog.add_figure(name, compute_figure(name, models, phrases))


def _run(name: str, catalog: Catalog, tasks: Tasks, chosen: list[str] | None) -> None:
    from reproduction.run import run_missing, run_task

    err = console(stderr=True)
    units = catalog.plan.units(name, catalog.sets, chosen)
    for n, (unit, record) in enumerate(run_missing(units, tasks, catalog.store, run_task), 1):
        place = f"{unit.system} on {unit.data}, {unit.rule}, fold {unit.fold + 1}/{unit.n_folds}"
        result = (
            "recorded before, or being run by another process"
            if record is None
            else f"accuracy {100 * record.accuracy:.2f}  {record.seconds:.1f} s"
        )
        err.print(f"{name} {n}/{len(units)}  {place}, seed {unit.seed}  {result}")


def _print(name: str, tables: list[Table], form: Form) -> None:
    from reproduction.render import render

    for table in tables:
        say(render(table, form.value))
    if not tables:
        say(f"{name}: not computed yet; see --rerun\n")


def _write(name: str, tables: list[Table], catalog: Catalog, out: Path) -> None:
    from reproduction.plots import draw
    from reproduction.render import FORMS, SUFFIXES, render

    out.mkdir(parents=True, exist_ok=True)
    for table in tables:
        for form in FORMS:
            path = out / f"{table.name}.{SUFFIXES[form]}"
            path.write_text(render(table, form), "utf-8")
        say(f"{name}\t{out / table.name}.txt, .md, .tex, .html")
    if not name.startswith("fig-"):
        return
    data = catalog.figure(name)
    if data is None:
        say(f"{name}\tnot computed yet; see --rerun")
        return
    for suffix in ("svg", "png"):
        draw(data, out / f"{name}.{suffix}")
    say(f"{name}\t{out / name}.svg, .png")


def _write_report(catalog: Catalog, out: Path, readme: Path | None) -> None:
    from reproduction.report import fill_readme, write_report
    from reproduction.table2 import short_table2

    write_report(catalog, out)
    say(f"report\t{out / 'reproduction'}.md, .html")
    if readme is not None:
        fill_readme(readme, short_table2(catalog.results, catalog.sizes))
        say(f"table2\t{readme}")


app = new_app()
app.command()(reproduce)


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """The paper's evaluation."""


def main() -> None:
    """Run with the arguments of the process."""
    app(["reproduce", *sys.argv[1:]])

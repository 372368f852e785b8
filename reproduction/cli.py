"""``python -m reproduction``: the paper's tables and figures, from records or computed again.

Three commands: ``show`` prints or writes what the records say, ``run`` computes what is missing,
``report`` writes the page with all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say
from adasent.cli.engine import Workers
from adasent.cli.groups import spread
from adasent.cli.root import new_app
from adasent.errors import ConfigError

if TYPE_CHECKING:
    from reproduction.catalog import Catalog
    from reproduction.figure_runs import Models
    from reproduction.jobs import Jobs
    from reproduction.render import Table


class Shown(StrEnum):
    """What there is to show."""

    table1 = "table1"
    table2 = "table2"
    partitions = "partitions"
    table3 = "table3"
    ablations = "ablations"
    refit = "refit"
    taught = "taught"
    phenomena = "phenomena"
    search = "search"
    fig_belief = "fig-belief"
    fig_example = "fig-example"
    fig_pca = "fig-pca"
    fig_composition = "fig-composition"
    all = "all"


class Computed(StrEnum):
    """What can be computed: all that is shown, and two counts that the report needs."""

    table1 = "table1"
    table2 = "table2"
    partitions = "partitions"
    table3 = "table3"
    ablations = "ablations"
    refit = "refit"
    taught = "taught"
    phenomena = "phenomena"
    fig_belief = "fig-belief"
    fig_example = "fig-example"
    fig_pca = "fig-pca"
    fig_composition = "fig-composition"
    all = "all"
    sizes = "sizes"
    trees = "trees"


class Form(StrEnum):
    """How a table is written."""

    text = "text"
    markdown = "markdown"
    latex = "latex"
    html = "html"


Sets = Annotated[
    list[str] | None,
    typer.Option(metavar="NAMES", help="Only these, such as MR,CR.", show_default=False),
]
Systems = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAMES",
        help="Only these, such as adasent,cbow; of the ablations, variants.",
        show_default=False,
    ),
]
Records = Annotated[Path, typer.Option(metavar="DIR", help="Folder of records.")]


def show(
    name: Annotated[Shown, typer.Argument(show_default=False)],
    sets: Sets = None,
    systems: Systems = None,
    records: Records = Path("results"),
    format: Annotated[Form, typer.Option(help="How to print tables.")] = Form.text,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write every table in all forms, and every figure, there.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Show a table or figure from the records, ours beside the paper's.

    \b
    Examples:
      python -m reproduction show table2 --sets CR
      python -m reproduction show all --out tables
    """
    from reproduction.catalog import NAMES

    rows_of_own = name in (Shown.ablations, Shown.taught)
    catalog = _open(records, sets, None if rows_of_own else systems)
    n_missing = 0
    for one in NAMES if name is Shown.all else (name.value,):
        tables = catalog.tables(one)
        n_missing += sum(table.n_missing for table in tables)
        if out is None:
            _print(one, tables, format)
        else:
            _write(one, tables, catalog, out)
    if n_missing:
        console(stderr=True).print(f"{n_missing} cells have no or not all records in {records}")


@spread
def run(
    name: Annotated[Computed, typer.Argument(show_default=False)],
    workers: Workers,
    sets: Sets = None,
    systems: Systems = None,
    records: Records = Path("rerun"),
    phrase: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TEXT",
            help="With fig-composition: up to 8 words to take apart; may be repeated.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Compute what is missing among the records: train, test, and show the outcome.

    Finished runs are skipped, and several processes may fill one folder. Networks are trained as
    stacks where there is a CUDA device; the third example makes what the committed records lack.
    With --engine ray, every node needs this repository and the folder of the data.

    \b
    Examples:
      python -m reproduction run table2 --sets CR --systems nbsvm
      python -m reproduction run ablations --sets TREC --systems words-only
      python -m reproduction run table2 --records results
    """
    from reproduction.catalog import NAMES
    from reproduction.figure_runs import Models
    from reproduction.jobs import Jobs

    if phrase and name is not Computed.fig_composition:
        raise ConfigError("--phrase goes with fig-composition: it needs a model")
    rows_of_own = name in (Computed.ablations, Computed.taught)
    variants = _names(systems) if rows_of_own else None
    catalog = _open(records, sets, None if variants else systems, new=True)
    jobs = Jobs(catalog.plan)
    models = Models(jobs, catalog.root / "models")
    for one in NAMES if name is Computed.all else (name.value,):
        if one != "search":  # which is no part of the protocol, and only shown
            _compute(one, catalog, models, variants, phrase or [], workers)
        if one in NAMES:
            _print(one, catalog.tables(one), Form.text)


def report(
    records: Records = Path("results"),
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the page goes.")] = Path("docs"),
    readme: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Put Table 2 in short between its marks.", show_default=False
        ),
    ] = None,
) -> None:
    """Write the report on all tables and figures as Markdown and as one HTML page.

    \b
    Example:
      python -m reproduction report --readme README.md
    """
    _write_report(_open(records, None, None), out, readme)


def _open(
    records: Path, sets: list[str] | None, systems: list[str] | None, *, new: bool = False
) -> Catalog:
    """The catalog of a folder, which must be there unless it may be new."""
    from adasent.data import describe
    from reproduction.catalog import Catalog
    from reproduction.specs import experiments

    if not new and not records.is_dir():
        raise ConfigError(
            f"no records in {records}; give their folder with --records, or compute with run"
        )
    columns = [describe(name).name for name in _names(sets)] or None
    return Catalog(records, experiments(), columns, _names(systems) or None)


def _names(options: list[str] | None) -> list[str]:
    return [name.strip() for option in options or [] for name in option.split(",") if name.strip()]


def _compute(
    name: str,
    catalog: Catalog,
    models: Models,
    variants: list[str] | None,
    phrases: Sequence[str],
    workers: Workers,
) -> None:
    from reproduction.figure_runs import compute_figure

    if name == "table1":
        catalog.add_audits(models.jobs)
    elif name == "phenomena":
        catalog.add_phenomena(models.jobs)
    elif name == "trees":
        catalog.add_trees(models.jobs)
    elif name == "sizes":
        catalog.add_sizes(models.jobs)
    elif name.startswith("fig-"):
        catalog.add_figure(name, compute_figure(name, models, phrases))
    elif name == "ablations" or name == "taught":
        _run(name, catalog, models.jobs, variants or None, workers)
    else:
        _run(name, catalog, models.jobs, [system.name for system in catalog.systems], workers)


def _run(
    name: str, catalog: Catalog, jobs: Jobs, systems: list[str] | None, workers: Workers
) -> None:
    from adasent.evaluation.runner import run_jobs

    err = console(stderr=True)
    planned = [jobs.job(run) for run in catalog.plan.runs(name, catalog.sets, systems)]
    # A student learns from what its teacher has left; with several workers it must not be early.
    teachers = [job for job in planned if job.after is not None]
    others = [job for job in planned if job.after is None]
    with workers.executor() as executor:
        runs = chain.from_iterable(
            run_jobs(part, catalog.store, executor=executor) for part in (teachers, others)
        )
        for n, (job, record, is_new) in enumerate(runs, 1):
            place = f"{job.system} on {job.data}, {job.rule}, fold {job.fold + 1}/{job.n_folds}"
            result = f"accuracy {100 * record.accuracy:.2f}  {record.seconds:.1f} s"
            before = "" if is_new else "  recorded before"
            err.print(f"{name} {n}/{len(planned)}  {place}, seed {job.seed}  {result}{before}")


def _print(name: str, tables: list[Table], form: Form) -> None:
    from reproduction.render import render

    for table in tables:
        say(render(table, form.value))
    if not tables:
        say(f"{name}: not computed yet; see run\n")


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
        say(f"{name}\tnot computed yet; see run")
        return
    for suffix in ("svg", "png"):
        draw(data, out / f"{name}.{suffix}")
    say(f"{name}\t{out / name}.svg, .png")


def _write_report(catalog: Catalog, out: Path, readme: Path | None) -> None:
    """The one place that knows what :mod:`reproduction.report` gives."""
    from reproduction.report import fill_readme, write_report
    from reproduction.table2 import short_table2

    write_report(catalog, out)
    say(f"report\t{out / 'reproduction'}.md, .html")
    if readme is not None:
        fill_readme(readme, short_table2(catalog.results, catalog.sizes))
        say(f"table2\t{readme}")


app = new_app()
app.command()(show)
app.command()(run)
app.command()(report)


@app.callback()
def _root(
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """The paper's evaluation: tables and figures from records, or computed again."""


def main() -> None:
    """Run with the arguments of the process."""
    app(prog_name="python -m reproduction")

"""``adasent predict --engine ray``: files of any size into a folder of Parquet, over a cluster."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, progress
from adasent.cli.engine import PANEL, Askers
from adasent.cli.models import read_levels
from adasent.cli.reading import TextReading, say_table
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.labelling import Answering, Columns, open_model

if TYPE_CHECKING:
    from rich.progress import Progress

    from adasent.data.tables import Table
    from adasent.distributed.bulk import Report
    from adasent.distributed.bulk_worker import Done


@dataclass(frozen=True)
class Parts(Askers):
    """Options of a command that writes answers in parts."""

    part_rows: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="With Ray: rows of a part of --out, a folder then.",
            rich_help_panel=PANEL,
        ),
    ] = None

    @classmethod
    def of_a_cluster(cls) -> tuple[str, ...]:
        return (*super().of_a_cluster(), "--part-rows")


def label(
    model: Path,
    inputs: Sequence[str],
    out: str | None,
    engine: Parts,
    reading: TextReading,
    id: str | None,
    answering: Answering,
    thresholds: Sequence[str],
    *,
    device: str | None,
    force: bool,
    quiet: bool,
    refused: dict[str, Any],
) -> None:
    """Label files over a cluster; ``refused`` are options that mean nothing here."""
    from adasent.data.tables import How
    from adasent.distributed.bulk import label_files
    from adasent.distributed.bulk_plan import BulkConfig

    for option, value in refused.items():
        if value is not None:
            raise ConfigError(f"{option}: --engine ray has no such option; leave it out")
    if out is None or not inputs or "-" in inputs:
        raise ConfigError("--engine ray: expected files, and --out FOLDER for the parts")
    levels = read_levels(thresholds, open_model(model)) if thresholds else {}
    config = BulkConfig(
        how=How(reading.encoding, reading.delimiter, reading.sheet),
        text=reading.text,
        id=id,
        answering=answering._replace(thresholds=levels or None),
        workers=engine.workers,
        device=device,
        **({} if engine.part_rows is None else {"rows": engine.part_rows}),
    )
    with progress(console(stderr=True), "texts", quiet=quiet) as bar:
        watching = _Watching(bar, reading, id, quiet=quiet)
        report = label_files(
            model, inputs, out, config, address=engine.address, force=force, observer=watching
        )
    _warn(report)
    if not quiet:
        before = f", {report.n_finished_before:,} of them before" * (report.n_finished_before > 0)
        rows = f"{report.n_rows:,} texts labelled"
        console(stderr=True).print(
            f"{rows}; {report.n_parts:,} parts in {out}{before}", soft_wrap=True
        )


class _Watching:
    """Draws how far the work is."""

    def __init__(self, bar: Progress, reading: TextReading, id: str | None, *, quiet: bool) -> None:
        self._bar = bar
        self._task = bar.add_task("starting", total=None)
        self._reading, self._id, self._quiet = reading, id, quiet

    def on_read(self, table: Table, columns: Columns) -> None:
        if not self._quiet and columns.chosen:
            given = {"text": self._reading.text, "id": self._id}
            say_table(table, columns.chosen, [role for role, name in given.items() if name])

    def on_plan(self, n_parts: int, n_finished: int, n_rows: int | None) -> None:
        self._bar.update(self._task, description="labelling", total=n_rows)

    def on_part(self, done: Done) -> None:
        if done.problem is not None:
            console(stderr=True).print(f"warning: {done.problem}", soft_wrap=True)
        self._bar.advance(self._task, done.n_rows)


def _warn(report: Report) -> None:
    """What was odd, as the single process says it."""
    n_texts = report.n_rows - report.n_missing
    odd = {
        "longer than the model reads, cut there": report.n_long,
        "without a word, read as one unknown word": report.n_empty,
    }
    notes = [f"{n} {what}" for what, n in odd.items() if n]
    if notes:
        warnings.warn(f"of {n_texts} texts: {'; '.join(notes)}", AdaSentWarning, stacklevel=2)
    if report.n_missing:
        warnings.warn(
            f"{report.n_missing:,} of {report.n_rows:,} rows have no text and got no label",
            AdaSentWarning,
            stacklevel=2,
        )

"""``adasent predict``: labels a stream of texts, a row for each, in constant memory."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.bulk import Parts
from adasent.cli.bulk import label as label_in_bulk
from adasent.cli.groups import spread
from adasent.cli.models import read_levels
from adasent.cli.options import Device, Model, Quiet, new_file
from adasent.cli.outputs import Format, choose_format, open_target, open_writer
from adasent.cli.reading import PANEL, TextReading, say_table
from adasent.cli.to_label import Unsure
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.answers import Answer, Layout, Writer, lay_out
from adasent.estimators.labelling import (
    CHUNK,
    Answering,
    Columns,
    Labeller,
    answer_rows,
    columns_of,
    count_texts,
    open_model,
)

if TYPE_CHECKING:
    import numpy as np

    from adasent.data.tables import Table


@spread
def predict(
    model: Model,
    reading: TextReading,
    engine: Parts,
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXT|FILE|-",
            help="Texts, or files: CSV, TSV, Excel, JSON lines, Parquet, or plain lines; - reads "
            "plain lines from standard input, as without any.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--out",
            metavar="FILE",
            help="Write there, whole or not at all: .csv, .jsonl, .parquet or .tsv.",
        ),
    ] = None,
    format: Annotated[
        Format | None,
        typer.Option(
            help="jsonl: an object a line, the default on a screen; csv; parquet; tsv: labels "
            "alone, one a line."
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="P|LABEL=P",
            help="Where a text may have several labels: from which probability on it has one, in "
            "place of the model's own; repeatable.",
        ),
    ] = None,
    label_separator: Annotated[
        str, typer.Option(metavar="CHAR", help="Between several labels of a text, in csv and tsv.")
    ] = "|",
    explain: Annotated[
        str | None,
        typer.Option(
            metavar="fast|shapley",
            help="Add why: a verdict, and what each word adds to the label; fast is for many "
            "texts.",
        ),
    ] = None,
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Column that names the rows: keep it alone of the input.",
            rich_help_panel=PANEL,
        ),
    ] = None,
    min_confidence: Annotated[
        float | None,
        typer.Option(
            metavar="P",
            min=0.0,
            max=1.0,
            help="Give no label (null, or an empty one) to texts whose label is less probable.",
        ),
    ] = None,
    review: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write texts that got no label there, as CSV to label."),
    ] = None,
    device: Device = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it is there.")] = False,
    quiet: Quiet = False,
) -> None:
    """Label texts: a row for each, in order, with the columns that they came with.

    To these are added row, counted from 0 as pandas counts the rows of the same
    file, predicted, and confidence, the probability of that label. A row without
    a text gets no label, and is counted. Where a text may have several labels,
    predicted is a list, and confidence is that of the least sure one.

    With --engine ray, FILE may also be a glob, a folder or an address such as
    s3://bucket/reviews, and --out is a folder of Parquet parts: a command that
    was stopped goes on where it was when it is given again.

    \b
    Examples:
      adasent predict model "what a lovely film" "not my cup of tea"
      adasent predict model reviews.csv --text review --out labelled.csv
      cat lines.txt | adasent predict model --format tsv
      adasent predict model reviews.csv --min-confidence 0.8 --review unsure.csv
      adasent predict model "reviews/*.parquet" --out labelled --engine ray
    """
    from adasent.cli.inputs import sort_inputs

    answering = Answering(None, min_confidence, proba, explain)
    if engine.is_ray:
        label_in_bulk(
            model,
            inputs or [],
            target,
            engine,
            reading,
            id,
            answering,
            threshold or [],
            device=device,
            force=force,
            quiet=quiet,
            refused={"--review": review, "--format": format},
        )
        return
    out = None if target is None else Path(target)
    sources = sort_inputs(inputs or [], reading)
    kind = choose_format(out, format)
    if out is not None and out.exists() and not out.is_file() and not out.is_dir():
        force = True  # a device or pipe is there to be written to
    if out is not None:
        new_file(out, force)
    if out is not None and review is not None and out.resolve() == review.resolve():
        raise ConfigError(f"--review {review}: --out is written there; give it a file of its own")
    unsure = Unsure(min_confidence, review, force)
    job = _Job(model, device, threshold or [], label_separator, unsure, answering)
    with open_target(out) as stream, unsure:
        job.run(sources, reading, id, partial(open_writer, kind, stream), quiet=quiet)
    job.warn()


def _named(one: Path | str, sources: Sequence[Path | str]) -> str | None:
    """The name of a file where there are several."""
    return str(one) if len(sources) > 1 and isinstance(one, Path) else None


def _columns(table: Table, text: str | None, id: str | None, *, quiet: bool) -> Columns:
    """What is read and kept of a table; said where it was found out."""
    found = columns_of(table, text, id)
    if not quiet and found.chosen:
        given = [role for role, name in {"text": text, "id": id}.items() if name is not None]
        say_table(table, found.chosen, given)
    return found


class _Job:
    """A model, and what it has met on the way."""

    def __init__(
        self,
        folder: Path,
        device: str | None,
        thresholds: Sequence[str],
        separator: str,
        unsure: Unsure,
        answering: Answering,
    ) -> None:
        self.labeller: Labeller = open_model(folder, device)
        levels = read_levels(thresholds, self.labeller) or None
        self._how = answering._replace(thresholds=levels)
        self._how.check(self.labeller)
        self._separator = separator if self.labeller.thresholds_ is not None else None
        self._unsure = unsure
        self._counting = count_texts(self.labeller)
        self._n_rows = self._n_missing = 0

    def run(
        self,
        sources: Sequence[Path | str],
        reading: TextReading,
        id: str | None,
        opener: Callable[[Layout], Writer],
        *,
        quiet: bool,
    ) -> None:
        """Label all sources, in order, into one output."""
        from adasent.cli.inputs import open_input

        writer: Writer | None = None
        first: list[str] = []
        try:
            for number, one in enumerate(sources):
                with open_input(one, reading) as table:
                    columns = _columns(table, reading.text, id, quiet=quiet or number > 0)
                    names = [table.columns[i] for i in columns.kept]
                    if writer is None:
                        first, writer = names, opener(self._lay_out(table, names, sources))
                    elif names != first:
                        raise ConfigError(
                            f"{one}: its columns are not those of {sources[0]}; label them one by "
                            "one"
                        )
                    for answers in self._answers(table, columns, number, _named(one, sources)):
                        writer.write(answers)
            assert writer is not None
            writer.close()
        except BaseException:
            if writer is not None:
                writer.abandon()
            raise

    def _lay_out(self, table: Table, names: list[str], sources: Sequence[Path | str]) -> Layout:
        """The columns of the output."""
        is_several = _named(sources[0], sources) is not None
        columns = ["file", *names] if is_several else names
        schema = None if is_several or len(names) < len(table.columns) else table.schema
        classes = self.labeller.classes_.tolist()
        return lay_out(
            columns,
            classes,
            proba=self._how.proba,
            schema=schema,
            typed=table.typed,
            separator=self._separator,
            reasons=self._how.explain is not None,
        )

    def _answers(
        self, table: Table, columns: Columns, offset: int, file: str | None
    ) -> Iterator[list[Answer]]:
        """What the model says of the rows of a table, a chunk at a time."""

        def choose(
            numbers: Sequence[int], texts: Sequence[str], probabilities: np.ndarray
        ) -> np.ndarray:
            return self._unsure.labels(numbers, texts, probabilities, self.labeller.classes_)

        found = answer_rows(
            self.labeller,
            table,
            columns,
            self._how,
            file=file,
            # Texts of the command line are a table each; their row is their place there.
            shift=offset if file is None else 0,
            size=CHUNK,
            choose=choose if self._unsure.min_confidence is not None else None,
        )
        for answers, n_missing in found:
            self._n_rows += len(answers)
            self._n_missing += n_missing
            yield answers

    def warn(self) -> None:
        """What was odd, if anything."""
        self._unsure.tell()
        self._counting.warn()
        if self._n_missing:
            warnings.warn(
                f"{self._n_missing:,} of {self._n_rows:,} rows have no text and got no label",
                AdaSentWarning,
                stacklevel=2,
            )

"""``adasent evaluate``: scores a model on labelled texts."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.groups import spread
from adasent.cli.options import Data, Device, Json, Model, new_file
from adasent.cli.parts import SplitOption, check_texts, read_part
from adasent.cli.reading import Reading
from adasent.cli.scores import class_table, say_notes
from adasent.errors import ConfigError, require
from adasent.estimators.labelling import open_model

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.evaluation.advice import Note
    from adasent.evaluation.metrics import Report
    from adasent.evaluation.reliability import Reliability
    from adasent.evaluation.several import SeveralReport

# Beyond this a matrix does not fit a terminal of 80 columns.
_MAX_MATRIX = 10

Format = StrEnum("Format", ["text", "json"])


@spread
def evaluate(
    model: Model,
    data: Data,
    reading: Reading,
    device: Device = None,
    split: SplitOption = None,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--reliability",
            metavar="FILE",
            help="Draw how often stated probabilities come true: .png or .svg.",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    as_json: Json = False,
    # What --json was called before.
    format: Annotated[Format, typer.Option(hidden=True)] = Format.text,
) -> None:
    """Test a model: accuracy, figures of each class, confusions, calibration.

    Where a text may have several labels: micro and macro F1, the share of texts
    whose labels are all right, and each class. The folder says which system the
    model is of. What the figures mean, and which to look at when:
    docs/evaluation.md.

    \b
    Examples:
      adasent evaluate model held-out.csv --text review --label stars
      adasent evaluate trec TREC --json
      adasent evaluate model held-out.csv --reliability reliability.png
    """
    from adasent.evaluation.metrics import score_predictions
    from adasent.evaluation.reliability import judge
    from adasent.evaluation.several import score_several

    if picture is not None:
        _check_picture(picture, force)
    labeller = open_model(model, device)
    corpus, part = read_part(reading, data, split)
    check_texts(labeller, corpus, part)
    as_json = as_json or format is Format.json
    head = {"model": str(model), "data": data, "sha256": corpus.sha256, "part": part}
    classes = labeller.classes_.tolist()
    if corpus.multilabel:
        if picture is not None:
            raise ConfigError("--reliability: it is drawn of models that give a text one label")
        found = score_several(corpus.labels, labeller.predict(corpus.texts).tolist(), classes)
        if as_json:
            say(json.dumps(head | found.to_dict(), indent=1))
        else:
            _print_several(found, corpus)
        return
    probabilities = labeller.predict_proba(corpus.texts)
    predicted = [classes[i] for i in probabilities.argmax(axis=1).tolist()]
    report = score_predictions(corpus.labels, predicted, classes)
    stated = judge(probabilities, classes, corpus.labels)
    if picture is not None:
        from adasent.explain import plots

        plots.save(plots.reliability(stated), picture)
    notes = _notes(report)
    if as_json:
        body = report.to_dict() | {"reliability": stated.to_dict()}
        say(json.dumps(head | body | {"notes": [note._asdict() for note in notes]}, indent=1))
        return
    _print(report, corpus)
    say()
    _print_stated(stated, picture)
    if notes:
        say()
    say_notes(notes)


def _check_picture(path: Path, force: bool) -> None:
    """Refuse a file that cannot be drawn, before any work is done."""
    if path.suffix not in (".png", ".svg"):
        raise ConfigError(f"--reliability {path}: the name must end in .png or .svg")
    new_file(path, force, "--reliability")
    require("matplotlib", "plots", "drawing a picture")


def _notes(report: Report) -> list[Note]:
    """What to know of the figures, where there is something."""
    from adasent.evaluation import advice

    true = [one.label for one in report.classes for _ in range(one.support)]
    notes = [*advice.never_predicted(report), *advice.imbalance(true, remedy=False)]
    return notes + advice.too_few(report, "test", "more labelled texts tell better")


def _print_stated(stated: Reliability, picture: Path | None) -> None:
    """How far probabilities come true, and what thresholds on them leave."""
    line = (
        f"calibration error {stated.calibration_error:.3f} in {len(stated.bins)} bins: mean "
        f"confidence {stated.confidence:.3f}, accuracy {stated.accuracy:.3f}"
    )
    say(line + (f"; log loss {stated.log_loss:.3f}" if stated.log_loss is not None else ""))
    if picture is not None:
        say(f"drawn in {picture}")
    say()
    say("texts that keep their label with predict --min-confidence")
    kept = table(">at least", ">texts", ">accuracy")
    for one in stated.coverage:
        right = "" if one.accuracy is None else f"{one.accuracy:.4f}"
        kept.add_row(f"{one.least:.2f}", f"{one.n:,}", right)
    console().print(kept)


def _print_several(report: SeveralReport, corpus: Corpus) -> None:
    say(f"{corpus.name}: {report.n} texts of several labels each, or none")
    say()
    say(f"micro F1         {report.micro_f1:.4f}  of all labels of all texts")
    say(f"macro F1         {report.macro_f1:.4f}  mean of the classes")
    say(
        f"subset accuracy  {report.subset_accuracy:.4f}  texts that have all their labels, no other"
    )
    say(f"Hamming loss     {report.hamming_loss:.4f}  of texts times classes, decided wrongly")
    say()
    scores = table("class", ">precision", ">recall", ">F1", ">texts")
    for one in report.classes:
        numbers = (f"{value:.4f}" for value in (one.precision, one.recall, one.f1))
        scores.add_row(str(one.label), *numbers, str(one.support))
    console().print(scores)


def _print(report: Report, corpus: Corpus) -> None:
    from adasent.evaluation.significance import wilson

    out = console()
    low, high = wilson(report.n_correct, report.n)
    say(
        f"{corpus.name}: accuracy {report.accuracy:.4f}, {report.n_correct} of {report.n} texts, "
        f"95 % interval {low:.4f} to {high:.4f}"
    )
    say(f"macro F1 {report.macro_f1:.4f}, balanced accuracy {report.balanced_accuracy:.4f}")
    say()
    out.print(class_table(report))
    say()
    labels = [str(one.label) for one in report.classes]
    if len(labels) <= _MAX_MATRIX:
        say("confusion: a row for each true class, a column for each predicted one")
        matrix = table("", *(f">{label}" for label in labels))
        for label, row in zip(labels, report.confusion, strict=True):
            matrix.add_row(label, *map(str, row))
        out.print(matrix)
        return
    errors = sorted(
        ((n, i, j) for i, row in enumerate(report.confusion) for j, n in enumerate(row) if i != j),
        reverse=True,
    )
    say("most frequent confusions; --json has the whole matrix")
    pairs = table(">texts", "true", "predicted")
    for n, i, j in errors[:_MAX_MATRIX]:
        if n:
            pairs.add_row(str(n), labels[i], labels[j])
    out.print(pairs)

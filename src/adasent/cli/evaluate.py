"""``adasent evaluate``: scores a model on labelled texts."""

from __future__ import annotations

import json
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from adasent.cli.console import console, say, table
from adasent.cli.models import open_model
from adasent.cli.options import Data, Device, Encoding, LabelColumn, Model, Text
from adasent.cli.parts import SplitOption, check_texts, read_part

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.evaluation.metrics import Report

# Beyond this a matrix does not fit a terminal of 80 columns.
_MAX_MATRIX = 10

Format = StrEnum("Format", ["text", "json"])


def evaluate(
    model: Model,
    data: Data,
    text: Text = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    device: Device = None,
    split: SplitOption = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,
) -> None:
    """Test a model: accuracy, precision, recall and F1 of each class, confusion matrix.

    The folder says which system the model is of.

    \b
    Examples:
      adasent evaluate model held-out.csv --text review --label stars
      adasent evaluate trec TREC --format json
    """
    from adasent.evaluation.metrics import score_predictions

    labeller = open_model(model, device)
    corpus, part = read_part(data, text, label, encoding, split)
    check_texts(labeller, corpus, part)
    predicted = labeller.predict(corpus.texts).tolist()
    report = score_predictions(corpus.labels, predicted, labeller.classes_.tolist())
    if format is Format.json:
        head = {"model": str(model), "data": data, "sha256": corpus.sha256, "part": part}
        say(json.dumps(head | report.to_dict(), indent=1))
    else:
        _print(report, corpus)


def _print(report: Report, corpus: Corpus) -> None:
    out = console()
    say(f"{corpus.name}: accuracy {report.accuracy:.4f}, {report.n_correct} of {report.n} texts")
    say()
    scores = table("class", ">precision", ">recall", ">F1", ">texts")
    for one in report.classes:
        numbers = (f"{value:.4f}" for value in (one.precision, one.recall, one.f1))
        scores.add_row(str(one.label), *numbers, str(one.support))
    scores.add_row("mean of classes", "", "", f"{report.macro_f1:.4f}", str(report.n))
    out.print(scores)
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
    say("most frequent confusions; --format json has the whole matrix")
    pairs = table(">texts", "true", "predicted")
    for n, i, j in errors[:_MAX_MATRIX]:
        if n:
            pairs.add_row(str(n), labels[i], labels[j])
    out.print(pairs)

"""``adasent evaluate``: a model and labelled texts in, scores out."""

from __future__ import annotations

import json
import warnings
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, say, table
from adasent.cli.options import Data, Encoding, LabelColumn, Model, Text
from adasent.errors import AdaSentWarning, DataError

if TYPE_CHECKING:
    from adasent import Predictor
    from adasent.data import Corpus
    from adasent.evaluation.metrics import Report

# Beyond this a matrix does not fit a terminal of 80 columns.
_MAX_MATRIX = 10


class Split(StrEnum):
    """Parts of a set that has an official split."""

    test = "test"
    train = "train"
    all = "all"


class Format(StrEnum):
    """How scores are printed."""

    text = "text"
    json = "json"


def evaluate(
    model: Model,
    data: Data,
    text: Text = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    split: Annotated[
        Split | None,
        typer.Option(
            help="Part of a set with an official split; its test part by default.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[Format, typer.Option(help="How to print.")] = Format.text,
) -> None:
    """Test a model: accuracy, precision, recall and F1 of each class, confusion matrix.

    \b
    Examples:
      adasent evaluate model held-out.csv --text review --label stars
      adasent evaluate trec TREC --format json
    """
    from adasent import load
    from adasent.evaluation.metrics import score_predictions

    predictor = load(model)
    corpus, part = _part(data, text, label, encoding, split)
    _check_labels(predictor, corpus)
    _check_unseen(predictor, corpus, part)
    predicted = predictor.predict(corpus.texts).tolist()
    report = score_predictions(corpus.labels, predicted, predictor.classes_.tolist())
    if format is Format.json:
        head = {"model": str(model), "data": data, "sha256": corpus.sha256, "part": part}
        say(json.dumps(head | report.to_dict(), indent=1))
    else:
        _print(report, corpus)


def _part(
    data: str, text: str | None, label: str | None, encoding: str, split: Split | None
) -> tuple[Corpus, str]:
    from adasent.data import load
    from adasent.data.registry import find

    if split is None:
        entry = find(data)
        split = Split.test if entry is not None and entry.split == "official" else Split.all
    wanted = None if split is Split.all else split.value
    return load(data, text=text, label=label, split=wanted, encoding=encoding), split.value


def _check_labels(predictor: Predictor, corpus: Corpus) -> None:
    known = predictor.classes_.tolist()
    unknown = [label for label in corpus.labels if label not in known]
    if not unknown:
        return
    names = ", ".join(map(repr, list(dict.fromkeys(unknown))[:3]))
    if len(unknown) == len(corpus):
        raise DataError(
            f"{corpus.name}: no label is one of the model's ({', '.join(map(repr, known[:10]))}), "
            f"but such as {names}; check the label column"
        )
    warnings.warn(
        f"{len(unknown)} of {len(corpus)} texts carry labels that the model does not know "
        f"({names}); they count as errors",
        AdaSentWarning,
        stacklevel=2,
    )


def _check_unseen(predictor: Predictor, corpus: Corpus, part: str) -> None:
    seen: Any = predictor.training_.get("data", {})
    same = seen.get("sha256") == corpus.sha256
    if same and (part == "all" or seen.get("part") in ("all", part)):
        warnings.warn(
            "the model was trained on these texts or some of them; on others it will do worse, "
            "see adasent crossval",
            AdaSentWarning,
            stacklevel=2,
        )


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

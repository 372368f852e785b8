"""``adasent predict``: labels a stream of texts, a line for each, in constant memory."""

from __future__ import annotations

import json
import sys
import warnings
from enum import StrEnum
from itertools import islice
from typing import Annotated, Any

import typer

from adasent.cli.models import count_texts, open_model
from adasent.cli.options import Device, Encoding, Model, Text
from adasent.errors import AdaSentWarning

_CHUNK = 1024
_ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"})

Format = StrEnum("Format", ["jsonl", "tsv"])


def predict(
    model: Model,
    file: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE|-]",
            help="Texts: CSV, TSV, JSON lines, Parquet, or plain lines; - reads plain lines from "
            "standard input.",
        ),
    ] = None,
    proba: Annotated[
        bool, typer.Option("--proba", help="Add the probability of every class.")
    ] = False,
    format: Annotated[
        Format, typer.Option(help="jsonl: an object a line; tsv: the label, then probabilities.")
    ] = Format.jsonl,
    text: Text = None,
    encoding: Encoding = "utf-8",
    device: Device = None,
) -> None:
    """Label texts, one output line for each, in order.

    The folder says which system the model is of; AdaSent's needs numpy alone.
    A jsonl line carries the input line ("row") that the text started on.
    With --proba, tsv starts with a line of column names.

    \b
    Examples:
      adasent predict model reviews.csv --text review --proba > labels.jsonl
      cat lines.txt | adasent predict model --format tsv
    """
    from adasent.data import stream_texts

    if file is None and sys.stdin.isatty():
        raise typer.BadParameter("no FILE given, and standard input is a terminal.")
    labeller = open_model(model, device)
    counting = count_texts(labeller)
    classes = labeller.classes_.tolist()
    rows = iter(stream_texts(file or "-", text=text, encoding=encoding))
    if format is Format.tsv and proba:
        _write("\t".join(["label", *map(_cell, classes)]) + "\n")
    while chunk := list(islice(rows, _CHUNK)):
        numbers, texts = zip(*chunk, strict=True)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"of \d+ text", AdaSentWarning)  # told at the end
            probabilities = labeller.predict_proba(list(texts))
        best = [classes[i] for i in probabilities.argmax(axis=1)]
        shares = probabilities.round(6).tolist() if proba else [None] * len(best)
        line = _json_line if format is Format.jsonl else _tsv_line
        found = zip(numbers, best, shares, strict=True)
        _write("".join(line(*one, classes) for one in found))
    counting.warn()


def _json_line(row: int, label: Any, shares: list[float] | None, classes: list[Any]) -> str:
    value: dict[str, Any] = {"row": row, "label": label}
    if shares is not None:
        value["probabilities"] = dict(zip(map(_key, classes), shares, strict=True))
    return json.dumps(value) + "\n"


def _tsv_line(row: int, label: Any, shares: list[float] | None, classes: list[Any]) -> str:
    return "\t".join([_cell(label), *(f"{share:.6f}" for share in shares or ())]) + "\n"


def _key(label: Any) -> str:
    """A label as the key of a JSON object: a string as it is, else as JSON writes the value."""
    return label if isinstance(label, str) else json.dumps(label)


def _cell(label: Any) -> str:
    """A label on one line without tabs, and without what UTF-8 cannot write."""
    return _key(label).translate(_ESCAPES).encode("utf-8", "backslashreplace").decode()


def _write(lines: str) -> None:
    sys.stdout.write(lines)
    sys.stdout.flush()

"""``adasent suggest``: the texts whose labels would teach a model most, for a person to label."""

from __future__ import annotations

import warnings
from dataclasses import fields
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from adasent.cli.console import say
from adasent.cli.groups import spread
from adasent.cli.models import count_texts, open_model
from adasent.cli.options import Device, Model, command, new_file
from adasent.cli.reading import TextReading
from adasent.cli.to_label import ToLabel, file_to_label
from adasent.errors import AdaSentWarning, ConfigError, DataError

_CHUNK = 1024

By = StrEnum("By", ["margin", "entropy"])


@spread
def suggest(
    model: Model,
    reading: TextReading,
    texts: Annotated[
        str,
        typer.Argument(
            metavar="FILE|-",
            help="Texts without labels: CSV, TSV, JSON lines, Parquet, or plain lines; - reads "
            "plain lines from standard input.",
        ),
    ],
    n: Annotated[int, typer.Option("--n", min=1, help="How many texts.")] = 50,
    by: Annotated[
        By,
        typer.Option(
            help="Uncertain are texts whose two most probable classes are close, or whose "
            "probability is spread over many."
        ),
    ] = By.margin,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write CSV there, not to standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE.")] = False,
    device: Device = None,
) -> None:
    """Choose the texts to label next: those the model is least certain of.

    Texts that share most of their words with one that was chosen are left
    out. Fill in the column label and train on the file, with the texts there
    were before. Needs no torch for a model of AdaSent.

    \b
    Examples:
      adasent suggest model unlabelled.csv --n 50 --out to-label.csv
      cat lines.txt | adasent suggest model - --n 20 --by entropy
    """
    import numpy as np

    from adasent.data import stream_texts
    from adasent.evaluation import suggest as choosing
    from adasent.text.tokenize import words

    if out is not None:
        new_file(out, force)
    labeller = open_model(model, device)
    if labeller.thresholds_ is not None:
        raise ConfigError("suggest: it takes a model that gives a text one label")
    counting = count_texts(labeller)
    rows: list[int] = []
    lines: list[str] = []
    found = []
    how = {field.name: getattr(reading, field.name) for field in fields(reading)}
    stream = iter(stream_texts(texts, **how))
    while chunk := list(islice(stream, _CHUNK)):
        numbers, passage = zip(*chunk, strict=True)
        rows += numbers
        lines += passage
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"of \d+ text", AdaSentWarning)  # told at the end
            found.append(labeller.predict_proba(list(passage)))
    counting.warn()
    if not lines:
        raise DataError(f"{texts}: expected texts to choose from, got none")
    probabilities = np.concatenate(found)
    uncertain = choosing.uncertainty(probabilities, by.value)
    chosen = choosing.suggest(lines, uncertain, n, words)
    guesses = labeller.classes_[probabilities.argmax(axis=1)].tolist()
    confidence = probabilities.max(axis=1).tolist()
    listed = [ToLabel(lines[i], guesses[i], confidence[i], rows[i]) for i in chosen]
    with file_to_label(out) as writer:
        writer.write(listed)
    if out is None:
        return
    say(f"{len(chosen):,} of {len(lines):,} texts written to {out}")
    say("fill in the column label, then, with your other texts in the same columns,")
    say(f"  {command('adasent', 'train', out, '--out', 'model')}")

"""``adasent train``: labelled texts in, a model folder out."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console, say
from adasent.cli.options import (
    Data,
    Encoding,
    LabelColumn,
    Set,
    Text,
    TokenizerName,
    Vectors,
    command,
    parse_settings,
    take_vectors,
)
from adasent.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from adasent import AdaSentClassifier
    from adasent.data import Corpus
    from adasent.text.vectors import WordVectors

CHECKPOINT = ".checkpoint"


def train(
    data: Data,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the model.", show_default=False)
    ],
    vectors: Vectors = None,
    validation: Annotated[
        str,
        typer.Option(
            metavar="F|DATA", help="Share of the texts, or a set or file, that chooses the epoch."
        ),
    ] = "0.1",
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    assignments: Set = None,
    text: Text = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    tokenizer: TokenizerName = "words",
    resume: Annotated[
        bool,
        typer.Option("--resume/--restart", help="Go on with an unfinished run, or discard it."),
    ] = True,
    force: Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False,
) -> None:
    """Train a model and save it to a folder.

    Ctrl-C saves the best model so far. A run that was stopped or killed goes
    on from its last epoch when the same command is given again.

    \b
    Examples:
      adasent train reviews.csv --out model --text review --label stars
      adasent train TREC --out trec --vectors wiki-50d --set epochs=10
    """
    settings = parse_settings(assignments or [])
    checkpoint = _prepare(out, resume=resume, force=force)
    corpus, part = _training_part(data, text, label, encoding)
    fraction, held = _validation(validation, text, label, encoding)
    from adasent import AdaSentClassifier
    from adasent.text.vectors import read_vectors

    sources = [read_vectors(path) for path in take_vectors(vectors, settings).values()]
    clf = AdaSentClassifier(
        **{
            "vectors": sources or None,
            "tokenizer": tokenizer,
            "random_state": seed,
            "verbose": 0 if quiet else 1,
            "validation_fraction": fraction,
            "checkpoint": checkpoint,
            **settings,
        }
    )
    if not quiet:
        _introduce(corpus, part, going_on=any(checkpoint.glob("*.safetensors")))
    _fit(clf, corpus, held)
    # So that `evaluate` can say when it is given the texts that the model was trained on.
    clf.training_["data"] = {"name": corpus.name, "sha256": corpus.sha256, "part": part}
    clf.save(out)
    if clf.history_.interrupted:
        console(stderr=True).print(
            f"stopped; the best model so far is in {out}; the same command goes on from here, "
            "with --restart it starts anew"
        )
        raise typer.Exit(130)
    shutil.rmtree(checkpoint, ignore_errors=True)
    if not quiet:
        _report(clf, corpus, sources, out)
        _say_next(out, data, part)


def _prepare(out: Path, *, resume: bool, force: bool) -> Path:
    """Check that DIR may be written, before any work; the folder for checkpoints in it."""
    from adasent.persistence import CONFIG, TENSORS

    checkpoint = out / CHECKPOINT
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {out} is a file; give the name of a folder")
    present = {path.name for path in out.iterdir()} if out.exists() else set()
    is_model = {CONFIG, TENSORS} <= present
    if present - {CHECKPOINT} and not is_model:
        raise ConfigError(
            f"--out {out} holds other files and no model; give a new or an empty folder"
        )
    if is_model and CHECKPOINT not in present and not force:
        raise ConfigError(f"--out {out} holds a model already; add --force to replace it")
    if not resume:
        shutil.rmtree(checkpoint, ignore_errors=True)
    return checkpoint


def _training_part(
    data: str, text: str | None, label: str | None, encoding: str
) -> tuple[Corpus, str]:
    """The texts to train on, and whether they are the ``train`` part or ``all``."""
    from adasent.data import load
    from adasent.data.registry import find

    entry = find(data)
    official = entry is not None and entry.split == "official"
    split = "train" if official else None
    corpus = load(data, text=text, label=label, split=split, encoding=encoding)
    return corpus, split or "all"


def _validation(
    value: str, text: str | None, label: str | None, encoding: str
) -> tuple[float, tuple[list[str], list[Any]] | None]:
    """A share of the training texts, or texts and labels of their own."""
    from adasent.data import load

    try:
        return float(value), None
    except ValueError:
        held = load(value, text=text, label=label, encoding=encoding)
        return 0.0, (held.texts, held.labels)


def _introduce(corpus: Corpus, part: str, *, going_on: bool) -> None:
    n_classes = len(set(corpus.labels))
    say(f"{corpus.name}: {len(corpus):,} texts, {n_classes} classes")
    if part == "train":
        say("only its official training part is used; the test part is left for evaluate")
    for note in corpus.notes:
        say(f"note: {note}")
    if going_on:
        say("going on with the unfinished run found there")


def _fit(clf: AdaSentClassifier, corpus: Corpus, held: tuple[list[str], list[Any]] | None) -> None:
    try:
        clf.fit(corpus.texts, corpus.labels, validation=held)
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --restart discards it") from error
    except KeyboardInterrupt:
        console(stderr=True).print(
            "stopped before the first epoch was over; nothing was saved, the same command starts "
            "anew"
        )
        raise typer.Exit(130) from None


def _report(clf: AdaSentClassifier, corpus: Corpus, sources: list[WordVectors], out: Path) -> None:
    history = clf.history_
    assert history.best_epoch is not None
    best = history[history.best_epoch]
    seconds = sum(history.column("seconds"))
    n_read = sum(row["examples_per_second"] * row["seconds"] for row in history)
    size = sum(path.stat().st_size for path in out.iterdir() if path.is_file())
    say(f"\nepochs              {len(history)}, best {history.best_epoch + 1}")
    if best["valid_accuracy"] is not None:
        n_held = clf.training_["n_validation"]
        say(f"validation accuracy {best['valid_accuracy']:.4f} on {n_held:,} texts")
    else:
        say("validation          none; the last epoch was kept")
    say(f"speed               {n_read / seconds:,.0f} texts/s, {seconds:.0f} s in all")
    say(f"vectors             {_coverage(clf, corpus, sources)}")
    say(f"gradient flow       {history[-1]['gradient_flow']['verdict']}")
    say(f"model               {out}, {size / 1e6:.1f} MB, {len(clf.vocabulary_):,} words")


def _coverage(clf: AdaSentClassifier, corpus: Corpus, sources: list[WordVectors]) -> str:
    from collections import Counter

    from adasent.text.vectors import coverage

    if not sources:
        return "none, random start; see adasent vectors --help"
    cut = clf.encoder_.tokenizer
    counts = Counter(token for text in corpus.texts for token in cut(text))
    return str(coverage(sources, counts, n_missing=0))


def _say_next(out: Path, data: str, part: str) -> None:
    say("\nnext")
    if part == "train":
        say(f"  {command('adasent', 'evaluate', out, data)}")
    else:
        say(f"  {command('adasent', 'crossval', data)}    accuracy on texts it has not seen")
    say(f'  echo "a text of yours" | {command("adasent", "predict", out, "--proba")}')

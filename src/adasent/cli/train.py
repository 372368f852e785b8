"""``adasent train``: labelled texts in, a model folder out."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli.console import console
from adasent.cli.options import (
    Data,
    Encoding,
    LabelColumn,
    Preset,
    Set,
    SystemName,
    Text,
    TokenizerName,
    Vectors,
    check_options,
    keywords,
    take_settings,
    take_vectors,
)
from adasent.cli.train_report import introduce, report_counts, report_network, say_next
from adasent.errors import CheckpointError, ConfigError

if TYPE_CHECKING:
    from adasent.data import Corpus

CHECKPOINT = ".checkpoint"


def train(
    data: Data,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="Folder for the model.", show_default=False)
    ],
    system: SystemName = "adasent",
    vectors: Vectors = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="F|DATA",
            help="Share of the texts, or a set or file, that chooses the epoch; a tenth by "
            "default.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of everything random.")] = 0,
    preset: Preset = None,
    assignments: Set = None,
    text: Text = None,
    label: LabelColumn = None,
    encoding: Encoding = "utf-8",
    tokenizer: TokenizerName = "words",
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--restart",
            help="Go on with an unfinished run, as by default, or discard it.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print warnings and errors only.")] = False,
) -> None:
    """Train a model and save it to a folder.

    Ctrl-C saves the best model so far. A run that was stopped or killed goes
    on from its last epoch when the same command is given again. Systems that
    are no networks (mnb, nbsvm, paragraph-vector) train in one go instead.

    \b
    Examples:
      adasent train reviews.csv --out model --text review --label stars
      adasent train TREC --out trec --vectors wiki-50d --preset paper
      adasent train reviews.csv --out baseline --system nbsvm
    """
    settings = take_settings(system, preset, assignments)
    check_options(
        system,
        {"--vectors": vectors, "--validation": validation, "--resume/--restart": resume},
    )
    by_epochs = "checkpoint" in keywords(system)
    if not by_epochs:
        _check_nothing_unfinished(out, system, force)
    checkpoint = _prepare(out, resume=by_epochs and resume is not False, force=force)
    corpus, part = _training_part(data, text, label, encoding)
    given, held = _validation(validation, text, label, encoding)
    from adasent.estimators.registry import make
    from adasent.vectors.words import read_vectors

    sources = [read_vectors(path) for path in take_vectors(vectors, settings).values()]
    given |= {"tokenizer": tokenizer, "random_state": seed}
    if by_epochs:
        given |= {"vectors": sources or None, "checkpoint": checkpoint}
        given |= {"verbose": 0 if quiet else 1}
    clf = make(system, **given | settings)
    if not quiet:
        introduce(corpus, part, going_on=any(checkpoint.glob("*.safetensors")))
    seconds = _fit(clf, corpus, held)
    # So that `evaluate` can say when it is given the texts that the model was trained on.
    clf.training_["data"] = {"name": corpus.name, "sha256": corpus.sha256, "part": part}
    clf.save(out)
    if by_epochs and clf.history_.interrupted:
        console(stderr=True).print(
            f"stopped; the best model so far is in {out}; the same command goes on from here, "
            "with --restart it starts anew"
        )
        raise typer.Exit(130)
    shutil.rmtree(checkpoint, ignore_errors=True)
    if quiet:
        return
    if by_epochs:
        report_network(clf, corpus, sources, out)
    else:
        report_counts(seconds, out)
    say_next(out, data, part, system)


def _check_nothing_unfinished(out: Path, system: str, force: bool) -> None:
    if (out / CHECKPOINT).exists() and not force:
        raise ConfigError(
            f"--out {out} holds the unfinished run of a network, with which {system} cannot go on; "
            "add --force to discard it, or give another folder"
        )


def _prepare(out: Path, *, resume: bool, force: bool) -> Path:
    """Check that DIR may be written, before any work; the folder for checkpoints in it."""
    from adasent.saving.adasent import CONFIG, TENSORS

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
    value: str | None, text: str | None, label: str | None, encoding: str
) -> tuple[dict[str, Any], tuple[list[str], list[Any]] | None]:
    """What the option says, as a setting, or as texts and labels of their own."""
    from adasent.data import load

    if value is None:
        return {}, None
    try:
        return {"validation_fraction": float(value)}, None
    except ValueError:
        held = load(value, text=text, label=label, encoding=encoding)
        return {"validation_fraction": 0.0}, (held.texts, held.labels)


def _fit(clf: Any, corpus: Corpus, held: tuple[list[str], list[Any]] | None) -> float:
    """Train, and say in how many seconds."""
    started = time.perf_counter()
    try:
        clf.fit(corpus.texts, corpus.labels, **({} if held is None else {"validation": held}))
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --restart discards it") from error
    except KeyboardInterrupt:
        # A network that has an epoch behind it ends its training without an error.
        console(stderr=True).print(
            "stopped before there was a model; nothing was saved, the same command starts anew"
        )
        raise typer.Exit(130) from None
    return time.perf_counter() - started

"""``adasent train``: trains a model on labelled texts and saves it to a folder."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from adasent.cli import options
from adasent.cli.console import console
from adasent.cli.parts import Split, read_part
from adasent.cli.train_report import introduce, report_counts, report_network, say_next
from adasent.errors import AdaSentError, CheckpointError, ConfigError, FolderInUseError
from adasent.estimators.registry import describe, make
from adasent.saving.folder import CHECKPOINT, foreign_files, has_model, hold, repair

if TYPE_CHECKING:
    from adasent.data import Corpus


def train(
    data: options.Data,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model.")],
    system: options.SystemName = "adasent",
    vectors: options.Vectors = None,
    validation: Annotated[
        str | None,
        typer.Option(
            metavar="F|DATA",
            help="Share of the texts, or a set or file, that chooses the epoch; "
            "a tenth by default.",
        ),
    ] = None,
    seed: options.Seed = 0,
    preset: options.Preset = None,
    assignments: options.Set = None,
    text: options.Text = None,
    label: options.LabelColumn = None,
    encoding: options.Encoding = "utf-8",
    tokenizer: options.TokenizerName = "words",
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--restart", help="Go on with an unfinished run, as by default, or discard it."
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Train a model and save it to a folder.

    Ctrl-C saves the best model so far. A run that was stopped or killed goes
    on from its last epoch when the same command is given again. Systems that
    count words or learn vectors of texts train in one go instead.

    \b
    Examples:
      adasent train reviews.csv --out model --text review --label stars
      adasent train TREC --out trec --vectors wiki-50d --preset paper
      adasent train reviews.csv --out baseline --system nbsvm
    """
    from adasent.vectors.words import read_vectors

    chosen = options.take_settings(system, preset, assignments)
    options.check_options(
        system, {"--vectors": vectors, "--validation": validation, "--resume/--restart": resume}
    )
    by_epochs = describe(system).by_epochs
    settings = {"tokenizer": tokenizer, "random_state": seed} | chosen
    with _claimed(out):
        _check_folder(out, system, force)
        corpus, part = read_part(data, text, label, encoding, default=Split.train)
        sources = [read_vectors(path) for path in options.take_vectors(vectors, settings).values()]
        held = None
        if by_epochs:
            given, held = _validation(validation, text, label, encoding)
            given |= {"vectors": sources or None, "checkpoint": out / CHECKPOINT}
            settings = given | {"verbose": 0 if quiet else 1} | settings
        clf = make(system, **settings)
        if resume is False or not by_epochs:  # now that nothing the user has given was refused
            shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if not quiet:
            introduce(corpus, part, going_on=_is_unfinished(out))
        seconds = _fit(clf, corpus, held, out)
        # So that `evaluate` can say when it is given the texts that the model was trained on.
        clf.training_["data"] = {"name": corpus.name, "sha256": corpus.sha256, "part": part}
        _save(clf, out)
        if by_epochs and clf.history_.interrupted:
            _stop(
                f"stopped; the best model so far is in {out}; the same command goes on from here, "
                "with --restart it starts anew"
            )
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if quiet:
            return
        if by_epochs:
            report_network(clf, corpus, sources, out)
        else:
            report_counts(clf, seconds, out)
        say_next(out, data, part, system)


@contextmanager
def _claimed(out: Path) -> Iterator[None]:
    """Hold the folder, before any work is done; another command that trains there is refused."""
    with ExitStack() as stack:
        try:
            stack.enter_context(hold(out, patience=0))
        except FolderInUseError as error:
            raise ConfigError(f"--out {error}") from None
        except OSError as error:
            raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from error
        yield


def _check_folder(out: Path, system: str, force: bool) -> None:
    """Refuse a folder that may not be written or that holds what is to be kept."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {out} is a file; give the name of a folder")
    if out.exists() and not os.access(out, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {out} cannot be written; give another folder")
    repair(out)
    is_unfinished = _is_unfinished(out)
    if not is_unfinished:  # an empty folder of checkpoints is what a kill has left
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
    if foreign_files(out) and not has_model(out):
        raise ConfigError(
            f"--out {out} holds other files and no model; give a new or an empty folder"
        )
    if force:
        return
    if is_unfinished and not describe(system).by_epochs:
        raise ConfigError(
            f"--out {out} holds the unfinished run of a network, with which {system} cannot go on; "
            "add --force to discard it, or give another folder"
        )
    if has_model(out) and not is_unfinished:
        raise ConfigError(f"--out {out} holds a model already; add --force to replace it")


def _is_unfinished(out: Path) -> bool:
    """Whether the folder holds a run that can be gone on with."""
    return any((out / CHECKPOINT).glob("*.safetensors"))


def _save(clf: Any, out: Path) -> None:
    """Save the model, or say what becomes of the training if that fails."""
    kept = "the training is kept, and the same command goes on from its end"
    kept = kept if _is_unfinished(out) else "the same command starts anew"
    try:
        clf.save(out)
    except KeyboardInterrupt:
        _stop(f"stopped before the model was saved; {kept}")
    except OSError as error:
        raise AdaSentError(f"the model was not saved: {out}: {error.strerror}; {kept}") from error


def _stop(line: str) -> NoReturn:
    console(stderr=True).print(line)
    raise typer.Exit(130) from None


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


def _fit(clf: Any, corpus: Corpus, held: tuple[list[str], list[Any]] | None, out: Path) -> float:
    """Train, and say in how many seconds."""
    started = time.perf_counter()
    try:
        clf.fit(corpus.texts, corpus.labels, **({} if held is None else {"validation": held}))
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --restart discards it") from error
    except KeyboardInterrupt:
        # A network that has an epoch behind it ends its training without an error.
        if _is_unfinished(out):
            _stop("stopped before a model was saved; the same command goes on from its last epoch")
        _stop("stopped before there was a model; nothing was saved, the same command starts anew")
    return time.perf_counter() - started

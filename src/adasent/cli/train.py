"""``adasent train``: trains a model on labelled texts and saves it to a folder."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli import options
from adasent.cli.folders import check_folder, claimed, holds_unfinished, save_model, stop
from adasent.cli.groups import spread
from adasent.cli.parts import Split, read_part
from adasent.cli.reading import Reading
from adasent.cli.train_report import introduce, report_counts, report_network, say_next
from adasent.errors import CheckpointError
from adasent.estimators.registry import describe, make
from adasent.saving.folder import CHECKPOINT
from adasent.training.processes import is_first

if TYPE_CHECKING:
    from adasent.data import Corpus


@spread
def train(
    data: options.Data,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the model.")],
    reading: Reading,
    training: options.Training,
    system: options.SystemName = "adasent",
    vectors: options.Vectors = None,
    encoder: options.Encoder = None,
    tune_encoder: options.TuneEncoder = False,
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
    weight: options.Weight = None,
    tokenizer: options.Tokenizer = None,
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

    An encoder is tuned on several devices by accelerate launch -m adasent train.

    \b
    Examples:
      adasent train reviews.csv --out model --text review --label stars
      adasent train TREC --out trec --vectors glove.txt.gz --preset paper
      adasent train mails.csv --out mails --label topics --label-separator "|"
      adasent train CR --out cr --encoder thenlper/gte-small --tune-encoder
      adasent train reviews.csv --out baseline --system nbsvm
    """
    chosen = options.take_settings(system, preset, assignments, training)
    chosen = options.with_tokenizer(tokenizer, chosen)
    options.check_contradiction("--seed", "random_state", seed, {} if seed == 0 else chosen)
    given_options = {"--vectors": vectors, "--encoder": encoder, "--validation": validation}
    options.check_options(system, given_options | {"--resume/--restart": resume})
    options.take_encoder(encoder, tune_encoder, chosen)
    by_epochs = describe(system).by_epochs
    settings = {"random_state": seed} | chosen
    quiet = quiet or not is_first()
    with claimed(out):
        if is_first():
            check_folder(out, system, force)
        how: dict[str, Any] = {"quiet": quiet, "notes": False}
        how |= {} if weight is None else {"weight": weight}
        corpus, part = read_part(reading, data, default=Split.train, **how)
        held = None
        if by_epochs:
            given, held = _validation(validation, reading, quiet=quiet)
            wanted = options.take_vectors(vectors, settings)
            given |= {"vectors": wanted, "checkpoint": out / CHECKPOINT}
            settings = given | {"verbose": 0 if quiet else 1} | settings
        clf = make(system, **settings)
        # Now that nothing the user has given was refused.
        if is_first() and (resume is False or not by_epochs):
            shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if not quiet:
            introduce(corpus, part, going_on=holds_unfinished(out))
        seconds = _fit(clf, corpus, held, out)
        if not is_first():
            return
        # So that `evaluate` can say when it is given the texts that the model was trained on.
        clf.training_["data"] = {"name": corpus.name, "sha256": corpus.sha256, "part": part}
        save_model(clf, out)
        if by_epochs and clf.history_.interrupted:
            stop(
                f"stopped; the best model so far is in {out}; the same command goes on from here, "
                "with --restart it starts anew"
            )
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if quiet:
            return
        if by_epochs:
            report_network(clf, corpus, out)
        else:
            report_counts(clf, corpus, seconds, out)
        # What a cross-validation of the same model takes.
        same = {
            "--system": [] if system == "adasent" else [system],
            "--preset": [] if preset is None else [preset],
            "--vectors": vectors or [],
            "--encoder": [] if encoder is None else [encoder],
            "--tokenizer": [] if tokenizer is None else [tokenizer],
            "--set": [one for one in assignments or [] if not one.startswith("random_state")],
        }
        repeated = [word for option, values in same.items() for v in values for word in (option, v)]
        repeated += ["--tune-encoder"] if tune_encoder else []
        repeated = [*reading.words, *training.words, *repeated]
        say_next(out, data, part, repeated, system)


def _validation(
    value: str | None, reading: Reading, *, quiet: bool
) -> tuple[dict[str, Any], tuple[list[str], list[Any]] | None]:
    """What the option says, as a setting, or as texts and labels of their own."""
    if value is None:
        return {}, None
    try:
        return {"validation_fraction": float(value)}, None
    except ValueError:
        held = reading.load(value, quiet=quiet)
        return {"validation_fraction": 0.0}, (held.texts, held.labels)


def _fit(clf: Any, corpus: Corpus, held: tuple[list[str], list[Any]] | None, out: Path) -> float:
    """Train, and say in how many seconds."""
    started = time.perf_counter()
    try:
        clf.fit(
            corpus.texts,
            corpus.labels,
            corpus.weights,
            **({} if held is None else {"validation": held}),
        )
    except CheckpointError as error:
        raise CheckpointError(f"{error}; --restart discards it") from error
    except KeyboardInterrupt:
        # A network that has an epoch behind it ends its training without an error.
        if holds_unfinished(out):
            stop("stopped before a model was saved; the same command goes on from its last epoch")
        stop("stopped before there was a model; nothing was saved, the same command starts anew")
    return time.perf_counter() - started

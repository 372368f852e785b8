"""``adasent teach``: a large model teaches a small one, which is compared with it and saved."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from adasent.cli import options
from adasent.cli.console import console, progress, say
from adasent.cli.folders import check_folder, claimed, holds_unfinished, save_model, stop
from adasent.cli.groups import spread
from adasent.cli.parts import Split, read_part
from adasent.cli.reading import Reading
from adasent.cli.train_report import introduce, say_next, size_of
from adasent.errors import AdaSentWarning, CheckpointError, DataError
from adasent.estimators.registry import make
from adasent.saving.folder import CHECKPOINT

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.teaching.teach import Taught

#: What became of sentences that were read and not kept, as the report says it.
_DROPPED = {
    "empty": "without a word",
    "long": "too long",
    "held_back": "equal to a held-back text",
    "labelled": "equal to a labelled text",
    "repeated": "repeated",
}


@spread
def teach(
    data: options.Data,
    reading: Reading,
    training: options.Training,
    teacher: Annotated[
        list[str],
        typer.Option(
            metavar="NAME|DIR",
            help="A saved model of any system, a system to train, or an encoder to tune; "
            "repeat it to let several vote.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the student.")],
    unlabelled: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Text for the teacher to label, gzipped or not; repeatable. "
            "None: it is made of the training texts.",
        ),
    ] = None,
    vectors: options.Vectors = None,
    held_out: Annotated[
        str | None,
        typer.Option(
            metavar="F|DATA",
            help="Share of the texts, or a set or file, to compare on; the official test part "
            "or a tenth by default.",
        ),
    ] = None,
    folds: Annotated[
        int, typer.Option(help="Train a teacher so many times, each without a part.")
    ] = 1,
    sentences: Annotated[int, typer.Option(help="Texts that only the teacher labels.")] = 20_000,
    words: Annotated[int, typer.Option(help="Words that the student keeps.")] = 30_000,
    size: Annotated[int, typer.Option(help="Dimensions of its word vectors, at most.")] = 256,
    temperature: Annotated[
        float, typer.Option(help="Above 1 makes the teacher's probabilities more even.")
    ] = 1.0,
    hard: Annotated[
        float, typer.Option(help="Share of the given label in the target of a labelled text.")
    ] = 0.5,
    seed: options.Seed = 0,
    assignments: options.Set = None,
    tokenizer: options.Tokenizer = None,
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Keep labels and trained teachers there, for other runs too."
        ),
    ] = None,
    restart: Annotated[
        bool, typer.Option("--restart", help="Discard an unfinished run in DIR.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a model in DIR.")] = False,
    quiet: options.Quiet = False,
) -> None:
    """Let a large model teach AdaSent, compare both and save the small one.

    The teacher labels text without labels; the student learns from that and
    from the labelled texts. Neither sees the held-back texts before both are
    compared on them. A run that was stopped or killed goes on when the same
    command is given again: finished labels are not asked for twice.

    \b
    Examples:
      adasent teach reviews.csv --teacher big-model --unlabelled more.txt --out small
      adasent teach CR --teacher cnn --folds 5 --out student
    """
    # First, because it names the extra that is missing where torch or scikit-learn are not there.
    chosen = options.take_settings("adasent", None, assignments, training)
    chosen = options.with_tokenizer(tokenizer, chosen)
    for file in unlabelled or []:
        if str(file) != "-" and not file.exists():
            raise DataError(f"--unlabelled {file}: there is no such file")

    settings: dict[str, Any] = {"random_state": seed} | chosen
    with claimed(out):
        check_folder(out, "adasent", force)
        known, part, held = _parts(data, held_out, reading, quiet=quiet)
        wanted = options.take_vectors(vectors, settings)

        # Now that what was given can be read: these import scikit-learn and torch.
        from adasent.estimators.encoding import open_sources
        from adasent.teaching.sentences import read_texts
        from adasent.teaching.student import TeachingConfig
        from adasent.teaching.teach import ExtraConfig
        from adasent.teaching.teach import teach as teach_student

        config = TeachingConfig(temperature=temperature, hard=hard)
        extra = ExtraConfig(n_extra=sentences)
        # Opened once, for the teachers and the student.
        sources = open_sources(wanted)
        own = {"vectors": sources or None, "verbose": 0 if quiet else 1}
        # Threads and device are of the machine, and so for the teachers, too.
        given = own | {name: chosen[name] for name in ("n_jobs", "device") if name in chosen}
        teachers = [_teacher(name, known, part, random_state=seed, **given) for name in teacher]
        student = make("adasent", **own | {"checkpoint": out / CHECKPOINT} | settings)
        files = [str(path) for path in unlabelled or []]
        stream = read_texts(files, text=reading.text, encoding=reading.encoding)
        if restart:
            shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if not quiet:
            introduce(known, part, going_on=holds_unfinished(out))
        observer = _Bar(quiet=quiet)
        try:
            taught = teach_student(
                known.texts,
                known.labels,
                teachers,
                unlabelled=stream if files else None,
                student=student,
                held_out=held,
                folds=folds,
                config=config,
                extra=extra,
                n_words=words,
                size=size,
                cache=cache or out / CHECKPOINT,
                seed=seed,
                observer=observer,
            )
        except CheckpointError as error:
            raise CheckpointError(f"{error}; --restart discards it") from error
        except KeyboardInterrupt:
            stop("stopped before a model was saved; the same command goes on from here")
        finally:
            observer.close()
        clf = taught.student
        clf.training_["data"] = {"name": known.name, "sha256": known.sha256, "part": part}
        save_model(clf, out)
        if clf.history_.interrupted:
            stop(
                f"stopped; the best model so far is in {out}; the same command goes on from here, "
                "with --restart it starts anew"
            )
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
        if not quiet:
            _report(taught, out, [data, *reading.words], part)


def _parts(
    data: str, held_out: str | None, reading: Reading, *, quiet: bool
) -> tuple[Corpus, str, float | tuple[list[str], list[Any]]]:
    """The texts to learn from, which part of the data they are, and what is held back."""
    known, part = read_part(reading, data, default=Split.train, quiet=quiet, notes=False)
    if held_out is None and part == "train":
        test, _ = read_part(reading, data, default=Split.test, quiet=True)
        return known, part, (test.texts, test.labels)
    try:
        return known, part, float(held_out or 0.1)
    except ValueError:
        held = reading.load(str(held_out), quiet=quiet)
        return known, part, (held.texts, held.labels)


def _teacher(name: str, known: Corpus, part: str, **settings: Any) -> Any:
    """The teacher of that name; a warning if it has been trained on texts to compare on."""
    from adasent.teaching.teacher import find_teacher

    found = find_teacher(name, **settings)
    seen = getattr(found, "training_", {}).get("data")
    if isinstance(seen, dict) and seen.get("sha256") == known.sha256 and part == "all":
        warnings.warn(
            f"the teacher {name} was trained on these texts, those to compare on among them: it "
            "will look better than it is, and the student too; give --held-out texts of their own",
            AdaSentWarning,
            stacklevel=2,
        )
    return found


class _Bar:
    """A bar for each stage, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._bar = progress(console(stderr=True), "texts", quiet=quiet)
        self._task = self._bar.add_task("", visible=False)

    def on_stage(self, name: str, total: int | None) -> None:
        self._bar.stop()  # the student's training draws its own
        self._bar.reset(self._task, total=total, description=name, visible=bool(name))
        if name in ("reading", "labelling"):
            self._bar.start()

    def on_progress(self, n_done: int, n_asked: int) -> None:
        self._bar.update(self._task, completed=n_done)

    def close(self) -> None:
        """Draw nothing from now on."""
        self._bar.stop()


def _report(taught: Taught, out: Path, data: list[str], part: str) -> None:
    """What was used, how good both are, and what to do next."""
    report = taught.report
    dropped = [f"{n:,} {what}" for name, what in _DROPPED.items() if (n := report.extra[name])]
    n_dev = report.n_dev
    say(f"\nlabelled texts      {report.n_labelled:,} to learn from, {n_dev:,} chose the epoch")
    say(f"from the teacher    {report.n_extra:,} of {report.extra['read']:,} texts that were read")
    if dropped:
        say(f"{'':20}dropped: {', '.join(dropped)}")
    if report.comparison is not None:
        accuracies = {"teacher": report.teacher_accuracy, "student": report.student_accuracy}
        micro_f1 = {"teacher": report.teacher_micro_f1, "student": report.student_micro_f1}
        for name, accuracy in accuracies.items():
            said = f"{accuracy:.4f} accuracy"
            if micro_f1[name] is not None:
                said = f"{micro_f1[name]:.4f} micro F1, {accuracy:.4f} subset accuracy"
            say(f"{name:20}{said} on {report.n_held:,} held-back texts")
        gain, p = report.comparison.bootstrap, report.comparison.mcnemar.p
        say(
            f"student - teacher   {100 * gain.difference:+.2f} points, 95 % interval "
            f"{100 * gain.low:+.2f} to {100 * gain.high:+.2f}; McNemar's p = {p:.2g}"
        )
    say(f"model               {out}, {size_of(out)}, {len(taught.student.vocabulary_):,} words")
    say_next(out, data[0], part, data[1:], "adasent", folds=False)

"""What ``adasent train`` prints: the data before, the model after, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adasent.cli.console import console, say
from adasent.cli.options import command
from adasent.cli.scores import class_table, say_notes
from adasent.saving.folder import ENCODER

if TYPE_CHECKING:
    from adasent.data import Corpus

#: Classes in the table of a training; evaluate shows all.
MOST_CLASSES = 20
#: Share of words that were left out of a model, from which on it is told how to keep them.
WORTH_SAYING = 0.01


def introduce(corpus: Corpus, part: str, *, going_on: bool) -> None:
    """The texts, and whether an unfinished run goes on."""
    say(f"{corpus.name}: {len(corpus):,} texts, {len(corpus.classes)} classes{_several(corpus)}")
    if part == "train":
        say("only its official training part is used; the test part is left for evaluate")
    for note in corpus.notes:
        say(f"note: {note}")
    if going_on:
        say("going on with the unfinished run found there")


def _several(corpus: Corpus) -> str:
    """Of texts that may have several labels, how many they have."""
    if not corpus.multilabel:
        return ""
    counts = [len(labels) for labels in corpus.labels]
    return f"; {sum(counts) / len(counts):.2f} a text, {counts.count(0):,} texts have none"


def report_network(clf: Any, corpus: Corpus, out: Path) -> None:
    """A network that was trained by epochs."""
    history = clf.history_
    best = history[history.best_epoch]
    seconds = sum(history.column("seconds"))
    n_read = sum(row["examples_per_second"] * row["seconds"] for row in history)
    say(f"\nepochs              {len(history)}, best {history.best_epoch + 1}")
    if best["valid_accuracy"] is not None:
        n_held = clf.training_["n_validation"]
        name = "validation accuracy" if clf.thresholds_ is None else "validation micro F1"
        say(f"{name:20}{best['valid_accuracy']:.4f} on {n_held:,} texts")
        _say_scores(clf)
    else:
        say("validation          none; the last epoch was kept")
    say(f"speed               {n_read / seconds:,.0f} texts/s, {seconds:.0f} s in all")
    if clf.encoder is None:
        say(f"vectors             {_vectors(clf.training_['vectors'])}")
    else:
        say(f"encoder             {clf.encoder}, {'tuned' if clf.tune_encoder else 'frozen'}")
    for name, line in zip(("unseen words", ""), _unseen(clf), strict=False):
        say(f"{name:20}{line}")
    flow = history[-1]["gradient_flow"]
    if flow is not None:
        say(f"gradient flow       {flow['verdict']}")
    say(f"model               {out}, {size_of(out)}, {clf.encoder_.n_words:,} words")
    _say_classes(clf)
    _say_notes(clf, corpus)


def report_counts(clf: Any, corpus: Corpus, seconds: float, out: Path) -> None:
    """A system that was trained in one go."""
    say(f"\ntraining            {seconds:.1f} s in all")
    say(f"model               {out}, {size_of(out)}")
    _say_notes(clf, corpus)


def say_next(
    out: Path, data: str, part: str, repeated: Sequence[str], system: str, *, folds: bool = True
) -> None:
    """Commands for the new model, ready to be run; ``repeated`` are options that were given.

    ``folds`` says whether its texts can be cross-validated.
    """
    lines = {
        command("adasent", "predict", out, "a text of yours"): "a label, and how sure it is",
        command("adasent", "explain", out, "a text of yours"): "why it gets that label",
        command("adasent", "crossval", data, *repeated): "accuracy on texts it has not seen",
    }
    if part == "train":
        lines[command("adasent", "evaluate", out, data)] = "accuracy on its test part"
    if part == "train" or not folds:
        del lines[command("adasent", "crossval", data, *repeated)]
    if system != "adasent":
        del lines[command("adasent", "explain", out, "a text of yours")]
    say("\nnext")
    width = max(map(len, lines))
    for line, what in lines.items():
        say(f"  {line:{width}}  {what}")


def _say_scores(clf: Any) -> None:
    """Scores on the validation part, and what calibration by it has changed.

    Not the calibration error: of so few texts it is mostly chance.
    """
    from adasent.evaluation.metrics import validation_report

    report = validation_report(clf.classes_.tolist(), clf.training_)
    if report is None:
        return
    say(f"macro F1            {report.macro_f1:.4f}")
    say(f"balanced accuracy   {report.balanced_accuracy:.4f}")
    found = clf.training_["calibration"]
    if found["temperature"] is not None:
        before, after = (found[when]["log_loss"] for when in ("before", "after"))
        at = f"temperature {found['temperature']:.2f}"
        say(f"calibration         {at}; validation log loss {after:.4f}, {before:.4f} without")


def _say_classes(clf: Any) -> None:
    """A table of the classes on the validation part."""
    from adasent.evaluation.metrics import validation_report

    report = validation_report(clf.classes_.tolist(), clf.training_)
    if report is not None:
        say("\nvalidation part")
        console().print(class_table(report, MOST_CLASSES))


def _say_notes(clf: Any, corpus: Corpus) -> None:
    """What to know of these figures, where there is something."""
    from adasent.evaluation import advice
    from adasent.evaluation.metrics import validation_report

    settings = clf.get_params(deep=False)
    report = validation_report(clf.classes_.tolist(), clf.training_)
    trained = settings if "class_weight" in settings else None
    notes = [] if report is None else advice.never_predicted(report, trained)
    notes += advice.imbalance(corpus.labels, trained, remedy=not notes)  # they have the same one
    if report is not None:
        remedy = "adasent crossval tests all texts, --validation 0.2 holds more of them back"
        notes += advice.too_few(report, "validation", remedy)
    notes += advice.long_texts(clf.training_, has_height="max_height" in settings)
    if notes:
        say()
    say_notes(notes)


def _unseen(clf: Any) -> list[str]:
    """What of the held-out texts the model cannot read, and what can be done about it."""
    unseen = clf.training_["unseen"]
    if not unseen or not unseen["n_words"]:
        return []
    share = unseen["n_unknown"] / unseen["n_words"]
    line = f"{share:.1%} of the words of the held-out texts are unknown to the model"
    left_out = unseen["n_left_out"] / unseen["n_words"]
    if left_out < WORTH_SAYING:
        return [line]
    more = 2 * max(clf.extra_words, 10_000)
    return [line, f"{left_out:.1%} have a vector: --set extra_words={more} keeps more of them"]


def size_of(folder: Path) -> str:
    """What the files of a folder weigh, those of an encoder below it included."""
    files = [*folder.iterdir(), *(folder / ENCODER).glob("*")]
    size = sum(path.stat().st_size for path in files if path.is_file())
    return f"{size / 1e6:.1f} MB"


def _vectors(used: dict[str, Any]) -> str:
    """Which word vectors a network started from, and how many of its words have one."""
    from adasent.vectors.words import Coverage

    if not used["sets"]:
        return "none, random start; see adasent vectors --help"
    names = " + ".join(one["name"] for one in used["sets"])
    return f"{names}{' (auto)' if used['auto'] else ''}: {Coverage(**used['coverage'])}"

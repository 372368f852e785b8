"""What ``adasent train`` prints: the data before, the model after, and what to do next."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from adasent.cli.console import say
from adasent.cli.options import command

if TYPE_CHECKING:
    from adasent.data import Corpus
    from adasent.vectors.words import WordVectors

#: Share of words that were left out of a model, from which on it is told how to keep them.
WORTH_SAYING = 0.01


def introduce(corpus: Corpus, part: str, *, going_on: bool) -> None:
    """The texts, and whether an unfinished run goes on."""
    n_classes = len(set(corpus.labels))
    say(f"{corpus.name}: {len(corpus):,} texts, {n_classes} classes")
    if part == "train":
        say("only its official training part is used; the test part is left for evaluate")
    for note in corpus.notes:
        say(f"note: {note}")
    if going_on:
        say("going on with the unfinished run found there")


def report_network(clf: Any, corpus: Corpus, sources: list[WordVectors], out: Path) -> None:
    """A network that was trained by epochs."""
    history = clf.history_
    best = history[history.best_epoch]
    seconds = sum(history.column("seconds"))
    n_read = sum(row["examples_per_second"] * row["seconds"] for row in history)
    say(f"\nepochs              {len(history)}, best {history.best_epoch + 1}")
    if best["valid_accuracy"] is not None:
        n_held = clf.training_["n_validation"]
        say(f"validation accuracy {best['valid_accuracy']:.4f} on {n_held:,} texts")
    else:
        say("validation          none; the last epoch was kept")
    say(f"speed               {n_read / seconds:,.0f} texts/s, {seconds:.0f} s in all")
    say(f"vectors             {_coverage(clf, corpus, sources)}")
    for name, line in zip(("unseen words", ""), _unseen(clf), strict=False):
        say(f"{name:20}{line}")
    _say_cut(clf)
    flow = history[-1]["gradient_flow"]
    if flow is not None:
        say(f"gradient flow       {flow['verdict']}")
    say(f"model               {out}, {_size(out)}, {len(clf.vocabulary_):,} words")


def report_counts(clf: Any, seconds: float, out: Path) -> None:
    """A system that was trained in one go."""
    say(f"\ntraining            {seconds:.1f} s in all")
    _say_cut(clf)
    say(f"model               {out}, {_size(out)}")


def say_next(out: Path, data: str, part: str, system: str) -> None:
    """Commands for the new model."""
    say("\nnext")
    if part == "train":
        say(f"  {command('adasent', 'evaluate', out, data)}")
    else:
        chosen = () if system == "adasent" else ("--system", system)
        line = command("adasent", "crossval", data, *chosen)
        say(f"  {line}    accuracy on texts it has not seen")
    say(f'  echo "a text of yours" | {command("adasent", "predict", out, "--proba")}')


def _say_cut(clf: Any) -> None:
    """What of long texts was not read, or what they cost."""
    from adasent.text.cutting import FEW, MOST, SHORT, Cut

    cut = Cut(**clf.training_["cut"])
    if cut.n_texts:
        n_texts, lost = clf.training_["n_texts"], cut.n_lost / cut.n_words
        say(
            f"long texts          {cut.n_texts:,} of {n_texts:,} cut after {cut.max_words:,} "
            f"words, {lost:.1%} of all words not read; --set max_words=N cuts after N"
        )
    if cut.longest >= SHORT and cut.share > MOST:
        say(
            f"long texts          the longest {FEW:.0%} take {cut.share:.0%} of the work; "
            "--set max_words=N cuts them, --set max_height=N bounds the phrases"
        )


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


def _size(folder: Path) -> str:
    size = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
    return f"{size / 1e6:.1f} MB"


def _coverage(clf: Any, corpus: Corpus, sources: list[WordVectors]) -> str:
    from adasent.vectors.words import coverage

    if not sources:
        return "none, random start; see adasent vectors --help"
    cut = clf.encoder_.tokenizer
    counts = Counter(token for text in corpus.texts for token in cut(text))
    return str(coverage(sources, counts, n_missing=0))

"""What to know of figures and what to do about it, a line each; nothing where all is well.

Every line has a rule, named where it is, so that it comes when it is true and not otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from adasent.data.corpus import Label, counted
from adasent.evaluation.metrics import Report
from adasent.evaluation.significance import wilson
from adasent.text.cutting import FEW, MOST, SHORT, Cut

#: Texts of the largest class for each of the smallest, from which on accuracy hides the small ones.
IMBALANCED = 10
#: An accuracy that is known less well than this, up and down, is not to be trusted.
TOO_WIDE = 0.05
#: Labels that a line names.
_NAMED = 3

Settings = Mapping[str, Any]


class Note(NamedTuple):
    """Something to know of figures."""

    title: str
    text: str


def never_predicted(report: Report, settings: Settings | None = None) -> list[Note]:
    """Classes that texts have and that the model predicted of none.

    ``settings`` are those of a network that can be trained anew, None of other systems.
    """
    scores = zip(report.classes, report.n_predicted, strict=True)
    missed = [(one.label, one.support) for one, n in scores if one.support and not n]
    if not missed:
        return []
    shown = [f"{label} ({counted(n, 'text')})" for label, n in missed]
    return [Note("never predicted", f"{_listed(shown)}; {_for_small_classes(settings)}")]


def imbalance(
    labels: Iterable[Label], settings: Settings | None = None, *, remedy: bool = True
) -> list[Note]:
    """The largest class has :data:`IMBALANCED` times the texts of the smallest, or more.

    Not said where the training weighs the classes. Without a ``remedy`` it only says how to read
    the figures.
    """
    counts = Counter(labels).most_common()
    (largest, most), (smallest, fewest) = counts[0], counts[-1]
    weighed = settings is not None and settings.get("class_weight") is not None
    if weighed or most < IMBALANCED * fewest:
        return []
    text = (
        f"{counted(most, 'text')} of {largest}, {fewest:,} of {smallest}; accuracy says little of "
        "small classes, macro F1 more"
    )
    if remedy:
        text += f"; {_for_small_classes(settings)}"
    return [Note("unequal classes", text)]


def too_few(report: Report, part: str, remedy: str) -> list[Note]:
    """The 95 % interval of the accuracy is wider than twice :data:`TOO_WIDE`."""
    low, high = wilson(report.n_correct, report.n)
    if high - low <= 2 * TOO_WIDE:
        return []
    text = (
        f"{counted(report.n, 'text')} in the {part} part: the accuracy of such texts is somewhere "
        f"from {low:.2f} to {high:.2f}; {remedy}"
    )
    return [Note("few texts", text)]


def long_texts(training: Mapping[str, Any], *, has_height: bool) -> list[Note]:
    """Texts were cut, or a few long ones take most of the work (:mod:`adasent.text.cutting`).

    ``has_height`` says whether the system has a setting ``max_height``.
    """
    cut = Cut(**training["cut"])
    notes = []
    if cut.n_texts:
        n_texts, lost = training["n_texts"], cut.n_lost / cut.n_words
        text = (
            f"{cut.n_texts:,} of {n_texts:,} cut after {cut.max_words:,} words, "
            f"{lost:.1%} of all words not read; --set max_words=N cuts after N"
        )
        notes.append(Note("long texts", text))
    if cut.longest >= SHORT and cut.share > MOST:
        bound = ", --set max_height=N bounds the phrases" if has_height else ""
        text = (
            f"the longest {FEW:.0%} take {cut.share:.0%} of the work; "
            f"--set max_words=N cuts them{bound}"
        )
        notes.append(Note("long texts", text))
    return notes


def _for_small_classes(settings: Settings | None) -> str:
    """What helps classes of few texts, of what has not been done."""
    if settings is None:
        return "more texts of the small ones would help"
    ways = []
    if settings.get("class_weight") is None:
        ways.append("--set class_weight=balanced weighs classes alike")
    if settings.get("metric") in ("accuracy", "loss"):
        ways.append("--set metric=macro_f1 chooses the epoch by all of them")
    return ", ".join(ways) or "more texts of the small ones would help"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")

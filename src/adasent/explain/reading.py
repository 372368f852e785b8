"""An explanation read for one class, or for one rather than another: what every picture shows.

One rule of colours, whatever draws: a colour is a class. A part has the colour of the class that it
adds most to, and is the stronger the more it adds, beside the largest of its kind. Of two classes
that are held against each other, a part has the colour of the one that it speaks for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adasent.data.corpus import Label
from adasent.explain.colours import CLASS_COLOURS
from adasent.explain.explanation import Explanation
from adasent.runtime.arrays import Array, Doubles

#: Where even the largest part is next to nothing, rounding is not painted as if it were more.
LEAST_LARGEST = 1e-4
#: Scores below this are shown as 0.00, and phrases that have no other are not listed.
LEAST_SHOWN = 0.005
#: Phrases that are listed for a class and against it.
MOST_FOR, MOST_AGAINST = 7, 4
#: What a phrase has to add for the verdict to name it, and beside the first that it names.
NAMED, NAMED_SHARE = 0.05, 0.3
#: Of several answers, those that are named and given reasons.
MOST_ANSWERS = 3


class Part(NamedTuple):
    """A word, phrase, unit or level as it is shown."""

    value: float  # above 0 it speaks for the class that is read for
    colour: str
    strength: float  # of the colour, from 0 to 1


class ShownPhrase(NamedTuple):
    """A phrase as it is shown."""

    text: str
    n_words: int
    interaction: float  # what it says beyond its words one by one
    part: Part

    @property
    def beyond(self) -> str:
        """The interaction in words: how much, and whether it turns what its words say."""
        if self.n_words == 1:
            return ""
        value = self.part.value
        one_by_one = value - self.interaction
        turns = value * one_by_one < 0 and min(abs(value), abs(one_by_one)) >= NAMED
        return f"{self.interaction:+.2f}{', turns them' if turns else ''}"


@dataclass(frozen=True, eq=False)
class Reading:
    """What is shown of an explanation.

    Attributes
    ----------
    title
        What the values speak for, with the total: positive, 0.93.
    margin
        Whether one class is held against another.
    total, base
        The probability or its margin, and that of no word; levels, words or phrases sum to the
        difference.
    units
        For each level; the words on the first. None where the pyramid was not stored.
    phrases
        The highest value first.
    """

    title: str
    margin: bool
    total: float
    base: float
    levels: Sequence[Part]
    words: Sequence[Part]
    units: Sequence[Sequence[Part]]
    phrases: Sequence[ShownPhrase]

    @property
    def listed(self) -> tuple[list[ShownPhrase], float]:
        """The phrases to list, those for the class first, and what all others add together."""
        speak_for = [one for one in self.phrases if one.part.value >= LEAST_SHOWN][:MOST_FOR]
        against = [one for one in self.phrases if one.part.value <= -LEAST_SHOWN][-MOST_AGAINST:]
        listed = [*speak_for, *against]
        return listed, self.total - self.base - sum(one.part.value for one in listed)


class _Reader:
    """Takes scores (n, C) of parts of one kind for what they are shown as."""

    def __init__(self, explanation: Explanation, a: Label, b: Label | None) -> None:
        self.column = explanation.column(a)
        self.other = None if b is None else explanation.column(b)

    def values(self, scores: Array) -> Doubles:
        """(n,) for the class, or for it less for the other."""
        own = np.asarray(scores, dtype=np.float64)
        values: Doubles = own[:, self.column]
        return values if self.other is None else values - own[:, self.other]

    def parts(self, scores: Array) -> list[Part]:
        values = self.values(scores)
        if self.other is None:
            classes, sizes = scores.argmax(axis=1), scores.max(axis=1)
        else:
            classes, sizes = np.where(values > 0, self.column, self.other), np.abs(values)
        largest = max(float(sizes.max(initial=0.0)), LEAST_LARGEST)
        # The root keeps small parts visible.
        strengths = np.sqrt(np.clip(sizes / largest, 0.0, 1.0))
        colours = [colour_of(i) for i in classes.tolist()]
        return list(map(Part, values.tolist(), colours, strengths.tolist()))


def colour_of(column: int) -> str:
    """The colour of a class."""
    return CLASS_COLOURS[column % len(CLASS_COLOURS)]


def read_for(explanation: Explanation, a: Label | None = None, b: Label | None = None) -> Reading:
    """Read an explanation for class a, the predicted one if None, rather than b if there is one.

    Of several predicted ones it is the most probable, and the title has them all.
    """
    several = a is b is None and explanation.thresholds is not None
    a = explanation.shown[0] if a is None else a
    reader = _Reader(explanation, a, b)
    total = float(reader.values(explanation.probabilities[None])[0])
    words = reader.parts(explanation.words)
    upper = reader.parts(explanation.unit_scores.rows[len(words) :])
    units, done = [words], 0
    for level in explanation.unit_scores[1:]:
        units.append(upper[done : done + len(level)])
        done += len(level)
    found = explanation.phrases
    beyond = reader.values(found.found.interactions).tolist()
    phrases = [
        ShownPhrase(one.text, one.end - one.start, more, part)
        for one, more, part in zip(found, beyond, reader.parts(found.found.scores), strict=True)
    ]
    title = f"{a}, {total:.2f}" if b is None else f"{a} rather than {b}, {total:+.2f}"
    return Reading(
        _title_of_several(explanation) if several else title,
        b is not None,
        total,
        float(reader.values(explanation.base[None])[0]),
        reader.parts(explanation.level_scores),
        words,
        units if len(explanation.unit_scores) else (),
        sorted(phrases, key=lambda one: -one.part.value),
    )


def verdict(explanation: Explanation) -> str:
    """The predicted class with its probability, and the phrases that speak for it and against."""
    answers = [_with_share(explanation, label) for label in explanation.answers]
    named = answers[:MOST_ANSWERS] + _more(answers)
    answer = _list(named) if named else _none_of(explanation)
    if not explanation.n_words:
        return f"{answer}: there is no word to go by"
    if len(answers) != 1:
        reasons = [_reason(explanation, label) for label in explanation.answers[:MOST_ANSWERS]]
        return "; ".join([answer, *filter(None, reasons)])
    best = explanation.column(explanation.answers[0])
    ranked = sorted(explanation.phrases, key=lambda phrase: -phrase.score[best])
    speak_for = _named([(one.text, one.score[best]) for one in ranked], 3)
    against = _named([(one.text, -one.score[best]) for one in reversed(ranked)], 2)
    if speak_for:
        reason = f"{answer}, mostly because of {_list(speak_for)}"
    else:
        first = best if explanation.thresholds is not None else int(explanation.base.argmax())
        reason = (
            f"{answer}, though no phrase speaks clearly for it: without a word the model says "
            f"{explanation.classes[first]} ({percent(explanation.base[first])})"
        )
    if not against:
        return reason
    return f"{reason}; {_list(against)} {'speak' if len(against) > 1 else 'speaks'} against it"


def _reason(explanation: Explanation, label: Label) -> str:
    """Of several answers one, with the phrases that speak for it; empty if there are none."""
    column = explanation.column(label)
    ranked = sorted(explanation.phrases, key=lambda phrase: -phrase.score[column])
    speak_for = _named([(one.text, one.score[column]) for one in ranked], 2)
    return f"{label} mostly because of {_list(speak_for)}" if speak_for else ""


def _with_share(explanation: Explanation, label: Label) -> str:
    return f"{label} ({percent(explanation.probabilities[explanation.column(label)])})"


def _none_of(explanation: Explanation) -> str:
    """What to say of a text that gets no label."""
    (label,) = explanation.shown
    assert explanation.thresholds is not None
    least = percent(explanation.thresholds[explanation.column(label)])
    return f"none of the labels: {_with_share(explanation, label)} is nearest, it takes {least}"


def _more(answers: Sequence[str]) -> list[str]:
    n_more = len(answers) - MOST_ANSWERS
    return [f"{n_more} more"] if n_more > 0 else []


def _title_of_several(explanation: Explanation) -> str:
    answers = [
        f"{label}, {explanation.probabilities[explanation.column(label)]:.2f}"
        for label in explanation.shown
    ]
    title = "; ".join(answers[:MOST_ANSWERS] + _more(answers))
    return title if explanation.answers else f"none; nearest {title}"


def _named(phrases: Sequence[tuple[str, float]], most: int) -> list[str]:
    least = max(NAMED, NAMED_SHARE * max((score for _, score in phrases), default=0.0))
    names = [f"“{' '.join(text.split())}”" for text, score in phrases if score >= least]
    return list(dict.fromkeys(names))[:most]


def _list(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def percent(share: float) -> str:
    """For reading: never rounded to all or nothing."""
    if 0.995 < share < 1:
        return ">99 %"
    return "<1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"

"""``Explanation``: why a text got its label, as data, to JSON and back."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import DataError
from adasent.explain.parts import ByLevel, Phrase, Phrases
from adasent.explain.phrases import FoundPhrases
from adasent.explain.spans import span_levels
from adasent.runtime.arrays import Array, Doubles, Floats
from adasent.text.offsets import Offsets

#: What the scores of words are, by the names that ``explain`` takes; see ``docs/explanations.md``.
METHODS = {
    "shapley": "Shapley values",
    "fast": "mean of what a word adds alone, to the words before it, and to those after it",
}

#: What the levels contribute sums to the probabilities within this.
SUM_TOLERANCE = 1e-6


class Rest(Protocol):
    """The part of an explanation that may be found late."""

    @property
    def offsets(self) -> Offsets:
        """Where each word stands in the text."""

    @property
    def gates(self) -> Array:
        """(units above the words, 3) left, right and composed share, level after level."""

    @property
    def votes(self) -> Array:
        """(units, C) probabilities of the classes by each unit alone."""

    @property
    def added(self) -> Array:
        """(units above the words, C) what each adds to the probabilities."""

    def phrases(self, words: Doubles) -> FoundPhrases:
        """The phrases, by the scores (T, C) of the words."""


class Known(NamedTuple):
    """A :class:`Rest` that was read or found before."""

    offsets: Offsets
    gates: Array
    votes: Array
    added: Array
    found: FoundPhrases

    def phrases(self, words: Doubles) -> FoundPhrases:
        """Those that were found."""
        return self.found


@dataclass(frozen=True, eq=False)
class Contrast:
    """Why class a rather than class b.

    Attributes
    ----------
    margin, base
        p(a) - p(b), and the same of no word.
    levels, words
        (L,) and (T,) what each adds to the margin; either sums to the margin less the base.
    phrases
        With a single score and interaction, for a less for b; the highest first.
    """

    a: Label
    b: Label
    margin: float
    base: float
    levels: Doubles
    words: Doubles
    phrases: tuple[Phrase, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "a": self.a,
            "b": self.b,
            "margin": self.margin,
            "base": self.base,
            "levels": self.levels.tolist(),
            "words": self.words.tolist(),
            "phrases": [_phrase_dict(phrase) for phrase in self.phrases],
        }


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a text of T words got its label; L, the number of levels, is T or the model's height.

    What the model says of no word is the base. From there to the probabilities everything adds up:
    the levels, the words, the phrases; and the units of a level above the words sum to the level.
    Levels are exact; words are by ``method``, and phrases and units follow from words and levels.

    Attributes
    ----------
    tokens
        The T words as the model read them. A text without any is one ``<unk>``.
    classes, probabilities, base
        The C labels, the probability of each, and that of each for no word.
    beliefs, level_probabilities
        (L,) belief in each level, and (L, C) what it says alone.
    words, errors
        (T, C) score of each word, what it adds to each probability; and its standard error, 0 where
        it is exact.
    rest
        What is found only when it is asked for: offsets, phrases and the pyramid.
    thresholds
        Where a text may have several labels, (C,) the probability from which on it has each:
        classes are then explained one by one, and what a word adds to them sums to anything. Else
        None, and what a word adds sums to 0 over the classes.
    n_words, truncated
        How many words the text has, and whether the model read only the first of them.
    """

    text: str
    tokens: tuple[str, ...]
    classes: tuple[Label, ...]
    probabilities: Doubles
    base: Doubles
    beliefs: Doubles
    level_probabilities: Doubles
    words: Doubles
    errors: Doubles
    rest: Rest
    n_words: int
    truncated: bool
    method: str
    thresholds: Doubles | None = None

    @property
    def predicted(self) -> Label | tuple[Label, ...]:
        """What ``predict`` gives: the most probable label, or all of those that the text has."""
        if self.thresholds is None:
            return self.answers[0]
        return tuple(label for label in self.classes if label in self.answers)

    @cached_property
    def answers(self) -> tuple[Label, ...]:
        """The labels that the text gets, the most probable first: one, or any number."""
        if self.thresholds is None:
            return (self.classes[int(self.probabilities.argmax())],)
        order = np.argsort(-self.probabilities, kind="stable").tolist()
        reached = self.probabilities >= self.thresholds
        return tuple(self.classes[c] for c in order if reached[c])

    @property
    def shown(self) -> tuple[Label, ...]:
        """:attr:`answers`; if there is none, the label that is nearest to its threshold."""
        if self.answers or self.thresholds is None:
            return self.answers
        return (self.classes[int((self.probabilities - self.thresholds).argmax())],)

    @property
    def verdict(self) -> str:
        """The answer and its reasons in a sentence."""
        from adasent.explain.reading import verdict  # it reads explanations

        return verdict(self)

    @cached_property
    def offsets(self) -> Offsets:
        """Where each word stands in ``text``: its first character and the one after its last.

        The ``<unk>`` of a text without words is at (0, 0).
        """
        return self.rest.offsets

    @cached_property
    def contributions(self) -> Doubles:
        """(L, C) belief times vote; the levels sum to the probabilities."""
        found: Doubles = self.beliefs[:, None] * self.level_probabilities
        return found

    @cached_property
    def level_scores(self) -> Doubles:
        """(L, C) what each level adds: belief times what its vote has beyond the base."""
        found: Doubles = self.beliefs[:, None] * (self.level_probabilities - self.base)
        return found

    @cached_property
    def gates(self) -> ByLevel:
        """What the units of each level from the second on are made of, (units, 3).

        Shares of the left child, of the right child and of what both compose; means over groups of
        dimensions that have gates of their own.
        """
        return ByLevel(self.rest.gates, len(self.tokens) - 1, len(self.beliefs) - 1)

    @cached_property
    def spans(self) -> tuple[Floats, ...]:
        """For each level t (units, t): the weight in a unit of each word it covers; rows sum to 1.

        Unit j covers the words from j on.
        """
        if not len(self.unit_probabilities):
            raise DataError(
                "the explanation was stored without its pyramid; explain the text again"
            )
        gates = [np.asarray(level, dtype=np.float32) for level in self.gates]
        return tuple(span_levels(gates, len(self.tokens)))

    @cached_property
    def unit_probabilities(self) -> ByLevel:
        """For each level, (units, C): what a unit says alone."""
        return ByLevel(self.rest.votes, len(self.tokens), len(self.beliefs))

    @cached_property
    def unit_scores(self) -> ByLevel:
        """For each level, (units, C): what a unit adds; on the first level, the words' scores."""
        stored = len(self.unit_probabilities) > 0
        rows = np.concatenate([self.words, self.rest.added]) if stored else self.words[:0]
        return ByLevel(rows, len(self.tokens), len(self.beliefs))

    @cached_property
    def phrases(self) -> Phrases:
        """Words that act together and all others, without overlap; the strongest first."""
        return Phrases(self.rest.phrases(self.words), self.text, self.offsets)

    def characters(self, start: int, end: int) -> str:
        """The part of the text that the words from ``start`` to before ``end`` stand in."""
        return self.text[self.offsets[start][0] : self.offsets[end - 1][1]]

    def column(self, label: Label) -> int:
        """Which of the classes a label is."""
        if label not in self.classes:
            names = ", ".join(map(repr, self.classes))
            raise DataError(f"expected one of the labels {names}, got {label!r}")
        return self.classes.index(label)

    def contrast(self, a: Label, b: Label) -> Contrast:
        """Why a rather than b."""
        i, j = self.column(a), self.column(b)
        phrases = [
            phrase._replace(
                score=(phrase.score[i] - phrase.score[j],),
                interaction=(phrase.interaction[i] - phrase.interaction[j],),
            )
            for phrase in self.phrases
        ]
        return Contrast(
            a,
            b,
            float(self.probabilities[i] - self.probabilities[j]),
            float(self.base[i] - self.base[j]),
            self.level_scores[:, i] - self.level_scores[:, j],
            self.words[:, i] - self.words[:, j],
            tuple(sorted(phrases, key=lambda phrase: -phrase.score[0])),
        )

    def to_dict(self, *, pyramid: bool = True) -> dict[str, Any]:
        """Everything as JSON values.

        Parameters
        ----------
        pyramid
            Whether to include gates, spans and units. The spans of T words are T^3 / 6 numbers, or
            T L^2 / 2 with a height of L: leave them out for texts of hundreds of words.
        """
        pairs = zip(self.unit_scores, self.unit_probabilities, strict=True) if pyramid else ()
        return {
            "text": self.text,
            "tokens": list(self.tokens),
            "offsets": [list(pair) for pair in self.offsets],
            "classes": list(self.classes),
            "probabilities": self.probabilities.tolist(),
            "base": self.base.tolist(),
            "predicted": list(said) if isinstance(said := self.predicted, tuple) else said,
            "thresholds": None if self.thresholds is None else self.thresholds.tolist(),
            "verdict": self.verdict,
            "beliefs": self.beliefs.tolist(),
            "level_probabilities": self.level_probabilities.tolist(),
            "contributions": self.contributions.tolist(),
            "level_scores": self.level_scores.tolist(),
            "gates": [level.tolist() for level in self.gates] if pyramid else [],
            "spans": [level.tolist() for level in self.spans] if pyramid else [],
            "units": [
                [
                    {"score": score, "probabilities": votes}
                    for score, votes in zip(scores.tolist(), probabilities.tolist(), strict=True)
                ]
                for scores, probabilities in pairs
            ],
            "words": self.words.tolist(),
            "errors": self.errors.tolist(),
            "phrases": [_phrase_dict(phrase) for phrase in self.phrases],
            "method": self.method,
            "n_words": self.n_words,
            "truncated": self.truncated,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Inverse of :meth:`to_dict`.

        Raises
        ------
        DataError
            If the levels do not sum to the probabilities.
        """
        if "base" not in values:
            raise DataError(
                "expected an explanation with its base, got one of an earlier version; explain the "
                "text again"
            )
        n_words, n_classes = len(values["tokens"]), len(values["classes"])
        units = [unit for level in values["units"] for unit in level]
        gates = [gate for level in values["gates"] for gate in level]
        phrases = values["phrases"]

        def rows(of: list[list[float]], width: int = n_classes) -> Doubles:
            return np.array(of, dtype=np.float64).reshape(-1, width)

        known = Known(
            tuple((start, end) for start, end in values["offsets"]),
            rows(gates, 3),
            rows([unit["probabilities"] for unit in units]),
            rows([unit["score"] for unit in units[n_words:]]),
            FoundPhrases(
                np.array([[one["start"], one["end"]] for one in phrases], dtype=np.int64),
                rows([one["score"] for one in phrases]),
                rows([one["interaction"] for one in phrases]),
            ),
        )
        found = cls(
            values["text"],
            tuple(values["tokens"]),
            tuple(values["classes"]),
            np.array(values["probabilities"]),
            np.array(values["base"]),
            np.array(values["beliefs"]),
            np.array(values["level_probabilities"]),
            np.array(values["words"]),
            np.array(values["errors"]),
            known,
            values["n_words"],
            values["truncated"],
            values["method"],
            None if values.get("thresholds") is None else np.array(values["thresholds"]),
        )
        off = np.abs(found.contributions.sum(axis=0) - found.probabilities).max()
        if not off < SUM_TOLERANCE:
            raise DataError(
                "expected beliefs and level_probabilities that sum to the probabilities, they are "
                f"off by {off:.2g}; explain the text again"
            )
        return found

    def to_json(self, *, pyramid: bool = True) -> str:
        """:meth:`to_dict` as a line of JSON."""
        return json.dumps(self.to_dict(pyramid=pyramid))

    @classmethod
    def from_json(cls, line: str) -> Self:
        """Inverse of :meth:`to_json`."""
        return cls.from_dict(json.loads(line))

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process shall not bring the model along.
        state = {name: getattr(self, name) for name in self.__dataclass_fields__}
        rest = self.rest
        known = Known(rest.offsets, rest.gates, rest.votes, rest.added, rest.phrases(self.words))
        return state | {"rest": known}

    def _repr_html_(self) -> str:
        from adasent.explain.html import fragment

        return fragment(self)


def _phrase_dict(phrase: Phrase) -> dict[str, Any]:
    return phrase._asdict() | {"score": [*phrase.score], "interaction": [*phrase.interaction]}

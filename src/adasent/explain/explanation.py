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
from adasent.explain.mixture import SUM_TOLERANCE
from adasent.explain.offsets import Offsets
from adasent.explain.parts import ByLevel, Phrase, Phrases
from adasent.explain.spans import span_levels
from adasent.runtime.arrays import Array, Doubles, Floats, Ints

#: How scores below the level of the mixture are made; see ``docs/explanations.md``.
METHOD = "gate paths, exact ends and the word alone"
#: The same with every word left out in turn.
EXACT = "each word left out and the word alone"


class Rest(Protocol):
    """The part of an explanation that may be found late."""

    @property
    def offsets(self) -> Offsets:
        """Where each word stands in the text."""

    @property
    def votes(self) -> Array:
        """(units, C) probabilities of the classes by each unit alone, level after level."""

    @property
    def bounds(self) -> Ints:
        """(P, 3) first word, word after the last, and level of each phrase."""

    @property
    def scores(self) -> Array:
        """(P, C) scores of the phrases."""


class Known(NamedTuple):
    """A :class:`Rest` that was read or found before."""

    offsets: Offsets
    votes: Array
    bounds: Ints
    scores: Array


@dataclass(frozen=True, eq=False)
class Contrast:
    """Why class a rather than class b.

    Attributes
    ----------
    margin
        p(a) - p(b).
    levels
        (L,) what each level contributed to the margin; sums to it.
    words
        (T,) score of each word for a less that for b.
    phrases
        Phrases with a single score, for a less for b, the highest first.
    """

    a: Label
    b: Label
    margin: float
    levels: Doubles
    words: Doubles
    phrases: tuple[Phrase, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {
            "a": self.a,
            "b": self.b,
            "margin": self.margin,
            "levels": self.levels.tolist(),
            "words": self.words.tolist(),
            "phrases": [_phrase_dict(phrase) for phrase in self.phrases],
        }


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a text of T words got its label; L, the number of levels, is T or the model's height.

    Levels, beliefs and contributions are exact. Scores of units, words and phrases are estimates by
    ``method``.

    Attributes
    ----------
    tokens
        The T words as the model read them. A text without any is one ``<unk>``.
    classes, probabilities
        The C labels, and the probability of each.
    beliefs, level_probabilities
        (L,) belief in each level, and (L, C) what it says alone.
    gates
        For each level from the second on, (units, 3): how much of a unit is its left child, its
        right child, and their composition; means over groups of dimensions with own gates.
    unit_scores
        For each level, (units, C): what a unit added to each probability.
    words
        (T, C) score of each word: what it added to each probability.
    rest
        What is found only when it is asked for: :attr:`offsets`, :attr:`unit_probabilities` and
        :attr:`phrases`.
    n_words, truncated
        How many words the text has, and whether the model read only the first of them.
    """

    text: str
    tokens: tuple[str, ...]
    classes: tuple[Label, ...]
    probabilities: Doubles
    beliefs: Doubles
    level_probabilities: Doubles
    gates: ByLevel
    unit_scores: ByLevel
    words: Doubles
    rest: Rest
    n_words: int
    truncated: bool
    method: str = METHOD

    @property
    def predicted(self) -> Label:
        """The most probable label."""
        return self.classes[int(self.probabilities.argmax())]

    @cached_property
    def offsets(self) -> Offsets:
        """Where each word stands in ``text``: its first character and the one after its last.

        The ``<unk>`` of a text without words is at (0, 0).
        """
        return self.rest.offsets

    @cached_property
    def contributions(self) -> Doubles:
        """(L, C) belief times vote; the levels sum to the probabilities, which was checked."""
        found: Doubles = self.beliefs[:, None] * self.level_probabilities
        return found

    @cached_property
    def spans(self) -> tuple[Floats, ...]:
        """For each level t (units, t): the weight in a unit of each word it covers; rows sum to 1.

        Unit j covers the words from j on.
        """
        if not len(self.unit_scores):
            raise DataError(
                "the explanation was stored without its pyramid; explain the text again"
            )
        gates = [np.asarray(level, dtype=np.float32) for level in self.gates]
        return tuple(span_levels(gates, len(self.tokens)))

    @cached_property
    def unit_probabilities(self) -> ByLevel:
        """For each level, (units, C): what a unit says alone."""
        return ByLevel(self.rest.votes, len(self.tokens), len(self.beliefs))

    @property
    def bounds(self) -> Ints:
        """(P, 3) first word, word after the last, and level of each of :attr:`phrases`."""
        return self.rest.bounds

    @property
    def scores(self) -> Array:
        """(P, C) scores of :attr:`phrases`."""
        return self.rest.scores

    @cached_property
    def phrases(self) -> Phrases:
        """Phrases, those that speak most for the predicted class first."""
        return Phrases(self.bounds, self.scores, self.text, self.offsets)

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
        scores = self.scores[:, i] - self.scores[:, j]
        phrases = [
            phrase._replace(score=(float(score),))
            for phrase, score in zip(self.phrases, scores, strict=True)
        ]
        return Contrast(
            a,
            b,
            float(self.probabilities[i] - self.probabilities[j]),
            self.contributions[:, i] - self.contributions[:, j],
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
            "predicted": self.predicted,
            "beliefs": self.beliefs.tolist(),
            "level_probabilities": self.level_probabilities.tolist(),
            "contributions": self.contributions.tolist(),
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
        n_words, n_classes = len(values["tokens"]), len(values["classes"])
        units = [unit for level in values["units"] for unit in level]
        gates = [gate for level in values["gates"] for gate in level]
        offsets = tuple((start, end) for start, end in values["offsets"])
        phrases = values["phrases"]
        spots = [[phrase["start"], phrase["end"], phrase["level"]] for phrase in phrases]
        bounds = np.array(spots, dtype=np.int64).reshape(-1, 3)
        scores = np.array([phrase["score"] for phrase in phrases]).reshape(-1, n_classes)
        votes = np.array([unit["probabilities"] for unit in units]).reshape(-1, n_classes)

        def by_level(rows: list[list[float]], width: int, lowest: int) -> ByLevel:
            values_of = np.array(rows, dtype=np.float64).reshape(-1, width)
            return ByLevel(values_of, n_words - lowest, len(values["beliefs"]) - lowest)

        found = cls(
            values["text"],
            tuple(values["tokens"]),
            tuple(values["classes"]),
            np.array(values["probabilities"]),
            np.array(values["beliefs"]),
            np.array(values["level_probabilities"]),
            by_level(gates, 3, 1),
            by_level([unit["score"] for unit in units], n_classes, 0),
            np.array(values["words"]),
            Known(offsets, votes, bounds, scores),
            values["n_words"],
            values["truncated"],
            values["method"],
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
        rest = Known(self.offsets, self.unit_probabilities.rows, self.bounds, self.scores)
        return state | {"rest": rest}

    def _repr_html_(self) -> str:
        from adasent.explain.html import fragment

        return fragment(self)


def _phrase_dict(phrase: Phrase) -> dict[str, Any]:
    return phrase._asdict() | {"score": list(phrase.score)}

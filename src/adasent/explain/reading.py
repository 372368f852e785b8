"""An explanation read for one class, or for one rather than another: what the pictures show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from adasent.data.corpus import Label
from adasent.explain.explanation import Explanation
from adasent.explain.parts import Phrase
from adasent.runtime.arrays import Array, Doubles


@dataclass(frozen=True, eq=False)
class Reading:
    """One number for each part of an explanation; above 0 it speaks for the class."""

    title: str  # what the numbers speak for, with the probability or margin: positive, 0.93
    total: float  # the probability, or the margin
    levels: Doubles  # (L,) contributions; sum to the total
    words: Doubles  # (T,) scores
    units: tuple[Array, ...]  # for each level (units,); none where the pyramid was not stored
    phrases: tuple[Phrase, ...]  # with a single score, the highest first


def read_for(explanation: Explanation, a: Label | None = None, b: Label | None = None) -> Reading:
    """Read an explanation for class a, the predicted one if None, rather than b if there is one."""
    a = explanation.predicted if a is None else a
    if b is not None:
        contrast = explanation.contrast(a, b)
        i, j = explanation.column(a), explanation.column(b)
        return Reading(
            f"{a} rather than {b}, {contrast.margin:+.2f}",
            contrast.margin,
            contrast.levels,
            contrast.words,
            tuple(level[:, i] - level[:, j] for level in explanation.unit_scores),
            contrast.phrases,
        )
    i = explanation.column(a)
    total = float(explanation.probabilities[i])
    phrases = [phrase._replace(score=(phrase.score[i],)) for phrase in explanation.phrases]
    return Reading(
        f"{a}, {total:.2f}",
        total,
        explanation.contributions[:, i],
        explanation.words[:, i],
        tuple(level[:, i] for level in explanation.unit_scores),
        tuple(sorted(phrases, key=lambda phrase: -phrase.score[0])),
    )


def relative(scores: Array) -> Doubles:
    """Scores as parts of the largest among them, from -1 to 1, for colours."""
    largest = float(np.abs(scores).max(initial=0.0))
    found: Doubles = np.asarray(scores, dtype=np.float64) / (largest or 1.0)
    return found

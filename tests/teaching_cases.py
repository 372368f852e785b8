"""A language of a few words, whose rule its few labelled texts do not tell; who knows the rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

GOOD, BAD = ["good", "great", "fine", "superb"], ["bad", "awful", "dull", "poor"]
NOUNS = ["film", "plot", "cast", "scene"]
OPENINGS = ["the", "this", "a", "that"]

#: Settings under which a student takes a second and learns a rule of four words.
SMALL: dict[str, Any] = {
    "hidden_size": 16,
    "classifier_size": 16,
    "vector_size": 16,
    "learning_rate": 0.02,
    "vector_dropout": 0.0,
    "dropout": 0.0,
    "batch_size": 20,
    "epochs": 20,
    "average": 0.0,
    "penalty": 0.0,
    "extra_words": 0,
    "device": "cpu",
}


class Rule:
    """Knows that "not" turns what follows; says so with 90 %, and counts what it is asked."""

    classes_ = np.array(["neg", "pos"])

    def __init__(self, certainty: float = 0.9) -> None:
        self.certainty = certainty
        self.asked: list[str] = []
        self.n_calls = 0

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        self.n_calls += 1
        self.asked += texts
        right = np.array([is_positive(text) for text in texts])
        positive = np.where(right, self.certainty, 1 - self.certainty)
        return np.column_stack([1 - positive, positive])


def is_positive(text: str) -> bool:
    """The rule."""
    words = text.split()
    return any(word in GOOD for word in words) != ("not" in words)


def sentences(negated: bool) -> list[str]:
    """All of them, in a fixed order that mixes them."""
    every = product(OPENINGS, NOUNS, GOOD + BAD)
    middle = "is not" if negated else "is"
    found = [f"{opening} {noun} {middle} {word}" for opening, noun, word in every]
    return [found[i] for i in np.random.default_rng(0).permutation(len(found))]

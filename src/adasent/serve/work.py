"""What the service does with a text: predict its label, or explain the prediction."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from adasent.errors import AdaSentWarning
from adasent.estimators.predictor import Predictor
from adasent.explain import explain
from adasent.runtime.arrays import Ints
from adasent.serve.limits import Refused
from adasent.text.tokenize import run_tokenizer

#: An explanation costs so many predictions.
EXPLAIN_COST = 3


def cost(n_words: int, predictor: Predictor) -> int:
    """Of a prediction: twice the units of a pyramid, or near it; without a height words squared."""
    levels = min(n_words, predictor.network.config.max_height or n_words)
    return n_words**2 - (n_words - levels) ** 2


class Predict:
    """Makes the prediction of a text, as a JSON value."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.classes = predictor.classes_.tolist()

    def prepare(self, text: str) -> tuple[tuple[Ints, int], int]:
        """Ids and the number of words before the cut at max_words, and the cost."""
        encoder = self.predictor.encoder
        tokens = run_tokenizer(encoder.tokenizer, text)
        ids = encoder.vocabulary.encode(tokens[: encoder.max_words])
        return (ids, len(tokens)), cost(len(ids), self.predictor)

    def run(self, prepared: Sequence[tuple[Ints, int]]) -> list[dict[str, Any]]:
        """Label and probabilities of each text, and what was adapted in it."""
        probabilities = self.predictor.network.probabilities([ids for ids, _ in prepared])
        best = probabilities.argmax(axis=1).tolist()
        return [
            {
                "label": self.classes[i],
                "probabilities": row,
                "n_words": n_words,
                "truncated": n_words > len(ids),
            }
            for (ids, n_words), i, row in zip(prepared, best, probabilities.tolist(), strict=True)
        ]


class Explain:
    """Makes the explanation of a text, written as JSON; refuses texts of too many words.

    Without a height, those are more than ``max_words``. With one, a longer text may be explained
    as long as its pyramid has no more units.
    """

    def __init__(self, predictor: Predictor, max_words: int) -> None:
        self.predictor = predictor
        height = predictor.network.config.max_height
        if height is not None and height < max_words:
            max_words = (max_words**2 + height**2) // (2 * height)  # of equal cost
        self.max_words = max_words
        self._filters = Lock()

    def prepare(self, text: str) -> tuple[str, int]:
        """The text itself, and the cost of explaining it."""
        n_words = len(run_tokenizer(self.predictor.encoder.tokenizer, text))
        if n_words > self.max_words:
            raise Refused(
                413,
                f"expected at most {self.max_words} words to explain, got {n_words}; "
                "/v1/predict takes longer texts",
            )
        return text, EXPLAIN_COST * cost(n_words, self.predictor)

    def run(self, prepared: Sequence[str]) -> list[str]:
        """Explanations; written here, because that takes time that the event loop has not."""
        # The answer itself says what was adapted. Filters belong to the process, not to a thread.
        with self._filters, warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaSentWarning)
            found = explain(self.predictor, prepared)
        return [one.to_json() for one in found]


def warm_up(predictor: Predictor) -> None:
    """Load and compile now what the first requests would else wait for."""
    with contextlib.suppress(ImportError):  # numba is optional
        import adasent.runtime.compiled  # noqa: F401
    ids = np.zeros(3, dtype=np.int64)
    predictor.network.probabilities([ids])
    explain(predictor, ["a b c"])

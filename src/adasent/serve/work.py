"""What the service does with a text: predict its label, or explain the prediction."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Sequence
from threading import Lock
from typing import Any

from adasent.errors import AdaSentWarning
from adasent.estimators.predictor import Predictor
from adasent.explain import explain
from adasent.export.about import explained_words
from adasent.runtime.answers import labels_of
from adasent.serve.batching import BATCH_COST
from adasent.serve.limits import Refused
from adasent.text.passage import Passage
from adasent.text.tokenize import run_tokenizer

#: An explanation asks the model about hundreds of parts of the text. Of whatever length, it is too
#: long for a batch: predictions must not wait for it. A long one costs more.
EXPLAIN_COST = BATCH_COST + 1


def cost(n_words: int, predictor: Predictor) -> int:
    """Of a prediction: twice the units of a pyramid, or near it; without a height words squared."""
    levels = min(n_words, predictor.network.config.max_height or n_words)
    return n_words**2 - (n_words - levels) ** 2


class Predict:
    """Makes the prediction of a text, as a JSON value."""

    def __init__(self, predictor: Predictor) -> None:
        self.predictor = predictor
        self.classes = predictor.classes_.tolist()

    def prepare(self, text: str) -> tuple[tuple[Passage, int], int]:
        """The text as it is read, the number of words before the cut at max_words, the cost."""
        encoder = self.predictor.encoder
        tokens = run_tokenizer(encoder.tokenizer, text)
        passage = Passage(text, tokens[: encoder.max_words], encoder.tokenizer)
        return (passage, len(tokens)), cost(len(passage), self.predictor)

    def run(self, prepared: Sequence[tuple[Passage, int]]) -> list[dict[str, Any]]:
        """Label, or list of labels, and probabilities of each text, and what was adapted in it."""
        rows = self.predictor.encoder.rows([passage for passage, _ in prepared])
        probabilities = self.predictor.network.classify(rows)
        labels = labels_of(probabilities, self.predictor.classes_, self.predictor.thresholds_)
        return [
            {
                "label": list(label) if isinstance(label, tuple) else label,
                "probabilities": row,
                "n_words": n_words,
                "truncated": n_words > len(passage),
            }
            for (passage, n_words), label, row in zip(
                prepared, labels.tolist(), probabilities.tolist(), strict=True
            )
        ]


class Explain:
    """Makes the explanation of a text, written as JSON; refuses texts of too many words.

    Without a height, those are more than ``max_words``. With one, a longer text may be explained
    as long as its pyramid has no more units.
    """

    def __init__(self, predictor: Predictor, max_words: int) -> None:
        self.predictor = predictor
        self.max_words = explained_words(max_words, predictor.network.config.max_height)
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
        return text, EXPLAIN_COST + n_words**3

    def run(self, prepared: Sequence[str]) -> list[str]:
        """Explanations; written here, because that takes time that the event loop has not."""
        # The answer itself says what was adapted. Filters belong to the process, not to a thread.
        with self._filters, warnings.catch_warnings():
            warnings.simplefilter("ignore", AdaSentWarning)
            found = explain(self.predictor, prepared)
        return [json.dumps(one.to_dict() | {"known": self._known(one.tokens)}) for one in found]

    def _known(self, tokens: Sequence[str]) -> list[bool]:
        """Whether the model knows each word; one that stands on an encoder reads any in pieces."""
        encoder = self.predictor.encoder
        return [encoder.contextual or token in encoder.vocabulary for token in tokens]


def warm_up(predictor: Predictor) -> None:
    """Load and compile now what the first requests would else wait for."""
    with contextlib.suppress(ImportError):  # numba is optional
        import adasent.runtime.compiled  # noqa: F401
    predictor.predict_proba(["a b c"])
    explain(predictor, ["a b c"])

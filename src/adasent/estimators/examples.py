"""Short texts that a new model labels rightly, kept with it so that a page can offer them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from adasent.training.examples import Examples

#: An example has so many words at least, and so many characters at most: a line of a phone or two.
LEAST_WORDS, MOST_CHARS = 4, 120
#: The least probability of its class.
SURE = 0.9
#: Examples of a class, of a model, and texts of a class that are tried.
OF_CLASS, OF_MODEL, TRIED = 2, 20, 50
_SUM_MAY_BE_OFF = 1e-2


def choose_examples(
    held: Examples, classes: np.ndarray, predict_proba: Callable[[list[int]], np.ndarray]
) -> list[dict[str, Any]]:
    """At most two held-out texts of each class, as JSON values; the first of each class go before.

    They are the first in the held-out part that are short and that the model is sure of and right
    about; there may be none of a class. Of texts with several labels they are those that have one:
    what the page says of an example is its label. ``predict_proba`` takes their places in that
    part.
    """
    passages = held.passages or []
    there = held.targets[:, : len(classes)]
    numbers = there.argmax(axis=1)
    short = [i for i, one in enumerate(passages) if _is_short(one.text, len(one.tokens))]
    short = [i for i in short if abs(there[i].sum() - 1) < _SUM_MAY_BE_OFF]
    found: list[tuple[int, int, str]] = []  # its place among those of its class, its class, itself
    for c in range(len(classes)):
        rows = [i for i in short if numbers[i] == c][:TRIED]
        if rows:
            sure = np.flatnonzero(predict_proba(rows)[:, c] >= SURE)[:OF_CLASS]
            found += [(place, c, passages[rows[i]].text) for place, i in enumerate(sure.tolist())]
    labels = classes.tolist()
    return [{"text": text, "label": labels[c]} for _, c, text in sorted(found)[:OF_MODEL]]


def _is_short(text: str, n_words: int) -> bool:
    return n_words >= LEAST_WORDS and len(text) <= MOST_CHARS and text.isprintable()

"""What a page says of a model, whoever serves it: of a service and of a page in one file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from adasent.explain.colours import CLASS_COLOURS
from adasent.version import __version__

#: Words of a text that is explained, at most: T words take T^3 / 6 weights.
MOST_EXPLAINED = 100


def about_model(
    name: str,
    classes: Sequence[Any],
    thresholds: list[float] | None,
    training: Mapping[str, Any],
    *,
    hidden_size: int,
    n_vocabulary: int,
    max_words: int,
) -> dict[str, Any]:
    """The part of ``/v1/model`` that is the model's own, as JSON values.

    Parameters
    ----------
    name
        What the page calls the model.
    training
        How the model came about, perhaps from a folder that somebody else wrote.
    n_vocabulary, max_words
        Words that it knows, and words of a text that it reads.
    """
    n_texts = training.get("n_texts")  # as somebody may have written it
    return {
        "name": name,
        "version": __version__,
        "classes": list(classes),
        "thresholds": thresholds,
        "hidden_size": hidden_size,
        "n_vocabulary": n_vocabulary,
        "max_words": max_words,
        "n_texts": n_texts if type(n_texts) is int else None,
        "colours": [CLASS_COLOURS[c % len(CLASS_COLOURS)] for c in range(len(classes))],
        "examples": _examples(training, classes),
    }


def _examples(training: Mapping[str, Any], classes: Sequence[Any]) -> list[dict[str, Any]]:
    """Those of a model; of a folder that somebody else wrote, the ones that can be used."""
    found = training.get("examples")
    return [
        {"text": one["text"], "label": one["label"]}
        for one in (found if isinstance(found, list) else [])
        if isinstance(one, dict) and isinstance(one.get("text"), str) and one["text"].strip()
        if one.get("label") in classes
    ]


def explained_words(max_words: int, height: int | None) -> int:
    """Words of the longest text whose pyramid has no more units than one of ``max_words``.

    Without a height, those are ``max_words``.
    """
    if height is None or height >= max_words:
        return max_words
    return (max_words**2 + height**2) // (2 * height)

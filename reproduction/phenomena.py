"""Which texts of a set show what: negation, contrast, length, words unseen in training.

The flags are computed from the texts once and stored, so that tables can be made from records and
flags alone. A set's flags are a mask for each phenomenon, one bit a text, as records hold the
positions of tested texts.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from adasent.errors import DataError
from adasent.text.tokenize import get_tokenizer
from reproduction.jobs import Jobs

NEGATORS = frozenset(
    [
        "not",
        "n't",
        "no",
        "never",
        "nothing",
        "nobody",
        "none",
        "nowhere",
        "neither",
        "nor",
        "without",
        "hardly",
        "barely",
        "scarcely",
        "cannot",
    ]
)
CONTRASTS = frozenset(["but", "though", "although", "yet", "however"])
#: First and last number of words of each bin; None has no end.
LENGTHS = ((1, 1), (2, 5), (6, 10), (11, 20), (21, 30), (31, None))

#: That a text has or has not; the others are lengths.
YES_OR_NO = ("negation", "contrast", "unseen word")

Mask = npt.NDArray[np.bool_]


def find_phenomena(jobs: Jobs, data: str) -> dict[str, Any]:
    """The flags of all texts of a set, ready for JSON.

    A word is unseen if no text outside of the text's own test part has it, by the random folds of
    Table 2. With an official split, training texts are never tested and have no such flag.
    """
    corpus = jobs.corpus(data)
    tokenizer = get_tokenizer(jobs.plan.protocol.tokenizer)
    tokens = [tokenizer(text) for text in corpus.texts]
    unseen = np.zeros(len(tokens), dtype=bool)
    for fold in jobs.folds(data, "random"):
        known = {word for i in fold.train.tolist() for word in tokens[i]}
        for i in fold.test.tolist():
            unseen[i] = not known.issuperset(tokens[i])
    negated, contrasted = (
        np.array([not listed.isdisjoint(words) for words in tokens])
        for listed in (NEGATORS, CONTRASTS)
    )
    flags: dict[str, Mask] = dict(zip(YES_OR_NO, (negated, contrasted, unseen), strict=True))
    n_words = np.array([len(words) for words in tokens])
    for low, high in LENGTHS:
        flags[_length_title(low, high)] = (n_words >= low) & (n_words <= (high or n_words.max()))
    return {
        "data": data,
        "sha256": corpus.sha256,
        "n": len(tokens),
        "phenomena": {name: _pack(mask) for name, mask in flags.items()},
    }


def read_phenomena(values: Any) -> dict[str, Mask]:
    """The masks of a set, by phenomenon, from what :func:`find_phenomena` made."""
    try:
        return {name: _unpack(text, values["n"]) for name, text in values["phenomena"].items()}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise DataError(
            "expected the phenomena of a set, got something else; compute them again with run"
        ) from error


def with_complements(flags: Mapping[str, Mask]) -> dict[str, Mask]:
    """All texts first, and beside each phenomenon that is no length, the texts without it."""
    n = len(next(iter(flags.values())))
    found = {"all": np.ones(n, dtype=bool)}
    for name, mask in flags.items():
        found[name] = mask
        if name in YES_OR_NO:
            found[f"no {name}"] = ~mask
    return found


def words_listed(words: Iterable[str]) -> str:
    """For a note: in the order of the alphabet."""
    return ", ".join(sorted(words))


def _length_title(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} words or more"
    return f"{low} word" if low == high == 1 else f"{low} to {high} words"


def _pack(mask: Mask) -> str:
    return base64.b64encode(np.packbits(mask).tobytes()).decode("ascii")


def _unpack(text: str, n: int) -> Mask:
    bits = np.unpackbits(np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8))
    if len(bits) < n:
        raise ValueError("as many flags as texts")
    return bits[:n].astype(bool)

"""A fitted network -> the same with fewer words, all of them in one byte a number.

While it is trained a table needs full precision; afterwards it does not. A saved model is mostly
its table: thirty thousand words of 256 dimensions take 7.7 MB so, and twice that in half precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from adasent.saving.word_table import from_int8, round_to_half, to_int8
from adasent.text.encoder import TextEncoder
from adasent.text.vocabulary import SPECIALS, Vocabulary


def compact(clf: Any, n_words: int | None = None, *, keep: Iterable[str] = ()) -> Any:
    """Round the word table of a fitted network to bytes, and leave rare words out; in place.

    Parameters
    ----------
    n_words
        How many words stay, at most: those of ``keep``, then those of the training by frequency,
        then those that only the vectors had. None keeps all.
    keep
        Words that are first to stay, such as those of the labelled texts.

    Returns
    -------
    The estimator itself. What it predicts changes a little, and is what it predicts once saved.
    """
    vocabulary: Vocabulary = clf.vocabulary_
    rows = _kept_rows(vocabulary, n_words, keep)
    model = clf.model_
    table = np.concatenate([model.embedding.trained.detach().numpy(), model.embedding.fixed])
    n_first = len(SPECIALS)  # padding and the unknown word; all others are fixed from now on
    config = replace(model.config, n_trained=n_first, n_fixed=len(rows) - n_first)
    with torch.random.fork_rng(devices=[]):
        small = type(model)(config)
    tensors = dict(model.state_dict())
    tensors["embedding.trained"] = torch.from_numpy(round_to_half(table[rows[:n_first]]))
    tensors["embedding.fixed"] = torch.from_numpy(from_int8(*to_int8(table[rows[n_first:]])))
    small.load_state_dict(tensors)
    words = [vocabulary.words[row] for row in rows[n_first:].tolist()]
    clf.model_ = small.eval()
    clf.vocabulary_ = Vocabulary(words, n_training=n_first)
    clf.encoder_ = TextEncoder(clf.encoder_.tokenizer, clf.vocabulary_, clf.encoder_.max_words)
    return clf


def _kept_rows(vocabulary: Vocabulary, n_words: int | None, keep: Iterable[str]) -> np.ndarray:
    """Ascending rows of the table that stay, the specials first."""
    if n_words is None or n_words >= len(vocabulary) - len(SPECIALS):
        return np.arange(len(vocabulary))
    first = {vocabulary.id_of(word) for word in keep if word in vocabulary}
    order = sorted(range(len(SPECIALS), len(vocabulary)), key=lambda row: (row not in first, row))
    return np.array([*range(len(SPECIALS)), *sorted(order[:n_words])])

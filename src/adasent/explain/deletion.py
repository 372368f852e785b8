"""Texts in; what each of their words does in its text, by leaving it out, out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from adasent.runtime.arrays import Doubles, Ints
from adasent.runtime.network import Network
from adasent.text.vocabulary import UNK_ID

#: Words of the shorter texts that are predicted together: their probabilities are all that is kept.
CHUNK = 100_000


def without_each(network: Network, texts: Sequence[Ints], whole: Doubles) -> Doubles:
    """p(class | text) - p(class | text without the word), for every word; T predictions a text.

    Parameters
    ----------
    texts
        B texts, each (T,) ids. Without its only word a text is the unknown word.
    whole
        (B, C) probabilities of the texts.

    Returns
    -------
    (C, n_words), text after text.
    """
    parts = [network.probabilities(part) for part in _chunks(texts)]
    found: Doubles = np.repeat(whole, [len(ids) for ids in texts], axis=0) - np.concatenate(parts)
    return found.T


def _chunks(texts: Sequence[Ints]) -> Iterator[list[Ints]]:
    chunk: list[Ints] = []
    n_words = 0
    for ids in texts:
        for i in range(len(ids)):
            chunk.append(np.delete(ids, i) if len(ids) > 1 else np.array([UNK_ID]))
            n_words += len(ids)
            if n_words > CHUNK:
                yield chunk
                chunk, n_words = [], 0
    if chunk:
        yield chunk

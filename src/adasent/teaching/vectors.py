"""Sentences and a model that reads them -> a vector for each word: the mean over its contexts.

A static vector has seen a word's neighbours; this has seen what a large model makes of the word
among them, over many sentences. Model2Vec's tokenlearn does so for pieces of words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from adasent.checks import check_optional, check_range
from adasent.errors import DataError, VectorsError
from adasent.estimators.encoding import read_sources
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer
from adasent.text.vocabulary import SPECIALS, Vocabulary
from adasent.vectors.distill import principal_components
from adasent.vectors.words import WordVectors, align, frequent_words

#: Tokens of some texts -> (T, d) vectors of the tokens of each.
WordReader = Callable[[list[list[str]]], list[np.ndarray]]

#: Texts that a reader is given at once.
BATCH = 256
#: Longer texts are cut: a text of thousands of words tells no more of each of them.
_MAX_WORDS = 128


def contextual_vectors(
    texts: Sequence[str],
    read: WordReader,
    *,
    tokenizer: Tokenizer,
    n_words: int = 30_000,
    size: int | None = None,
    smooth: float | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WordVectors:
    """Mean vectors of the most frequent words, most frequent first.

    Parameters
    ----------
    read
        The model, see :data:`WordReader`.
    n_words
        How many words get a vector, at most.
    size
        Keep this many principal components; None keeps the model's axes.
    smooth
        Weigh each vector by a / (a + share of the word among all): rare words say more of a text.
        None does not.
    progress
        Called with the texts done and the texts in all.
    """
    check_range("n_words", n_words, 1, whole=True)
    check_optional("size", size, 1)
    counts = _counted(texts, tokenizer)
    words = most_frequent(counts, n_words)
    if not words:
        raise DataError("expected texts with words, got none")
    row_of = {word: row for row, word in enumerate(words)}
    sums: np.ndarray | None = None
    n_found = np.zeros(len(words))
    for start in range(0, len(texts), BATCH):
        cut = [run_tokenizer(tokenizer, text)[:_MAX_WORDS] for text in texts[start : start + BATCH]]
        tokens = [row for row in cut if row]
        for row, vectors in zip(tokens, read(tokens), strict=True):
            if len(vectors) != len(row):
                raise VectorsError(
                    f"expected a vector for each of {len(row)} words, got {len(vectors)}"
                )
            if sums is None:
                sums = np.zeros((len(words), vectors.shape[1]))
            known = [(row_of[word], i) for i, word in enumerate(row) if word in row_of]
            rows, places = np.array(known, dtype=np.int64).reshape(-1, 2).T
            np.add.at(sums, rows, vectors[places])
            np.add.at(n_found, rows, 1)
        if progress is not None:
            progress(min(start + BATCH, len(texts)), len(texts))
    assert sums is not None
    matrix = (sums / n_found[:, None]).astype(np.float32)
    matrix -= matrix.mean(axis=0)
    if size is not None and size < matrix.shape[1]:
        matrix = principal_components(matrix, size)
    if smooth is not None:
        shares = np.array([counts[word] for word in words]) / sum(counts.values())
        matrix *= (smooth / (smooth + shares))[:, None].astype(np.float32)
    return WordVectors(words, matrix)


def side_by_side(sources: Sequence[WordVectors], words: Sequence[str], size: int) -> WordVectors:
    """Several sets of vectors as one of at most ``size`` dimensions, by principal components.

    Parameters
    ----------
    words
        Those that are to have a vector, most frequent first; they fix the scale of each set, as
        :func:`adasent.vectors.words.align` does. Words that no set has are left out.
    """
    known = [word for word in words if any(word in one for one in sources)]
    if not known:
        raise VectorsError("expected vectors for some of the words, got none for any")
    matrix = align(list(sources), Vocabulary(known), seed=0)[len(SPECIALS) :]
    if size < matrix.shape[1]:
        matrix = principal_components(matrix, size)
    return WordVectors(known, matrix)


def word_settings(
    student: Any,
    labelled: Sequence[str],
    extra: Sequence[str],
    *,
    n_words: int | None,
    size: int | None,
    read: WordReader | None = None,
) -> dict[str, Any]:
    """What a student's settings must be, so that it becomes small: its words and their vectors.

    A word is trained if it is among the ``n_words`` most frequent of all texts; no table grows with
    the number of sentences. Words of the labelled texts come first where vectors are concerned.

    Parameters
    ----------
    labelled, extra
        The texts that it will learn from.
    n_words
        Words that it will keep; None leaves its settings for words as they are.
    size
        Dimensions of its vectors at most, all sets together; None leaves them as they are.
    read
        Gives words their mean vectors in these texts, beside those that the student names.
    """
    tokenizer = get_tokenizer(student.tokenizer)
    own = _counted(labelled, tokenizer)
    counts = own + _counted(extra, tokenizer)
    settings: dict[str, Any] = {}
    if n_words is not None and student.min_count == 1:
        settings["min_count"] = rarest(counts, n_words)
    sources = read_sources(student.vectors, counts)
    if read is not None:
        most = n_words or len(counts)
        found = contextual_vectors([*labelled, *extra], read, tokenizer=tokenizer, n_words=most)
        sources = [*sources, found]
    if read is not None or (size is not None and sum(one.dim for one in sources) > size):
        most = n_words or len(counts)
        known = [*most_frequent(own, most), *most_frequent(counts, most)]
        words = list(dict.fromkeys([*known, *frequent_words(sources, most)]))
        settings["vectors"] = side_by_side(sources, words, size or sum(one.dim for one in sources))
    return settings


def rarest(counts: Counter[str], n_words: int) -> int:
    """How often a word must come at least, so that no more than ``n_words`` words do."""
    if len(counts) <= n_words:
        return 1
    return sorted(counts.values(), reverse=True)[n_words] + 1


def most_frequent(counts: Counter[str], n: int) -> list[str]:
    """The n most frequent words, ties alphabetically; no name of a special is among them."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [word for word, _ in ranked if word not in SPECIALS][:n]


def _counted(texts: Sequence[str], tokenizer: Tokenizer) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(run_tokenizer(tokenizer, text)[:_MAX_WORDS])
    return counts

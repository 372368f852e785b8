"""Getting texts ready for a network: from passages to ids, a first word table, and a run.

What differs between word vectors of a table and those of an encoder is a :class:`WordSource`; the
one for tables is here, those for encoders are in :mod:`adasent.estimators.contextual`.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch

from adasent.data import held_out
from adasent.data.default_vectors import AUTO, NONE, auto_sources
from adasent.data.derived import open_vectors
from adasent.data.splits import held_out_several
from adasent.encoders.protocol import WordEncoder
from adasent.errors import DataError
from adasent.estimators.base import Targeted, check_examples
from adasent.estimators.label_lists import indicator, read_lists, yes_and_no
from adasent.estimators.thresholds import HALF
from adasent.saving.word_table import from_int8, round_to_half, to_int8
from adasent.systems.base import System
from adasent.text.cutting import Cut, cut_of
from adasent.text.encoder import TextEncoder, check_texts, cut
from adasent.text.passage import Passage, read_passages
from adasent.text.rows import WordRows
from adasent.text.tokenize import Tokenizer, run_tokenizer
from adasent.text.vocabulary import SPECIALS, UNK_ID, Vocabulary
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.run import Run
from adasent.vectors.minilm import MiniLMWords
from adasent.vectors.words import (
    NEW_WORD_SPREAD,
    WordVectors,
    align,
    as_vectors,
    coverage,
    frequent_words,
    scale_of,
)

VectorSource = str | os.PathLike[str] | WordVectors | MiniLMWords | Any


class Unseen(NamedTuple):
    """Words of the validation texts: what the model will meet in texts it was not trained on."""

    n_words: int
    n_unknown: int  # to the model
    n_left_out: int  # of these, the pre-trained vectors have them: more extra words would help


class ReadWords(NamedTuple):
    """The words of training and held-out texts, as a source has them."""

    training: list[np.ndarray]  # for each text (T,) rows of the table
    held: list[np.ndarray]
    table: np.ndarray  # (V, d) initial word vectors
    n_trained: int  # the first rows, which the training texts have
    encoder: WordEncoder  # for texts to come
    unseen: Unseen | None
    vectors: dict[str, Any] | None = None  # which were used, for the record; None: an encoder's


class Encoded(NamedTuple):
    """Texts ready for a network of any shape."""

    training: Examples
    validation: Examples | None
    table: np.ndarray  # (V, d) initial word vectors
    n_trained: int  # rows of it that the training texts have
    classes: np.ndarray
    encoder: WordEncoder
    source: WordSource
    seed: int
    n_texts: int
    unseen: Unseen | None
    cut: Cut
    multilabel: bool = False  # whether a text may have several labels
    vectors: dict[str, Any] | None = None


class WordSource(Protocol):
    """Where the word vectors of an estimator come from."""

    def read(
        self,
        training: Sequence[Passage],
        held: Sequence[Passage],
        tokenizer: Tokenizer,
        max_words: int,
        seed: int,
    ) -> ReadWords:
        """The words of training texts, and of those held out, which set no vocabulary."""

    def run(self, model: System, encoded: Encoded, config: TrainingConfig) -> Run:
        """What is to be trained."""

    def held(self, run: Run, held: Examples, rows: list[int]) -> WordRows:
        """After training, before ``finish``: held-out texts as the network reads them."""

    def finish(self, run: Run, encoded: Encoded) -> WordEncoder:
        """After training: the network as it is kept, and what reads texts for it."""


class TableWords:
    """Words of a table, which starts from pre-trained vectors or from random ones.

    Parameters
    ----------
    vectors, vector_size, extra_words, min_count
        See :class:`~adasent.estimators.adasent.AdaSentClassifier`.
    """

    def __init__(self, vectors: Any, vector_size: int, extra_words: int, min_count: int) -> None:
        self.vectors = vectors
        self.makers = open_sources(vectors)
        self.vector_size = vector_size
        self.extra_words = extra_words
        self.min_count = min_count

    def read(
        self,
        training: Sequence[Passage],
        held: Sequence[Passage],
        tokenizer: Tokenizer,
        max_words: int,
        seed: int,
    ) -> ReadWords:
        """Number the words of the training texts and of the vectors."""
        counts = Counter(token for one in training for token in one.tokens)
        sources = [words_of(maker, counts) for maker in self.makers]
        vocabulary = Vocabulary.build(
            (one.tokens for one in training),
            min_count=self.min_count,
            extra=frequent_words(sources, self.extra_words),
        )
        encoder = TextEncoder(tokenizer, vocabulary, max_words)
        return ReadWords(
            in_training(encoder.rows(training).ids, vocabulary.n_training),
            encoder.rows(held).ids,
            first_table(sources, vocabulary, self.vector_size, seed),
            vocabulary.n_training,
            encoder,
            count_unseen([one.tokens for one in held], vocabulary, sources) if held else None,
            describe_vectors(self.vectors, sources, counts, vocabulary),
        )

    def run(self, model: System, encoded: Encoded, config: TrainingConfig) -> Run:
        """A run of its own network."""
        return Run(model, encoded.training, encoded.validation, config, encoded.seed)

    def held(self, run: Run, held: Examples, rows: list[int]) -> WordRows:
        """Words of the network's own table."""
        return WordRows([held.ids[i] for i in rows], None)

    @torch.no_grad()
    def finish(self, run: Run, encoded: Encoded) -> WordEncoder:
        """Round the word table to what is saved of it, so that saving loses nothing."""
        trained, fixed = run.model.embedding.trained, run.model.embedding.fixed
        trained.copy_(torch.from_numpy(round_to_half(trained.numpy())))
        fixed.copy_(torch.from_numpy(from_int8(*to_int8(fixed.numpy()))))
        return encoded.encoder


def encode_texts(
    labelled: Targeted,
    validation: tuple[Any, Any] | None,
    source: WordSource,
    tokenizer: Tokenizer,
    parse: Callable[[Sequence[Passage]], list[np.ndarray] | None],
    *,
    max_words: int | None,
    height: int | None,
    fraction: float,
    seed: int,
) -> Encoded:
    """Texts and labels as numbers.

    Parameters
    ----------
    validation
        Texts and labels of a part of their own; None takes a ``fraction`` of the others.
    parse
        Trees of texts, for a network that composes along them.
    height
        Levels of a pyramid at most; what a text costs decides where it is cut.
    """
    texts, labels, targets, weights, classes, multilabel = labelled
    weights = (weights / weights.mean()).astype(np.float32)
    whole = [run_tokenizer(tokenizer, text) for text in texts]
    cutting = cut_of(whole, max_words, height)
    tokens = cut(whole, cutting.max_words)
    every = [Passage(*pair, tokenizer) for pair in zip(texts, tokens, strict=True)]
    if validation is None:
        if multilabel:
            there = targets[:, : len(classes)] >= HALF
            kept, held = held_out_several(there, fraction, seed, texts)
        else:
            kept, held = held_out(labels.tolist(), fraction, seed, texts=texts)
        held_passages = [every[i] for i in held]
        held_targets, held_weights = targets[held], weights[held]
    else:
        kept = np.arange(len(texts))
        held_texts, held_targets = _validation_part(*validation, classes, multilabel)
        held_passages = read_passages(held_texts, tokenizer, cutting.max_words)
        held_weights = np.ones(len(held_texts), dtype=np.float32)

    passages = [every[i] for i in kept]
    words = source.read(passages, held_passages, tokenizer, cutting.max_words, seed)
    training = Examples(words.training, targets[kept], weights[kept], parse(passages), passages)
    held_examples = None
    if held_passages:
        trees = parse(held_passages)
        held_examples = Examples(words.held, held_targets, held_weights, trees, held_passages)
    return Encoded(
        training,
        held_examples,
        words.table,
        words.n_trained,
        classes,
        words.encoder,
        source,
        seed,
        len(texts),
        words.unseen,
        cutting,
        multilabel,
        words.vectors,
    )


def _validation_part(
    X: Any, y: Any, classes: np.ndarray, multilabel: bool
) -> tuple[list[str], np.ndarray]:
    """Texts of their own with their targets, checked."""
    if not multilabel:
        texts, labels = check_examples(X, y)
        one_hot = np.eye(len(classes), dtype=np.float32)
        return texts, one_hot[positions_in(labels, classes)]
    texts, lists = check_texts(X), read_lists(y)
    if len(texts) != len(lists) or not texts:
        raise DataError(
            f"expected validation texts, and labels of each, got {len(texts)} and {len(lists)}"
        )
    positions_in(np.array([label for one in lists for label in one]), classes)
    return texts, yes_and_no(indicator(lists, classes))


def open_sources(vectors: Any) -> list[WordVectors | MiniLMWords]:
    """The vectors setting -> word vectors in memory, and what makes them."""
    if vectors is None or is_word(vectors, NONE):
        return []
    if is_word(vectors, AUTO):
        return auto_sources()
    many = vectors if isinstance(vectors, list | tuple) else [vectors]
    return [_opened(one) for one in many]


def _opened(source: Any) -> WordVectors | MiniLMWords:
    if isinstance(source, MiniLMWords):
        return source
    if isinstance(source, str | os.PathLike):
        return open_vectors(source)
    return as_vectors(source)


def is_word(vectors: Any, word: str) -> bool:
    """Whether the setting is that word; a file of that name goes by ``./name``."""
    return isinstance(vectors, str) and vectors == word


def words_of(source: WordVectors | MiniLMWords, words: Iterable[str]) -> WordVectors:
    """The vectors of a source, with those of the words where it makes them."""
    return source.of(words) if isinstance(source, MiniLMWords) else source


def read_sources(vectors: Any, words: Iterable[str] = ()) -> list[WordVectors]:
    """The vectors setting -> word vectors in memory; some sets are made for ``words``."""
    known = list(words)
    return [words_of(source, known) for source in open_sources(vectors)]


def describe_vectors(
    asked: Any, sources: Sequence[WordVectors], counts: Mapping[str, int], vocabulary: Vocabulary
) -> dict[str, Any]:
    """What a record says of the vectors that a table starts from, and how much they cover.

    With the scale of each, by which words that come later are fitted in.
    """
    return {
        "auto": is_word(asked, AUTO),
        "sets": [
            {
                "name": one.name,
                "sha256": one.sha256,
                "dim": one.dim,
                "scale": scale_of(one, vocabulary),
            }
            for one in sources
        ],
        "coverage": asdict(coverage(sources, counts, n_missing=0)) if sources else None,
    }


def positions_in(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Where labels of a validation part stand among the classes of the training part."""
    unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
    if unknown:
        raise DataError(
            f"validation labels {unknown[:3]!r} do not occur in training; "
            f"expected one of {classes.tolist()!r}"
        )
    return np.searchsorted(classes, labels)


def in_training(ids: Sequence[np.ndarray], n_trained: int) -> list[np.ndarray]:
    """Training texts without words that training does not touch, which are unknown to it.

    A word that is too rare to be trained may have a vector all the same: for prediction, not here.
    """
    return [row if row.max() < n_trained else np.where(row < n_trained, row, UNK_ID) for row in ids]


def count_unseen(
    tokens: Sequence[Sequence[str]], vocabulary: Vocabulary, sources: Sequence[WordVectors]
) -> Unseen:
    words = [word for row in tokens for word in row]
    unknown = [word for word in words if word not in vocabulary]
    left_out = sum(any(word in source for source in sources) for word in unknown)
    return Unseen(len(words), len(unknown), left_out)


def first_table(
    sources: list[WordVectors], vocabulary: Vocabulary, size: int, seed: int
) -> np.ndarray:
    """(V, d) initial word table."""
    if sources:
        return align(sources, vocabulary, seed=seed)
    table = np.random.default_rng(seed).normal(0.0, NEW_WORD_SPREAD, (len(vocabulary), size))
    table[: len(SPECIALS)] = 0.0
    return table.astype(np.float32)

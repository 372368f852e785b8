"""Sentences of MR, and random networks and words of any size, as the measurements need them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import torch

from adasent.data import load, stratified_folds
from adasent.estimators.predictor import Predictor
from adasent.pyramid.layout import Layout, batches
from adasent.runtime.climb import Composition, Memory, climb
from adasent.runtime.compiled import NUMBA
from adasent.runtime.network import BATCH_WORDS, Network
from adasent.saving.word_table import WordTable, round_to_half
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig
from adasent.text.batch import n_cells
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import words as tokenise
from adasent.text.vocabulary import Vocabulary
from benchmarks.padded import pyramid_padded
from benchmarks.records import Shape


class Split(NamedTuple):
    """Texts and labels to train on and to test on."""

    train_texts: list[str]
    train_labels: list[str]
    test_texts: list[str]
    test_labels: list[str]


@cache
def mr() -> Split:
    """The first of ten stratified folds of MR: 9,595 sentences to train on, 1,067 to test on."""
    corpus = load("MR")
    fold = stratified_folds(corpus.labels, 10, seed=0)[0]
    labels = [str(label) for label in corpus.labels]
    return Split(
        [corpus.texts[i] for i in fold.train],
        [labels[i] for i in fold.train],
        [corpus.texts[i] for i in fold.test],
        [labels[i] for i in fold.test],
    )


def whole_mr() -> list[str]:
    """All 10,662 sentences."""
    return [*mr().test_texts, *mr().train_texts]


def n_words(texts: Sequence[str]) -> np.ndarray:
    """Words of each text, int64."""
    return np.array([len(tokenise(text)) for text in texts], dtype=np.int64)


def shape(lengths: np.ndarray, hidden: int, kind: str, batch: int | None = None) -> Shape:
    """The columns that describe sentences of these lengths."""
    return Shape(batch, int(lengths.max()), hidden, kind, int(n_cells(lengths).sum()))


def network(
    hidden: int,
    *,
    n_words: int = 2,
    vector_size: int = 50,
    n_groups: int = 1,
    height: int | None = None,
) -> AdaSent:
    """A fresh network with random vectors for its words; equal sizes give equal networks."""
    config = AdaSentConfig(
        n_trained=n_words,
        n_classes=2,
        vector_size=vector_size,
        hidden_size=hidden,
        gate_groups=n_groups,
        max_height=height,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = AdaSent(config)
        model.embedding.set_vectors(torch.randn(n_words, config.vector_size))
        return model


def first_level(n_words: int, hidden: int) -> np.ndarray:
    """(n_words, D) random units."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(n_words, hidden)).astype(np.float32)


class PackedWork:
    """Pyramids of sentences of given lengths as prediction builds them, without what is around.

    Parameters
    ----------
    groups
        Which sentences make a batch, each longest first; None batches as prediction does.
    n_groups
        N, groups of dimensions with gates of their own.
    """

    def __init__(
        self,
        lengths: np.ndarray,
        hidden: int,
        groups: Sequence[np.ndarray] | None = None,
        n_groups: int = 1,
    ) -> None:
        model = network(hidden, n_groups=n_groups)
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        self.composition = Composition.of(model.config, tensors)
        groups = batches(lengths, BATCH_WORDS) if groups is None else groups
        self.layouts = [Layout(lengths[group]) for group in groups]
        self.words = [first_level(layout.n_words, hidden) for layout in self.layouts]
        self.memory = Memory(self.composition, max(len(words) for words in self.words))
        self.products = np.empty_like(self.memory.products)

    def pyramid(self) -> list[np.ndarray]:
        """Every level of every sentence, pooled."""
        pooled = []
        for words, layout in zip(self.words, self.layouts, strict=True):
            product = np.matmul(words, self.composition.matrix, out=self.products[: len(words)])
            made = climb(words, product, layout, self.composition, NUMBA, self.memory)
            pooled.append(made.levels)
        return pooled

    def product(self, first: int = 0) -> None:
        """The matrix products of the same levels and nothing else: the limit of `pyramid`.

        Levels before ``first`` are left out.
        """
        for words, layout in zip(self.words, self.layouts, strict=True):
            for rows in rows_of_levels(layout.counts)[first:]:
                np.matmul(words[:rows], self.composition.matrix, out=self.products[:rows])

    @property
    def flops(self) -> int:
        """Operations of `product`: a multiplication and an addition for each weight and row."""
        return 2 * self.composition.matrix.size * self._n_rows

    @property
    def traffic(self) -> int:
        """Bytes `pyramid` reads and writes: a level twice and written once, its product both."""
        size, width = self.composition.matrix.shape
        return 4 * (3 * size + 2 * width) * self._n_rows

    @property
    def _n_rows(self) -> int:
        return sum(sum(rows_of_levels(layout.counts)) for layout in self.layouts)


class WholePrediction:
    """Texts from strings to probabilities, by a network with random weights.

    It knows the training words of MR, and is as fast as a trained one.
    """

    def __init__(self, texts: list[str], hidden: int, vector_size: int, n_groups: int) -> None:
        self.texts = texts
        self.lengths = n_words(texts)
        self.vocabulary = Vocabulary.build(tokenise(text) for text in mr().train_texts)
        model = network(
            hidden, n_words=len(self.vocabulary), vector_size=vector_size, n_groups=n_groups
        )
        tensors = {name: tensor.numpy() for name, tensor in model.state_dict().items()}
        rows = round_to_half(tensors.pop("embedding.trained")), tensors.pop("embedding.fixed")
        self.network = Network(model.config, WordTable.wide(*rows).pack(), tensors)

    def predict(self) -> np.ndarray:
        """Probabilities, by a predictor that remembers nothing of the texts it read before."""
        encoder = TextEncoder(tokenise, self.vocabulary, int(self.lengths.max()))
        classes = np.arange(self.network.config.n_classes)
        return Predictor(self.network, encoder, classes).predict_proba(self.texts)


def rows_of_levels(counts: np.ndarray) -> list[int]:
    """Rows of each level that has one above it, for a batch packed with ``counts``."""
    return [int(counts[t:].sum()) for t in range(len(counts) - 1)]


class PaddedWork:
    """The same pyramids by the padded baseline, in batches of ``batch`` sentences.

    Parameters
    ----------
    by_length
        Sort the sentences by length first, so that little of a batch is padding.
    """

    def __init__(self, lengths: np.ndarray, hidden: int, batch: int, *, by_length: bool) -> None:
        order = np.argsort(-lengths, kind="stable") if by_length else np.arange(len(lengths))
        self.weights = network(hidden).composition.weights()
        self.batches = [
            padded_batch(lengths[order[start : start + batch]], hidden)
            for start in range(0, len(order), batch)
        ]

    @torch.inference_mode()
    def pyramid(self) -> list[torch.Tensor]:
        """Every level of every sentence, pooled."""
        return [
            pyramid_padded(words, lengths, self.weights, pooling="max")
            for words, lengths in self.batches
        ]


def padded_batch(lengths: np.ndarray, hidden: int) -> tuple[torch.Tensor, torch.Tensor]:
    """(B, T, D) random words, and (B,) lengths."""
    longest = int(lengths.max())
    words = first_level(len(lengths) * longest, hidden).reshape(len(lengths), longest, hidden)
    return torch.from_numpy(words), torch.from_numpy(lengths)

"""Paragraph Vector (Le & Mikolov 2014): a vector for each text, and logistic regression on top.

Two models of gensim's ``Doc2Vec`` stand side by side: PV-DM, in which the vector of a text and the
neighbours of a word predict it, and PV-DBOW, in which the vector alone does, trained together with
skip-grams of the words. Both learn by negative sampling.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.linear_model import LogisticRegression

from adasent.checks import JsonConfig, check_integer, check_range
from adasent.errors import DataError, ModelFormatError, require
from adasent.estimators.one_go import OneGoClassifier, TextModel, TokenExamples, Tokens, as_saved
from adasent.saving.model import Stored
from adasent.text.encoder import check_texts, tokenise
from adasent.text.tokenize import get_tokenizer

#: Learning rate of the last step.
_LAST_RATE = 1e-4
#: Of the draws while the vector of a text is inferred: the same for each text, so that its
#: neighbours do not matter.
_INFERENCE_SEED = 0
#: gensim drops what follows without a word.
_MAX_WORDS = 10_000
#: Occurrences of a word, at most; far above any corpus, and exact in double precision.
_MAX_COUNT = 2**53


@dataclass(frozen=True)
class ParagraphVectorConfig(JsonConfig):
    """Settings of Paragraph Vector.

    Attributes
    ----------
    vector_size
        Numbers in the vector of a text, in each of the two models.
    window
        Words to each side that count as context.
    negative
        Negative samples for each word.
    min_count
        Rarer words are left out.
    epochs
        Passes over the texts in training, and over a new text to infer its vector.
    learning_rate
        Of the first step; it falls evenly to 0.0001.
    C
        Inverse strength of the penalty of the logistic regression, on vectors whose root mean
        square is 1.
    """

    vector_size: int = 100
    window: int = 5
    negative: int = 5
    min_count: int = 1
    epochs: int = 20
    learning_rate: float = 0.05
    C: float = 0.1

    def __post_init__(self) -> None:
        check_integer("vector_size", self.vector_size, 1, 4096)
        check_integer("window", self.window, 1, 100)
        check_integer("negative", self.negative, 1, 100)
        check_integer("min_count", self.min_count, 1)
        check_integer("epochs", self.epochs, 1, 10_000)
        check_range("learning_rate", self.learning_rate, _LAST_RATE, 1)
        check_range("C", self.C, 1e-6, 1e6)


class DocumentModel:
    """PV-DM or PV-DBOW: makes vectors of texts from their tokens.

    The tables and the compiled passes are gensim's. Its loop over the corpus is not used: it goes
    through threads, and it starts an inference from a vector that depends on Python's salted hash.

    ``kind`` is ``dm`` or ``dbow``; ``counts``, the occurrences of each word, decide how often it is
    drawn as a negative sample.
    """

    def __init__(
        self, kind: str, counts: Mapping[str, int], config: ParagraphVectorConfig, seed: int = 0
    ) -> None:
        doc2vec = require("gensim.models.doc2vec", "vectors", "Paragraph Vector")
        self._config = config
        self._seed = seed
        self.tables = doc2vec.Doc2Vec(
            dm=int(kind == "dm"),
            vector_size=config.vector_size,
            window=config.window,
            negative=config.negative,
            min_count=1,
            sample=0,
            sorted_vocab=0,  # the order of ``counts``, so that a loaded model has the same
            seed=seed,
        )
        self.tables.build_vocab_from_freq(dict(counts))
        self._pass = doc2vec.train_document_dm if kind == "dm" else doc2vec.train_document_dbow
        self._buffers = ("work", "neu1") if kind == "dm" else ("work",)
        # PV-DBOW has no use for word vectors, but the weights it predicts with are better for being
        # shared with a skip-gram model of the words.
        self._learn = {} if kind == "dm" else {"train_words": True}

    def train(self, tokens: Tokens) -> None:
        """Learn the vectors of words from texts; those of the texts are not kept.

        They are inferred again where they are needed: vectors that were trained together with the
        words differ from those of new texts, and a classifier fitted to them does much worse.
        """
        n_texts, size = len(tokens), self._config.vector_size
        rng = np.random.default_rng(self._seed)
        vectors = (rng.random((n_texts, size), dtype=np.float32) * 2 - 1) / size
        step = self._step(vectors, **self._learn)
        rates = iter(self._rates(n_texts * self._config.epochs))
        for _ in range(self._config.epochs):
            for i in rng.permutation(n_texts).tolist():
                step(tokens[i], [i], next(rates))

    def infer(self, tokens: list[str]) -> np.ndarray:
        """(d,) vector of a text, words and weights held fast; zero if no word is known."""
        self.tables.random.seed(_INFERENCE_SEED)
        vector = np.zeros((1, self._config.vector_size), dtype=np.float32)
        step = self._step(vector, learn_words=False, learn_hidden=False)
        for rate in self._rates(self._config.epochs):
            step(tokens, [0], rate)
        inferred: np.ndarray = vector[0]
        return inferred

    def _step(self, vectors: np.ndarray, **learn: bool) -> Callable[..., int]:
        """One step of gensim's, from the tokens of a text, its row of ``vectors`` and the rate."""
        # Buffers are made anew: gensim writes to them unchecked, and those of a model that joblib
        # hands to another process may be read-only memory.
        size = self._config.vector_size
        buffers = {name: np.zeros(size, dtype=np.float32) for name in self._buffers}
        return partial(
            self._pass,
            self.tables,
            doctag_vectors=vectors,
            doctags_lockf=np.ones(1, dtype=np.float32),
            **buffers,
            **learn,
        )

    def _rates(self, n_steps: int) -> list[float]:
        rates: list[float] = np.linspace(self._config.learning_rate, _LAST_RATE, n_steps).tolist()
        return rates


class ParagraphModel(TextModel):
    """Both models, trained, and the logistic regression."""

    def __init__(
        self,
        counts: Mapping[str, int],  # occurrences of each word
        dm: DocumentModel,
        dbow: DocumentModel,
        coef: np.ndarray,  # (C, 2 d) weights of the directions of the vectors, PV-DM's first
        intercept: np.ndarray,  # (C,)
    ) -> None:
        self.counts = counts
        self.dm = dm
        self.dbow = dbow
        self.coef, self.intercept = as_saved(coef, intercept)

    def scores(self, tokens: Tokens) -> np.ndarray:
        vectors = _infer_all(self.dm, self.dbow, tokens)
        # Not a matrix product: its last bits depend on how many rows it has.
        scores: np.ndarray = np.einsum("nf,cf->nc", vectors, self.coef) + self.intercept
        return scores

    def parts(self) -> tuple[list[Any], dict[str, np.ndarray]]:
        """Pairs of word and count in the order of the rows; and the arrays."""
        return [list(pair) for pair in self.counts.items()], {
            "dm.words": self.dm.tables.wv.vectors,
            "dm.hidden": self.dm.tables.syn1neg,
            "dbow.hidden": self.dbow.tables.syn1neg,
            "coef": self.coef,
            "intercept": self.intercept,
        }

    @classmethod
    def parse_vocabulary(cls, words: list[Any], config: ParagraphVectorConfig) -> dict[str, int]:
        """Word -> its count."""
        counts: dict[str, int] = {}
        for pair in words:
            if not (
                isinstance(pair, list)
                and [type(part) for part in pair] == [str, int]
                and 1 <= pair[1] <= _MAX_COUNT
            ):
                raise ModelFormatError("expected pairs of a word and its count")
            counts[pair[0]] = pair[1]
        if len(counts) != len(words):
            raise ModelFormatError("some word occurs twice")
        return counts

    @classmethod
    def stored(
        cls, config: ParagraphVectorConfig, vocabulary: dict[str, int], n_classes: int
    ) -> dict[str, Stored]:
        table = Stored((len(vocabulary), config.vector_size))
        return {
            "dm.words": table,
            "dm.hidden": table,
            "dbow.hidden": table,
            "coef": Stored((n_classes, 2 * config.vector_size)),
            "intercept": Stored((n_classes,)),
        }

    @classmethod
    def from_parts(
        cls,
        config: ParagraphVectorConfig,
        vocabulary: dict[str, int],
        arrays: dict[str, np.ndarray],
    ) -> Self:
        dm, dbow = (DocumentModel(kind, vocabulary, config) for kind in ("dm", "dbow"))
        dm.tables.wv.vectors = arrays["dm.words"]
        dm.tables.syn1neg = arrays["dm.hidden"]
        dbow.tables.syn1neg = arrays["dbow.hidden"]
        return cls(vocabulary, dm, dbow, arrays["coef"], arrays["intercept"])


@dataclass(kw_only=True, eq=False, repr=False)
class ParagraphVectorClassifier(OneGoClassifier):
    """Logistic regression on the PV-DM and PV-DBOW vectors of a text, side by side.

    Training sees the texts given to ``fit`` and those in ``unlabelled``, and no others: test texts
    are not seen unless the caller passes them there, and their vectors are inferred at prediction
    with everything else held fast. The scripts that the AdaSent paper used for its P.V. row do show
    the test texts to the vectors, without their labels.

    Parameters
    ----------
    vector_size, window, negative, min_count, epochs, learning_rate, C
        See :class:`ParagraphVectorConfig`.
    unlabelled
        Further texts to learn the vectors from, without labels; they are not saved.
    tokenizer, max_words, random_state
        See :class:`~adasent.estimators.one_go.OneGoClassifier`; at most 10,000 words.

    Notes
    -----
    ``sample_weight`` acts in the logistic regression; zero leaves a text out altogether. The
    prediction of a text does not depend on the texts it is predicted with.
    """

    system = "paragraph-vector"
    config_type = ParagraphVectorConfig
    model_type = ParagraphModel
    max_words_limit = _MAX_WORDS
    libraries = (*OneGoClassifier.libraries, "gensim")

    vector_size: int = 100
    window: int = 5
    negative: int = 5
    min_count: int = 1
    epochs: int = 20
    learning_rate: float = 0.05
    C: float = 0.1
    unlabelled: Any = None

    def _train(
        self, config: ParagraphVectorConfig, examples: TokenExamples, seed: int
    ) -> ParagraphModel:
        tokens = examples.tokens
        if self.unlabelled is not None:
            further = check_texts(self.unlabelled)
            tokens = tokens + tokenise(further, get_tokenizer(self.tokenizer), self.max_words)
        counts = _word_counts(tokens, config.min_count)
        dm, dbow = (DocumentModel(kind, counts, config, seed) for kind in ("dm", "dbow"))
        dm.train(tokens)
        dbow.train(tokens)
        vectors = _infer_all(dm, dbow, examples.tokens)
        return ParagraphModel(counts, dm, dbow, *_regression(vectors, examples, config.C))

    def _about(self) -> dict[str, Any]:
        return {"n_unlabelled": 0 if self.unlabelled is None else len(self.unlabelled)}


def _word_counts(tokens: Tokens, min_count: int) -> dict[str, int]:
    """Words with their occurrences, most frequent first."""
    counts = Counter(word for text in tokens for word in text)
    kept = {word: n for word, n in counts.most_common() if n >= min_count}
    if not kept:
        raise DataError(
            f"expected words that occur {min_count} times or more, got none among {len(counts)}; "
            "lower min_count"
        )
    return kept


def _infer_all(dm: DocumentModel, dbow: DocumentModel, tokens: Tokens) -> np.ndarray:
    """(N, 2 d) directions of the vectors of texts, in double precision.

    Lengths are dropped: they tell how many words of a text are known, which of training texts are
    all. The root mean square of a vector is 1; a text without a known word has zeros.
    """
    vectors = np.array([[dm.infer(text), dbow.infer(text)] for text in tokens], dtype=np.float64)
    scale = np.sqrt(np.square(vectors).mean(axis=2, keepdims=True))  # (N, 2, 1)
    directions: np.ndarray = vectors / np.where(scale > 0, scale, 1.0)
    return directions.reshape(len(tokens), -1)


def _regression(
    vectors: np.ndarray, examples: TokenExamples, inverse_penalty: float
) -> tuple[np.ndarray, np.ndarray]:
    """(C, 2 d) weights and (C,) intercepts of a logistic regression on vectors."""
    coef = np.zeros((examples.n_classes, vectors.shape[1]))
    intercept = examples.log_prior()
    present = np.unique(examples.targets)
    if len(present) > 1:
        regression = LogisticRegression(C=inverse_penalty, max_iter=1000)
        regression.fit(vectors, examples.targets, examples.weights)
        rows, bias = regression.coef_, regression.intercept_
        if len(present) == 2:
            rows, bias = np.concatenate([-rows, rows]) / 2, np.concatenate([-bias, bias]) / 2
        coef[present], intercept[present] = rows, bias
    return coef, intercept

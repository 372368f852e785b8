"""MNB and NB-SVM of Wang & Manning (2012): linear scores over the n-grams that a text has.

Both rest on the log-count ratio of an n-gram, how much likelier it is in texts of one class than in
the others. MNB adds the ratios up; NB-SVM scales the features of a linear SVM by them.

An n-gram that did not occur in training does not count. A text with none that did gets the shares
of the classes in training.
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.svm import LinearSVC

from adasent.checks import JsonConfig, check_integer, check_range
from adasent.errors import AdaSentWarning, ModelFormatError
from adasent.estimators.one_go import OneGoClassifier, TextModel, TokenExamples, Tokens, as_saved
from adasent.saving.model import Stored

Ngram = tuple[str, ...]

#: Rounds of the SVM's solver; the benchmarks take a few dozen.
_MAX_ITER = 10_000


@dataclass(frozen=True)
class MNBConfig(JsonConfig):
    """Settings of MNB.

    Attributes
    ----------
    max_ngram
        Longest n-gram; 2 is words and pairs of neighbours.
    alpha
        Added to every count.
    """

    max_ngram: int = 2
    alpha: float = 1.0

    def __post_init__(self) -> None:
        check_integer("max_ngram", self.max_ngram, 1, 5)
        check_range("alpha", self.alpha, 1e-6, 1e6)


@dataclass(frozen=True)
class NBSVMConfig(MNBConfig):
    """Settings of NB-SVM.

    Attributes
    ----------
    beta
        Share of the SVM in the interpolation with MNB: 1 is the SVM alone, 0 naive Bayes
        without its prior.
    C
        Price of the squared hinge loss, against the squared norm of the weights.
    """

    beta: float = 0.25
    C: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("beta", self.beta, 0, 1)
        check_range("C", self.C, 1e-6, 1e6)


class NgramModel(TextModel):
    """A linear score for each class over the n-grams that a text has."""

    def __init__(
        self,
        ngrams: Mapping[Ngram, int],  # n-gram -> its column of ``coef``
        coef: np.ndarray,  # (C, V)
        intercept: np.ndarray,  # (C,)
        log_prior: np.ndarray,  # (C,) scores of a text that has none of the n-grams
    ) -> None:
        self.ngrams = ngrams
        self.coef, self.intercept, self.log_prior = as_saved(coef, intercept, log_prior)
        self._vectorizer = _vectorizer(max(map(len, ngrams)), ngrams)

    def scores(self, tokens: Tokens) -> np.ndarray:
        present = self._vectorizer.transform(tokens)  # (N, V)
        scores: np.ndarray = present @ self.coef.T + self.intercept
        scores[present.getnnz(axis=1) == 0] = self.log_prior
        return scores

    def parts(self) -> tuple[list[Any], dict[str, np.ndarray]]:
        """N-grams in the order of the columns, each a list of its words; and the arrays."""
        ordered = sorted(self.ngrams, key=self.ngrams.__getitem__)
        arrays = {"coef": self.coef, "intercept": self.intercept, "log_prior": self.log_prior}
        return list(map(list, ordered)), arrays

    @classmethod
    def parse_vocabulary(cls, words: list[Any], config: MNBConfig) -> dict[Ngram, int]:
        """N-gram -> its column."""
        ngrams: dict[Ngram, int] = {}
        for ngram in words:
            if not (
                isinstance(ngram, list)
                and 1 <= len(ngram) <= config.max_ngram
                and all(isinstance(word, str) for word in ngram)
            ):
                raise ModelFormatError(
                    f"expected lists of 1 to {config.max_ngram} words, one an n-gram"
                )
            ngrams[tuple(ngram)] = len(ngrams)
        if len(ngrams) != len(words):
            raise ModelFormatError("some n-gram occurs twice")
        return ngrams

    @classmethod
    def stored(
        cls, config: MNBConfig, vocabulary: dict[Ngram, int], n_classes: int
    ) -> dict[str, Stored]:
        return {
            "coef": Stored((n_classes, len(vocabulary))),
            "intercept": Stored((n_classes,)),
            "log_prior": Stored((n_classes,)),
        }

    @classmethod
    def from_parts(
        cls, config: MNBConfig, vocabulary: dict[Ngram, int], arrays: dict[str, np.ndarray]
    ) -> Self:
        return cls(vocabulary, **arrays)


@dataclass(kw_only=True, eq=False, repr=False)
class _NgramClassifier(OneGoClassifier):
    """What both share."""

    model_type = NgramModel

    max_ngram: int = 2
    alpha: float = 1.0

    def _train(self, config: MNBConfig, examples: TokenExamples, seed: int) -> NgramModel:
        vectorizer = _vectorizer(config.max_ngram)
        present = vectorizer.fit_transform(examples.tokens)
        weights = self._weights(config, present, examples, seed)
        return NgramModel(vectorizer.vocabulary_, *weights, examples.log_prior())

    @abstractmethod
    def _weights(
        self, config: Any, present: csr_matrix, examples: TokenExamples, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """(C, V) weights of the n-grams that texts have, (N, V), and (C,) intercepts."""


class MNBClassifier(_NgramClassifier):
    """Multinomial naive Bayes over the n-grams of a text, each counted once.

    The score of class c is log N_c plus, for each n-gram of the text, log p(n-gram | c). For two
    classes this is the rule of Wang & Manning, r . f + log(N_+ / N_-), with the log-count ratio r;
    for more it is the same between any two of them. Probabilities are the posterior of the model,
    which takes n-grams for independent and so is far too sure.

    Parameters
    ----------
    max_ngram, alpha
        See :class:`MNBConfig`.
    tokenizer, max_words
        See :class:`~adasent.estimators.one_go.OneGoClassifier`.
    random_state
        Not used, since nothing is random; every system takes one.
    """

    system = "mnb"
    config_type = MNBConfig

    def _weights(
        self, config: MNBConfig, present: csr_matrix, examples: TokenExamples, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        likelihood = _log_likelihood(_counts(present, examples), config.alpha)
        # What all classes share decides nothing; of two classes, +-r / 2 is left.
        return likelihood - likelihood.mean(axis=0), examples.log_prior()


@dataclass(kw_only=True, eq=False, repr=False)
class NBSVMClassifier(_NgramClassifier):
    """A linear SVM whose features are log-count ratios, interpolated with naive Bayes.

    For a class against the rest, an n-gram of the text has the value of its log-count ratio r. A
    linear SVM with squared hinge loss learns weights w for them, and is drawn towards naive Bayes,
    which has the same weight everywhere: w' = (1 - beta) mean|w| + beta w. Two classes need one
    SVM; more are told apart one against the rest. There is no intercept, as in the code that Wang &
    Manning published: the interpolation would shrink the weights and leave it too large for them.

    Probabilities are the softmax of the margins (for two classes, the logistic function of the
    margin). They rank texts and are not calibrated.

    Parameters
    ----------
    max_ngram, alpha, beta, C
        See :class:`NBSVMConfig`.
    tokenizer, max_words
        See :class:`~adasent.estimators.one_go.OneGoClassifier`.
    random_state
        Seed of the order in which the SVM's solver takes the texts.
    """

    system = "nbsvm"
    config_type = NBSVMConfig

    beta: float = 0.25
    C: float = 1.0

    def _weights(
        self, config: NBSVMConfig, present: csr_matrix, examples: TokenExamples, seed: int
    ) -> tuple[np.ndarray, np.ndarray]:
        counts = _counts(present, examples)
        ratios = _log_likelihood(counts, config.alpha) - _log_likelihood(
            counts.sum(axis=0) - counts, config.alpha
        )  # (C, V) of a class against the rest
        coef = np.zeros_like(ratios)
        totals = examples.totals()
        n_unfinished = 0
        # Two classes mirror each other; a class without texts, or without rivals, has no margin.
        for c in [1] if len(totals) == 2 else range(len(totals)):
            if 0 < totals[c] < totals.sum():
                coef[c], finished = _svm(
                    present, examples.targets == c, examples.weights, ratios[c], config, seed
                )
                n_unfinished += not finished
        if len(totals) == 2:
            coef = np.stack([-coef[1] / 2, coef[1] / 2])
        if n_unfinished:
            warnings.warn(
                f"the SVM of {n_unfinished} of {len(totals)} classes did not converge in "
                f"{_MAX_ITER:,} rounds; lower C",
                AdaSentWarning,
                stacklevel=4,
            )
        return coef, np.where(totals > 0, 0.0, examples.log_prior())


def _ngrams(tokens: list[str], longest: int) -> list[Ngram]:
    """All n-grams of a text. Tuples, since a token of a user's own tokenizer may hold a space."""
    return [
        ngram
        for n in range(1, longest + 1)
        for ngram in zip(*(tokens[i:] for i in range(n)), strict=False)
    ]


def _vectorizer(longest: int, vocabulary: Mapping[Ngram, int] | None = None) -> CountVectorizer:
    """From tokens to a sparse (N, V) of zeros and ones."""
    return CountVectorizer(
        analyzer=partial(_ngrams, longest=longest),
        binary=True,
        vocabulary=vocabulary,
        dtype=np.float64,
    )


def _counts(present: csr_matrix, examples: TokenExamples) -> np.ndarray:
    """(C, V) weight of the texts of each class that have each n-gram."""
    member = np.zeros((examples.n_classes, len(examples.targets)))
    member[examples.targets, np.arange(len(examples.targets))] = examples.weights
    counts: np.ndarray = member @ present
    return counts


def _log_likelihood(counts: np.ndarray, alpha: float) -> np.ndarray:
    """(C, V) log p(n-gram | class), smoothed by ``alpha``."""
    smoothed = counts + alpha
    likelihood: np.ndarray = np.log(smoothed / smoothed.sum(axis=1, keepdims=True))
    return likelihood


def _svm(
    present: csr_matrix,
    positive: np.ndarray,
    weights: np.ndarray,
    ratio: np.ndarray,
    config: NBSVMConfig,
    seed: int,
) -> tuple[np.ndarray, bool]:
    """(V,) weights of the n-grams of a class, ratio included; and whether the solver finished."""
    svm = LinearSVC(C=config.C, dual=True, fit_intercept=False, max_iter=_MAX_ITER)
    svm.set_params(random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told once for all classes
        svm.fit(present.multiply(ratio).tocsr(), positive, weights)
    weight = svm.coef_[0]
    weight = (1 - config.beta) * np.abs(weight).mean() + config.beta * weight
    return weight * ratio, bool(svm.n_iter_ < _MAX_ITER)

"""What the systems share that train in one go: they count words or learn vectors of whole texts.

A system turns tokens into a model, and a model turns tokens into scores.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils.extmath import softmax

from adasent.checks import JsonConfig, check_integer
from adasent.errors import DataError
from adasent.estimators.base import TextClassifier, check_training, seed_from
from adasent.saving.model import (
    Opened,
    SavedModel,
    Schema,
    Stored,
    read_model,
    tokenizer_of,
)
from adasent.text.cutting import MAX_WORDS, cut_of
from adasent.text.encoder import check_texts, cut, tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer, tokenizer_name

Tokens = list[list[str]]

#: Of scikit-learn, numpy and gensim alike.
_MAX_SEED = 2**32 - 1
#: Share of a class that has no weight at all: it keeps its column, at next to no probability.
_NO_SHARE = 1e-12


class TokenExamples(NamedTuple):
    """Training texts as a system that trains in one go gets them."""

    tokens: Tokens  # N, some may be empty
    targets: np.ndarray  # (N,) positions in the sorted labels
    weights: np.ndarray  # (N,) above 0; 2 counts as the text given twice
    n_classes: int  # C, also of classes that occur in no text with a weight

    def totals(self) -> np.ndarray:
        """(C,) weight of the texts of each class."""
        return np.bincount(self.targets, self.weights, minlength=self.n_classes)

    def log_prior(self) -> np.ndarray:
        """(C,) log share of each class."""
        totals = self.totals()
        logs: np.ndarray = np.log(np.maximum(totals / totals.sum(), _NO_SHARE))
        return logs


class TextModel(ABC):
    """What a fit leaves behind, and all that prediction needs."""

    @abstractmethod
    def scores(self, tokens: Tokens) -> np.ndarray:
        """(N, C) log probabilities, each row up to a constant."""

    @abstractmethod
    def parts(self) -> tuple[list[Any], dict[str, np.ndarray]]:
        """The vocabulary as a JSON list, and the arrays, of values that float32 has, by name."""

    @classmethod
    @abstractmethod
    def parse_vocabulary(cls, words: list[Any], config: Any) -> Any:
        """The vocabulary of :meth:`parts`; raises ``ModelFormatError`` if it cannot be one."""

    @classmethod
    @abstractmethod
    def stored(cls, config: Any, vocabulary: Any, n_classes: int) -> dict[str, Stored]:
        """The arrays of :meth:`parts` for a vocabulary."""

    @classmethod
    @abstractmethod
    def from_parts(cls, config: Any, vocabulary: Any, arrays: dict[str, np.ndarray]) -> Self:
        """Inverse of :meth:`parts`."""


def as_saved(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rounded to what is saved, so that saving loses nothing; summed in double precision."""
    return tuple(array.astype(np.float32).astype(np.float64) for array in arrays)


@dataclass(kw_only=True, eq=False, repr=False)
class OneGoClassifier(TextClassifier):
    """Base of the estimators that train in one go; a subclass says how, in :meth:`_train`.

    Parameters
    ----------
    tokenizer
        ``words``, ``kim`` or a callable from a string to a list of strings.
    max_words
        Longer texts are cut there, with a warning.
    random_state
        Seed of everything random. The same seed gives the same model, bit for bit, on one machine.
    """

    config_type: ClassVar[type[JsonConfig]]  # each field is also a keyword of the estimator
    model_type: ClassVar[type[TextModel]]
    max_words_limit: ClassVar[float] = float("inf")
    # What trains it; their versions are kept with a model and in the records of runs.
    libraries: ClassVar[tuple[str, ...]] = ("numpy", "scikit-learn")

    tokenizer: str | Tokenizer = "words"
    max_words: int = MAX_WORDS
    random_state: int | np.random.RandomState | None = 0

    @abstractmethod
    def _train(self, config: Any, examples: TokenExamples, seed: int) -> TextModel:
        """Learn from checked examples, at least one of which has a token."""

    def _about(self) -> dict[str, Any]:
        """What else is worth saying of a fit; it goes into ``training_``."""
        return {}

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on texts, a list, array or Series, and one label a text.

        Of the (N,) weights, 2 counts as the text given twice, and zero leaves it out.
        """
        names = [f.name for f in fields(self.config_type)]  # type: ignore[arg-type]
        config = self.config_type(**{name: getattr(self, name) for name in names})
        check_integer("max_words", self.max_words, 1, self.max_words_limit)
        tokenizer = get_tokenizer(self.tokenizer)
        texts, _, targets, weights, classes = check_training(X, y, sample_weight)
        whole = [run_tokenizer(tokenizer, text) for text in texts]
        tokens = cut(whole, self.max_words)
        if not any(tokens):
            raise DataError(
                f"expected texts with words, got {len(tokens)} without any after the tokenizer "
                f"{tokenizer_name(tokenizer)}; check the texts or choose another tokenizer"
            )
        seed = seed_from(self.random_state, _MAX_SEED)
        examples = TokenExamples(tokens, targets, weights, len(classes))
        model = self._train(config, examples, seed)
        self.classes_ = classes
        self.config_ = config
        self.tokenizer_ = tokenizer
        self.max_words_ = self.max_words
        self.model_ = model
        self.training_ = {
            "n_texts": len(tokens),
            "cut": cut_of(whole, self.max_words, height=1)._asdict(),
            "seed": seed,
            **self._about(),
            "versions": {name: version(name) for name in self.libraries},
        }
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""
        self._check_fitted("call fit or load")
        tokens = tokenise(check_texts(X), self.tokenizer_, self.max_words_)
        if not tokens:
            return np.empty((0, len(self.classes_)))
        probabilities: np.ndarray = softmax(self.model_.scores(tokens))
        return probabilities

    @classmethod
    def _open(cls, folder: str | os.PathLike[str]) -> Opened[JsonConfig, Any]:
        schema = Schema(
            cls.system,
            lambda settings, n_classes: cls.config_type.from_dict(settings),
            cls.model_type.parse_vocabulary,
            cls.model_type.stored,
        )
        return read_model(folder, schema)

    def _to_saved(self) -> SavedModel:
        vocabulary, arrays = self.model_.parts()
        return SavedModel(
            self.system,
            self.config_.to_dict(),
            tokenizer_name(self.tokenizer_),
            self.max_words_,
            self.classes_,
            vocabulary,
            {name: array.astype(np.float32, copy=False) for name, array in arrays.items()},
            self.training_,
        )

    @classmethod
    def _from_opened(
        cls, opened: Opened[JsonConfig, Any], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        saved, config, vocabulary = opened
        clf = cls(
            **config.to_dict(),
            tokenizer=tokenizer or saved.tokenizer,
            max_words=saved.max_words,
            random_state=saved.training.get("seed", 0),
        )
        clf.config_ = config
        clf.tokenizer_ = tokenizer_of(saved, tokenizer)
        clf.max_words_ = saved.max_words
        clf.model_ = cls.model_type.from_parts(config, vocabulary, dict(saved.tensors))
        return clf

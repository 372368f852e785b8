"""What the systems without a network share: scikit-learn's contract over texts, and saving.

Texts and labels go in and are checked here; a system turns tokens into a model and a model turns
tokens into scores; labels and probabilities come out here.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import sklearn
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.extmath import softmax

from adasent.checks import JsonConfig, check_range
from adasent.errors import AdaSentWarning, ConfigError, DataError, ModelFormatError
from adasent.estimators.inputs import check_examples, example_weights
from adasent.estimators.seeds import seed_from
from adasent.saving.systems import SavedSystem, read_system, write_system
from adasent.text.encoder import check_texts, tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name

Tokens = list[list[str]]

#: Of scikit-learn, numpy and gensim alike.
_MAX_SEED = 2**32 - 1
#: Share of a class that has no weight at all: it keeps its column, at next to no probability.
_NO_SHARE = 1e-12


class Examples(NamedTuple):
    """Training texts as a system gets them."""

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
        """The vocabulary as a JSON list, and the arrays, float32, by name."""

    @classmethod
    @abstractmethod
    def from_parts(cls, config: Any, saved: SavedSystem) -> Self:
        """Inverse of :meth:`parts`; raises ``ModelFormatError`` if they do not fit."""


def as_saved(*arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rounded to what is saved, so that saving loses nothing; summed in double precision."""
    return tuple(array.astype(np.float32).astype(np.float64) for array in arrays)


@dataclass(frozen=True)
class Settings(JsonConfig):
    """Base of the configurations; each field is also a keyword of the estimator."""


def check_whole(name: str, value: object, low: int, high: float = float("inf")) -> None:
    """Raise ``ConfigError`` unless ``value`` is an integer in the range; 2.0 is none."""
    check_range(name, value, low, high, whole=True)
    if not isinstance(value, int):
        raise ConfigError(f"{name} must be an integer; got {value!r}")


class ShallowClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of the estimators. A subclass names its system and says how to train it.

    Parameters
    ----------
    tokenizer
        ``words``, ``kim`` or a callable from a string to a list of strings.
    max_words
        Longer texts are cut there, with a warning.
    random_state
        Seed of everything random.

    Attributes
    ----------
    classes_
        The labels, in the order of the columns of ``predict_proba``.
    model_
        What was learnt.
    training_
        How the model came about; it is saved with it.
    """

    system: ClassVar[str]
    config_type: ClassVar[type[Settings]]
    model_type: ClassVar[type[TextModel]]
    max_words_limit: ClassVar[float] = float("inf")

    def __init__(
        self,
        tokenizer: str | Tokenizer,
        max_words: int,
        random_state: int | np.random.RandomState | None,
    ) -> None:
        self.tokenizer = tokenizer
        self.max_words = max_words
        self.random_state = random_state

    @abstractmethod
    def _train(self, config: Any, examples: Examples, seed: int) -> TextModel:
        """Learn from checked examples, at least one of which has a token."""

    def _about(self) -> dict[str, Any]:
        """What else is worth saying of a fit; it goes into ``training_``."""
        return {}

    # -- fitting and prediction ----------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on texts and labels.

        Parameters
        ----------
        X
            Strings: list, array or Series.
        y
            One label a text: strings, integers, booleans.
        sample_weight
            (N,) weight of each text; 2 counts as the text given twice, zero leaves it out.
        """
        config = self.config_type(
            **{f.name: getattr(self, f.name) for f in fields(self.config_type)}
        )
        check_whole("max_words", self.max_words, 1, self.max_words_limit)
        tokenizer = get_tokenizer(self.tokenizer)
        texts, labels = check_examples(X, y)
        classes = np.unique(labels)
        if len(classes) == 1:
            warnings.warn(
                f"only one class, {labels.tolist()[0]!r}, in the labels; "
                "it will always be predicted",
                AdaSentWarning,
                stacklevel=2,
            )
        weights = example_weights(sample_weight, None, labels)
        used = np.flatnonzero(weights)
        tokens = tokenise([texts[i] for i in used], tokenizer, self.max_words)
        if not any(tokens):
            raise DataError(
                f"expected texts with words, got {len(tokens)} without any after the tokenizer "
                f"{tokenizer_name(tokenizer)}; check the texts or choose another tokenizer"
            )
        seed = seed_from(self.random_state, _MAX_SEED)
        targets = np.searchsorted(classes, labels[used])
        examples = Examples(tokens, targets, weights[used], len(classes))
        model = self._train(config, examples, seed)
        self.classes_ = classes
        self.config_ = config
        self.tokenizer_ = tokenizer
        self.max_words_ = self.max_words
        self.model_ = model
        self.training_ = {
            "n_texts": len(tokens),
            "seed": seed,
            **self._about(),
            "versions": {"numpy": np.__version__, "scikit-learn": sklearn.__version__},
        }
        return self

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each text, as the user gave it in ``fit``."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""
        self._check_fitted("call fit or load")
        tokens = tokenise(check_texts(X), self.tokenizer_, self.max_words_)
        if not tokens:
            return np.empty((0, len(self.classes_)))
        probabilities: np.ndarray = softmax(self.model_.scores(tokens))
        return probabilities

    def _check_fitted(self, remedy: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; {remedy}")

    # -- saving --------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder; see ``docs/systems.md``."""
        self._check_fitted("call fit before save")
        vocabulary, arrays = self.model_.parts()
        write_system(
            folder,
            SavedSystem(
                self.system,
                self.config_.to_dict(),
                tokenizer_name(self.tokenizer_),
                self.max_words_,
                self.classes_,
                vocabulary,
                arrays,
                self.training_,
            ),
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read a saved model.

        Parameters
        ----------
        tokenizer
            The callable the model was trained with, needed only if it was not a named one.
        """
        saved = read_system(folder, cls.system)
        if saved.tokenizer == "custom" and tokenizer is None:
            raise ConfigError(
                "the model was trained with a tokenizer of its own; pass it: "
                "load(folder, tokenizer=...)"
            )
        try:
            config = cls.config_type.from_dict(saved.settings)
            model = cls.model_type.from_parts(config, saved)
        except (ConfigError, ModelFormatError) as error:
            raise ModelFormatError(f"{Path(folder)}: {error}") from error
        clf = cls(
            **config.to_dict(),
            tokenizer=tokenizer or saved.tokenizer,
            max_words=saved.max_words,
            random_state=saved.training.get("seed", 0),
        )
        clf.classes_ = saved.classes
        clf.config_ = config
        clf.tokenizer_ = get_tokenizer(tokenizer or saved.tokenizer)
        clf.max_words_ = saved.max_words
        clf.model_ = model
        clf.training_ = saved.training
        return clf

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        return tags

"""What all estimators share: scikit-learn's contract over texts, checks of input, saving.

Networks have a base of their own in :mod:`adasent.estimators.neural`, systems that train in one go
in :mod:`adasent.estimators.one_go`.
"""

from __future__ import annotations

import os
import warnings
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.utils import check_random_state
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets

from adasent.checks import check_integer, check_range
from adasent.errors import AdaSentWarning, DataError
from adasent.saving.folder import TRAINING
from adasent.saving.model import SavedModel, naming, tokenizer_of, write_model
from adasent.text.encoder import check_texts
from adasent.text.tokenize import Tokenizer


class Labelled(NamedTuple):
    """Training texts that have a weight, checked."""

    texts: list[str]
    labels: np.ndarray  # (N,) as the user gave them
    targets: np.ndarray  # (N,) positions of the labels in classes
    weights: np.ndarray  # (N,) above 0
    classes: np.ndarray  # (C,) sorted, also those that occur in no text with a weight


class TextClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all estimators."""

    system: ClassVar[str]  # its name in adasent.estimators.registry.SYSTEMS
    classes_: np.ndarray  # the labels, in the order of the columns of ``predict_proba``
    training_: dict[str, Any]  # how the model came about; it is saved with it

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each text, as the user gave it in ``fit``."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, in place of a model that is there; see ``docs/format.md``.

        A save that fails or is killed leaves the old model as it was.
        """
        self._check_fitted("call fit before save")
        write_model(folder, self._to_saved())

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read a saved model; ``tokenizer`` is needed only if it was trained with a callable."""
        opened = cls._open(folder)
        tokenizer_of(opened.saved, tokenizer)  # refused before anything is built
        with naming(Path(folder) / TRAINING):
            check_integer("seed", opened.saved.training.get("seed", 0), 0)
        clf = cls._from_opened(opened, tokenizer, Path(folder))
        clf.classes_ = opened.saved.classes
        clf.training_ = opened.saved.training
        return clf

    @classmethod
    @abstractmethod
    def _open(cls, folder: str | os.PathLike[str]) -> Any:
        """Read the folder of a model of this system, checked."""

    @abstractmethod
    def _to_saved(self) -> SavedModel:
        """All that is written to a folder."""

    @classmethod
    @abstractmethod
    def _from_opened(cls, opened: Any, tokenizer: Tokenizer | None, folder: Path) -> Self:
        """Inverse of :meth:`_to_saved`, but for what every estimator has."""

    def _check_fitted(self, remedy: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; {remedy}")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.non_deterministic = False
        return tags


# -- what a user passes to fit -------------------------------------------------------------------


def check_training(X: Any, y: Any, sample_weight: Any, class_weight: Any = None) -> Labelled:
    """Texts, labels and weights of ``fit``, checked; texts without a weight are left out."""
    texts, labels = check_examples(X, y)
    classes = np.unique(labels)
    if len(classes) == 1:
        warnings.warn(
            f"only one class, {labels.tolist()[0]!r}, in the labels; it will always be predicted",
            AdaSentWarning,
            stacklevel=4,
        )
    weights = example_weights(sample_weight, class_weight, labels)
    used = np.flatnonzero(weights)
    labels = labels[used]
    targets = np.searchsorted(classes, labels)
    return Labelled([texts[i] for i in used], labels, targets, weights[used], classes)


def check_examples(X: Any, y: Any) -> tuple[list[str], np.ndarray]:
    """Texts and as many labels, or an error that says what is wrong with them."""
    texts = check_texts(X)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    labels = check_labels(y)
    if len(texts) != len(labels):
        raise DataError(f"expected as many labels as texts, got {len(labels)} and {len(texts)}")
    if not texts:
        raise DataError("expected at least one text, got none")
    check_classification_targets(labels)
    return texts, labels


def check_labels(y: Any) -> np.ndarray:
    """(N,) labels of one kind: strings, integers, booleans or whole floats.

    Refused are missing labels, mixed types (numpy would turn them all into strings), and kinds that
    a saved model cannot hold.
    """
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected",
            DataConversionWarning,
            stacklevel=4,
        )
        labels = y = labels.ravel()
    if labels.ndim != 1:
        raise DataError(f"expected one label a text, got an array of shape {labels.shape}")
    # Of a list, look at what the user wrote: numpy turns ["a", nan] into two strings.
    values = list(y) if isinstance(y, list | tuple) else labels.tolist()
    missing = [i for i, value in enumerate(values) if _is_missing(value)]
    if missing:
        raise DataError(
            f"{len(missing)} labels are missing (None, NaN or inf), the first at position "
            f"{missing[0]}; drop these rows"
        )
    kinds = {type(_plain(value)) for value in values}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"labels are of mixed types ({names}); make them all strings")
    if not kinds <= {str, int, bool, float}:
        raise DataError(
            f"labels must be strings, whole numbers or booleans, got {kinds.pop().__name__}; "
            "turn them into strings"
        )
    if labels.dtype == object:
        return np.array([_plain(v) for v in values], dtype=object if str in kinds else None)
    return labels


def _plain(value: Any) -> Any:
    """A numpy scalar as the Python value it stands for."""
    return value.item() if isinstance(value, np.generic) else value


def _is_missing(value: Any) -> bool:
    if isinstance(value, float):
        return not np.isfinite(value)
    # pandas marks missing values by objects of its own.
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def example_weights(sample_weight: Any, class_weight: Any, labels: np.ndarray) -> np.ndarray:
    """(N,) weight of each text in the loss: its own times that of its class."""
    weights = np.ones(len(labels))
    if sample_weight is not None:
        weights = np.array(sample_weight, dtype=np.float64)
        if weights.ndim == 0:
            weights = np.full(len(labels), float(weights))
        if weights.shape != labels.shape:
            raise DataError(
                f"expected {len(labels)} sample weights, got an array of shape {weights.shape}"
            )
    weights *= compute_sample_weight(class_weight, labels)
    if not np.isfinite(weights).all() or (weights < 0).any() or weights.sum() <= 0:
        raise DataError(
            "sample_weight times class_weight must be finite, not negative and not all zero"
        )
    return weights


def seed_from(random_state: int | np.random.RandomState | None, highest: int) -> int:
    """The seed itself if it is one, from 0 to ``highest``; else a draw from the generator."""
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        check_range("random_state", int(random_state), 0, highest, whole=True)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))

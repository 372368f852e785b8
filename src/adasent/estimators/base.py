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
from adasent.errors import AdaSentWarning, ConfigError, DataError
from adasent.estimators.confidence import choose_labels
from adasent.runtime.answers import Thresholds, exactly_right
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


class Targeted(NamedTuple):
    """Training texts that have a weight, each with a probability of every class, checked."""

    texts: list[str]
    # (N,) the label of each text, or its most probable class; of several labels a text the place of
    # the rarest, -1 without any.
    labels: np.ndarray
    targets: np.ndarray  # (N, A) float32 of the answers (adasent.nn.levels): one-hot for labels
    weights: np.ndarray  # (N,) above 0
    classes: np.ndarray  # (C,) sorted
    multilabel: bool = False  # whether a text may have several of the classes


class TextClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Base of all estimators."""

    system: ClassVar[str]  # its name in adasent.estimators.registry.SYSTEMS
    classes_: np.ndarray  # the labels, in the order of the columns of ``predict_proba``
    training_: dict[str, Any]  # how the model came about; it is saved with it
    thresholds_: np.ndarray | None = None  # (C,) of a model that gives a text several labels

    def predict(
        self,
        X: Any,
        thresholds: Thresholds | None = None,
        *,
        min_confidence: float | None = None,
    ) -> np.ndarray:
        """The most probable label of each text, as the user gave it in ``fit``.

        Where a text may have several labels: (N,) tuples, of all labels whose probability is at
        least their threshold, in the order of ``classes_``; an empty one if there is none.

        Parameters
        ----------
        thresholds
            In place of ``thresholds_``: one number, a mapping from label to number, or a number for
            each class.
        min_confidence
            Of a model that gives a text one label: None in place of labels that are less probable.
        """
        found = self.predict_proba(X)
        return choose_labels(found, self.classes_, self.thresholds_, thresholds, min_confidence)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The accuracy; where a text may have several labels, the subset accuracy.

        That is the share of the texts that have all their labels and no other.
        """
        if self.thresholds_ is None:
            return float(super().score(X, y, sample_weight))
        right = exactly_right(self.predict(X), y, self.classes_)
        return float(np.average(right, weights=sample_weight))

    @abstractmethod
    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; columns are in the order of ``classes_``.

        Rows sum to 1, unless a text may have several labels.
        """

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of ``predict_proba``; minus infinity for a probability of 0."""
        with np.errstate(divide="ignore"):
            logs: np.ndarray = np.log(self.predict_proba(X))
        return logs

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
        clf.thresholds_ = opened.saved.thresholds
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


def check_targets(
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any = None,
    class_weight: Any = None,
    *,
    several: bool = False,
) -> Targeted:
    """:func:`check_training` of labels, or, where ``classes`` are given, of soft labels.

    ``class_weight`` then goes by the most probable class of a text. A text may have several labels
    if each has a list of them, or if the matrix that comes with ``classes`` is of 0 and 1 and has
    rows that do not sum to 1; and if ``several`` says so, when the matrix may have any number from
    0 to 1.
    """
    from adasent.estimators import label_lists  # which stands on this module

    if several and classes is None:
        raise ConfigError("several=True is of a matrix of probabilities; give classes=... too")
    if classes is None and label_lists.are_lists(y):
        return label_lists.check_lists(X, y, sample_weight, class_weight)
    if classes is None:
        texts, labels, numbers, weights, found = check_training(X, y, sample_weight, class_weight)
        one_hot = np.eye(len(found), dtype=np.float32)
        return Targeted(texts, labels, one_hot[numbers], weights, found)
    texts = check_texts(X)
    given = check_labels(classes)
    order = np.argsort(given)
    if len(np.unique(given)) != len(given) or not len(given):
        raise DataError(f"classes: expected distinct labels, got {given.tolist()!r}")
    try:
        targets = np.asarray(y, dtype=np.float32)
    except (TypeError, ValueError):
        raise DataError("expected a matrix of probabilities beside classes=...") from None
    if targets.shape != (len(texts), len(given)) or not len(texts):
        raise DataError(
            f"expected probabilities of shape ({len(texts)}, {len(given)}), a row for each text "
            f"and a column for each class, at least one; got shape {targets.shape}"
        )
    if several:
        if not ((targets >= 0) & (targets <= 1)).all():
            raise DataError("expected probabilities from 0 to 1 of each class, got others")
        return label_lists.several(
            texts, targets[:, order], given[order], sample_weight, class_weight
        )
    sums = targets.sum(axis=1)
    if np.isin(targets, (0, 1)).all() and (sums != 1).any():
        there = targets[:, order] > 0
        return label_lists.several(texts, there, given[order], sample_weight, class_weight)
    wrong = np.flatnonzero(~((targets >= 0).all(axis=1) & (np.abs(sums - 1) < _SUM_MAY_BE_OFF)))
    if len(wrong):
        raise DataError(
            f"expected rows of probabilities that sum to 1, got {targets[wrong[0]].tolist()} at "
            f"position {wrong[0]}{f' and {len(wrong) - 1} more' if len(wrong) > 1 else ''}; "
            "several labels a text are lists of labels, or a matrix of 0 and 1 alone"
        )
    targets = (targets / sums[:, None])[:, order]
    labels = given[order][targets.argmax(axis=1)]
    weights = example_weights(sample_weight, class_weight, labels)
    used = np.flatnonzero(weights)
    return Targeted(
        [texts[i] for i in used], labels[used], targets[used], weights[used], given[order]
    )


#: What rounding may do to the sum of a row of probabilities, in half precision say.
_SUM_MAY_BE_OFF = 1e-2


def check_examples(X: Any, y: Any) -> tuple[list[str], np.ndarray]:
    """Texts and as many labels, or an error that says what is wrong with them."""
    texts = check_texts(X)
    if y is None:
        raise DataError("fit requires y to be passed, but the target y is None")
    if isinstance(y, list | tuple) and any(isinstance(v, list | tuple | set) for v in y):
        raise DataError(
            "expected one label a text, got lists of labels; AdaSent and the other networks take "
            "several labels a text, in training and validation part alike"
        )
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
        raise DataError(
            f"expected one label a text, got an array of shape {labels.shape}; a network takes "
            "probabilities, or 0 and 1 of several labels, if classes=... says what the columns "
            "stand for"
        )
    # Of a list, look at what the user wrote: numpy turns ["a", nan] into two strings.
    values = list(y) if isinstance(y, list | tuple) else labels.tolist()
    missing = [i for i, value in enumerate(values) if is_missing(value)]
    if missing:
        raise DataError(
            f"{len(missing)} labels are missing (None, NaN or inf), the first at position "
            f"{missing[0]}; drop these rows"
        )
    kinds = {type(_plain(value)) for value in values}
    if len(kinds) > 1:
        names = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise DataError(f"labels are of mixed types ({names}); make them all strings")
    if kinds == {str}:
        cut = [value for value in map(str, values) if value.endswith("\0")]
        if cut:  # numpy's strings end before it
            raise DataError(
                f"{len(cut)} labels end in a NUL character, such as {cut[0]!r}; take it away"
            )
    if kinds == {float} and any(not float(value).is_integer() for value in values):
        broken = next(value for value in values if not float(value).is_integer())
        raise DataError(
            f"Unknown label type: continuous. Labels must be strings, whole numbers or booleans, "
            f"got {broken!r}; turn numbers into classes, such as strings"
        )
    if kinds in ({int}, {float}):
        large = next((value for value in values if not -(2**63) <= value < 2**63), None)
        if large is not None:
            raise DataError(
                f"whole numbers as labels must fit into 64 bits, got {large}; turn them into "
                "strings"
            )
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


def is_missing(value: Any) -> bool:
    """Whether a label stands for none."""
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

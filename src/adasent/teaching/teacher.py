"""What a teacher can be -> an object whose probabilities are checked and in the labels' order.

A teacher is anything with ``predict_proba``; one that is not fitted yet is fitted. Several teachers
vote: the mean of their probabilities counts.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from adasent.data import grouped_folds
from adasent.data.splits import strata_of
from adasent.encoders.folder import find_encoder
from adasent.errors import ConfigError, DataError
from adasent.estimators.registry import SYSTEMS, describe, load_estimator, make
from adasent.estimators.thresholds import HALF
from adasent.saving.folder import has_model
from adasent.saving.model import system_of
from adasent.teaching.kinds import are_several, classes_of

#: Training texts at most by whose probabilities teachers are told apart.
N_PROBES = 256
_SUM_MAY_BE_OFF = 1e-2


class Teacher:
    """A fitted model that is asked for probabilities, and distrusted.

    Parameters
    ----------
    model
        Has ``predict_proba``. Its ``classes_`` must be the labels in any order; without them its
        columns are taken to be the sorted labels, as scikit-learn has them.
    classes
        (C,) the labels, sorted.
    several
        Whether a text may have several of them: then each has a probability by itself.
    """

    def __init__(self, model: Any, classes: np.ndarray, *, several: bool = False) -> None:
        if not callable(getattr(model, "predict_proba", None)):
            raise ConfigError(
                f"a teacher must have predict_proba; {type(model).__name__} has none: give another "
                "model, or one that is calibrated"
            )
        own = getattr(model, "thresholds_", None)
        if own is not None and not several:
            raise ConfigError("a teacher must give a text one label; this model gives it several")
        if several and own is None and hasattr(model, "thresholds_"):
            raise ConfigError("a teacher must give a text several labels; this model gives it one")
        self.model = model
        self.several = several
        self.classes_ = classes
        self._digests: dict[tuple[str, ...], str] = {}
        self._order: np.ndarray | None = None
        theirs = getattr(model, "classes_", None)
        if theirs is not None:
            found = np.asarray(theirs).tolist()
            position = {label: i for i, label in enumerate(found)}
            if position.keys() != set(classes.tolist()):
                raise DataError(
                    f"the teacher's labels are {_listed(found)}, those of the texts "
                    f"{_listed(classes.tolist())}; give a teacher that was trained on these labels"
                )
            self._order = np.array([position[label] for label in classes.tolist()])
        # (C,) from which probability on a text has a label; a half where the model has no own.
        self.thresholds = np.full(len(classes), HALF) if own is None else np.asarray(own)
        if self._order is not None:
            self.thresholds = self.thresholds[self._order]

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """(N, C) float32 probabilities, columns in the order of the labels.

        Rows sum to 1 unless a text may have several labels.
        """
        shape = len(texts), len(self.classes_)
        if not texts:
            return np.empty(shape, dtype=np.float32)
        found = np.asarray(self.model.predict_proba(list(texts)), dtype=np.float32)
        if found.shape != shape:
            raise DataError(
                f"expected probabilities of shape {shape} from the teacher, a row for each text "
                f"and a column for each label, got {found.shape}"
            )
        if self.several:
            if not ((found >= 0) & (found <= 1)).all():
                raise DataError(
                    "expected probabilities from 0 to 1 from the teacher, got others; scores and "
                    "logits are no probabilities"
                )
            return found if self._order is None else found[:, self._order]
        sums = found.sum(axis=1)
        if not ((found >= 0).all() and (np.abs(sums - 1) <= _SUM_MAY_BE_OFF).all()):
            raise DataError(
                "expected rows of probabilities that sum to 1 from the teacher, got others; "
                "scores and logits are no probabilities"
            )
        if self._order is not None:
            found = found[:, self._order]
        proba: np.ndarray = found / sums[:, None]
        return proba

    def digest(self, probes: Sequence[str]) -> str:
        """Equal for teachers that say the same of some texts, to three digits.

        An object of any kind cannot be hashed, what it says can; and a model that was saved and
        loaded stays the same teacher.
        """
        asked = tuple(probes[:N_PROBES])
        if asked not in self._digests:
            said = np.rint(self.predict_proba(asked) * 1000).astype(np.int16)
            head = json.dumps([list(map(str, self.classes_.tolist())), said.shape])
            self._digests[asked] = hashlib.sha256(head.encode() + said.tobytes()).hexdigest()
        return self._digests[asked]


class FoldTeacher:
    """Fits of one model, each without a fold of the training texts; they vote.

    Of a training text ``training_proba_`` has what the fit said that had not seen it: a model that
    has learnt its texts by heart tells nothing of them but their labels.
    """

    def __init__(
        self,
        members: Sequence[Any],
        classes: np.ndarray,
        proba: np.ndarray,
        *,
        several: bool = False,
    ) -> None:
        self.members = list(members)
        self.classes_ = classes
        own = [Teacher(member, classes, several=several).thresholds for member in self.members]
        self.thresholds_ = np.mean(own, axis=0) if several else None
        self.training_proba_ = proba  # (N, C)

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        """(N, C) mean of what the fits say."""
        several = self.thresholds_ is not None
        said = [
            Teacher(member, self.classes_, several=several).predict_proba(texts)
            for member in self.members
        ]
        return np.asarray(np.mean(said, axis=0))


def fit_folds(
    model: Any,
    texts: Sequence[str],
    labels: Sequence[Any],
    *,
    n_folds: int,
    seed: int,
    folder: Path | None = None,
) -> FoldTeacher:
    """Fit a model once without each fold.

    Parameters
    ----------
    folder
        Where finished fits are kept, and found by a run that goes on; see :func:`fit_or_load`.
    """
    classes, several = classes_of(labels), are_several(labels)
    proba = np.zeros((len(texts), len(classes)), dtype=np.float32)
    members = []
    for fold in grouped_folds(texts, strata_of(labels), n_folds, seed):
        own = [texts[i] for i in fold.train], [labels[i] for i in fold.train]
        place = None if folder is None else folder / str(fold.index)
        members.append(fit_or_load(model, *own, folder=place))
        unseen = [texts[i] for i in fold.test]
        proba[fold.test] = Teacher(members[-1], classes, several=several).predict_proba(unseen)
    return FoldTeacher(members, classes, proba, several=several)


def fit_or_load(
    model: Any, texts: Sequence[str], labels: Sequence[Any], *, folder: Path | None = None
) -> Any:
    """A fit of a copy of the model; with a folder it is kept there, and read if it is there.

    Only models that can ``save`` are kept. The folder is the caller's to name so that a model of
    other texts or settings is never found in it.
    """
    keeps = folder is not None and hasattr(model, "save") and hasattr(model, "system")
    if keeps and folder is not None and has_model(folder):
        return load_estimator(folder)
    fresh = clone(model)
    if keeps and folder is not None and "checkpoint" in fresh.get_params(deep=False):
        fresh.set_params(checkpoint=folder.with_name(f"{folder.name}-training"))
    fresh.fit(list(texts), list(labels))
    if keeps:
        fresh.save(folder)
    return fresh


def is_fitted(model: Any) -> bool:
    """Whether a teacher can be asked as it is; one without ``fit`` always can."""
    if not hasattr(model, "fit"):
        return True
    try:
        check_is_fitted(model)
    except NotFittedError:
        return False
    except TypeError:  # no estimator of scikit-learn, and so for its author to have fitted
        return True
    return True


def find_teacher(source: str | os.PathLike[str], **settings: Any) -> Any:
    """The teacher that a command names.

    Parameters
    ----------
    source
        The folder of a saved model of any system; the name of a system, which is yet to be fitted;
        or the name or folder of an encoder, to be fine-tuned.
    settings
        For a model that is yet to be fitted, those of them that it knows.
    """
    if system_of(source) in SYSTEMS:
        return load_estimator(source)
    # What a student is told is softened by its own temperature, which was chosen without another.
    settings = {"calibrate": False} | settings
    if str(source) in SYSTEMS:
        keywords = {*make(str(source)).get_params(deep=False)}
        if not describe(str(source)).vectors:
            keywords.discard("vectors")
        return make(str(source), **{k: v for k, v in settings.items() if k in keywords})
    settings.pop("vectors", None)
    try:
        find_encoder(source)  # before the work that needs it
    except ConfigError as error:
        raise ConfigError(
            f"teacher {str(source)!r}: expected the folder of a saved model, the name of a system "
            f"({', '.join(SYSTEMS)}) or an encoder; {error}"
        ) from error
    from adasent.estimators.adasent import AdaSentClassifier

    return AdaSentClassifier(encoder=str(source), tune_encoder=True, **settings)


def _listed(labels: Sequence[Any]) -> str:
    shown = ", ".join(map(repr, labels[:6]))
    return f"{shown}, ..." if len(labels) > 6 else shown

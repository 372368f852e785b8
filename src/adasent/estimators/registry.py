"""The systems, each stated once: what there is to train and compare, and how to get at it.

Whoever lists systems, checks options, documents them or runs the reproduction reads this table. It
imports none of them: each needs packages of its own.
"""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from adasent.errors import ConfigError, nearest, require
from adasent.estimators.starter import find_model
from adasent.training.config import TuningConfig

if TYPE_CHECKING:
    from adasent.text.tokenize import Tokenizer

_NETWORK = (("torch", "train"), ("sklearn", "train"))
_COUNTS = (("sklearn", "train"),)
_PARAGRAPHS = (("sklearn", "train"), ("gensim", "vectors"))


@dataclass(frozen=True)
class SystemEntry:
    """Everything there is to say of a system."""

    name: str  # what ``--system`` and ``make`` take
    title: str  # in the paper's tables
    summary: str
    paper: str  # where it comes from
    # The class: an estimator or, in ``adasent.systems``, a network, of which
    # ``adasent.estimators.rivals`` makes one.
    module: str
    attribute: str
    # Packages that must be there, each with the extra of ``adasent`` that brings it.
    needs: tuple[tuple[str, str], ...] = _NETWORK
    vectors: bool = True  # whether it reads word vectors
    trees: bool = False  # whether it composes along parse trees
    # Whether it is trained by epochs, with validation, progress and checkpoints; the others train
    # in one go.
    by_epochs: bool = True

    @property
    def extras(self) -> str:
        """The extras of ``adasent`` that it needs, with commas between."""
        return ",".join(dict.fromkeys(extra for _, extra in self.needs))

    @property
    def encoders(self) -> bool:
        """Whether it can stand on an encoder in place of word vectors."""
        return self.vectors and not self.trees

    @property
    def is_network(self) -> bool:
        """Whether the class is a network without an estimator of its own."""
        return self.module.startswith("adasent.systems.")


_ENTRIES = (
    SystemEntry(
        "adasent",
        "AdaSent",
        "consensus over a pyramid of phrases",
        "Zhao et al. 2015",
        "adasent.estimators.adasent",
        "AdaSentClassifier",
    ),
    SystemEntry(
        "mnb",
        "MNB",
        "naive Bayes over words and pairs",
        "Wang & Manning 2012",
        "adasent.estimators.counts",
        "MNBClassifier",
        needs=_COUNTS,
        vectors=False,
        by_epochs=False,
    ),
    SystemEntry(
        "nbsvm",
        "NB-SVM",
        "SVM on naive Bayes' ratios",
        "Wang & Manning 2012",
        "adasent.estimators.counts",
        "NBSVMClassifier",
        needs=_COUNTS,
        vectors=False,
        by_epochs=False,
    ),
    SystemEntry(
        "paragraph-vector",
        "P.V.",
        "learnt vectors of whole texts",
        "Le & Mikolov 2014",
        "adasent.estimators.paragraph_vector",
        "ParagraphVectorClassifier",
        needs=_PARAGRAPHS,
        vectors=False,
        by_epochs=False,
    ),
    SystemEntry(
        "cbow", "cBoW", "pooled word vectors", "Zhao et al. 2015", "adasent.systems.cbow", "CBow"
    ),
    SystemEntry("rnn", "RNN", "recurrent, last state", "Elman 1990", "adasent.systems.rnn", "Rnn"),
    SystemEntry(
        "brnn",
        "BRNN",
        "recurrent both ways, max over words",
        "Lai et al. 2015",
        "adasent.systems.rnn",
        "BRnn",
    ),
    SystemEntry(
        "grconv",
        "GrConv",
        "top of the pyramid",
        "Cho et al. 2014",
        "adasent.systems.grconv",
        "GrConv",
    ),
    SystemEntry(
        "cnn", "CNN", "windows of words, max over time", "Kim 2014", "adasent.systems.cnn", "Cnn"
    ),
    SystemEntry(
        "dcnn",
        "DCNN",
        "wide convolution, k-max pooling",
        "Kalchbrenner et al. 2014",
        "adasent.systems.dcnn",
        "Dcnn",
    ),
    SystemEntry(
        "rae", "RAE", "recursive autoencoder", "Socher et al. 2011", "adasent.systems.rae", "Rae"
    ),
    SystemEntry(
        "mv-recnn",
        "MV-RecNN",
        "vectors and matrices along a parse",
        "Socher et al. 2012",
        "adasent.systems.mvrnn",
        "MvRecNN",
        trees=True,
    ),
)
SYSTEMS: dict[str, SystemEntry] = {entry.name: entry for entry in _ENTRIES}

#: Keywords that mean something to a network that stands on an encoder, and to no other.
ENCODER_SETTINGS = (
    "encoder",
    "tune_encoder",
    "save_encoder",
    *(setting.name for setting in fields(TuningConfig)),
)

#: Keywords of estimators that say what is read, by which seed and how fast, not what is computed.
HOW_IT_RUNS = frozenset(
    {
        "vectors",
        "tokenizer",
        "parser",
        "treebank",
        "unlabelled",
        "random_state",
        "n_jobs",
        "device",
        "verbose",
        "checkpoint",
        "warm_start",
        "validation_fraction",
        "keep_examples",
    }
)
_NOT_SETTINGS = HOW_IT_RUNS.union(ENCODER_SETTINGS)


def describe(system: str) -> SystemEntry:
    """The entry of a system."""
    if system not in SYSTEMS:
        raise ConfigError(f"unknown system {system!r}{nearest(system, SYSTEMS)}")
    return SYSTEMS[system]


def find(system: str) -> Any:
    """The estimator class of a system."""
    entry = describe(system)
    for package, extra in entry.needs:
        require(package, extra, f"the system {system}")
    if entry.is_network:
        from adasent.estimators.rivals import estimator_of

        return estimator_of(entry)
    return getattr(importlib.import_module(entry.module), entry.attribute)


def make(system: str, **settings: Any) -> Any:
    """An estimator of a system, not fitted."""
    return find(system)(**settings)


def defaults(system: str) -> dict[str, Any]:
    """The settings of a system when none is given; not its inputs, its seed or how it runs."""
    found: dict[str, Any] = find(system)().get_params(deep=False)
    return {name: value for name, value in found.items() if name not in _NOT_SETTINGS}


def saved_system(folder: str | os.PathLike[str]) -> str:
    """The system of a saved model; of a folder that names none, AdaSent, whose reader says why."""
    from adasent.saving.model import system_of  # which needs numpy

    system = system_of(find_model(folder))
    return system if system in SYSTEMS else "adasent"


def load_estimator(folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Any:
    """The saved model of any system as its estimator; see :func:`load`."""
    return find(saved_system(folder)).load(find_model(folder), tokenizer=tokenizer)


def load(folder: str | os.PathLike[str], tokenizer: Tokenizer | None = None) -> Any:
    """Read a saved model of any system for prediction.

    Parameters
    ----------
    folder
        What ``save`` of an estimator or ``adasent train`` wrote. ``starter`` is the model that
        comes with the package, unless there is a folder of that name.
    tokenizer
        The callable the model was trained with, needed only if it was not a named one.

    Returns
    -------
    What has ``predict``, ``predict_proba``, ``score`` and ``classes_``: for AdaSent a
    :class:`~adasent.estimators.predictor.Predictor`, which needs numpy alone; for the others the
    estimator.

    Raises
    ------
    ModelFormatError
        If the folder is not a whole and valid model.
    MissingDependencyError
        If the system needs a package that is not installed; the message names the extra.
    """
    if saved_system(folder) == "adasent":
        from adasent.estimators.predictor import load as load_predictor

        return load_predictor(find_model(folder), tokenizer)
    return load_estimator(folder, tokenizer)

"""Names of the twelve systems of the paper's Table 2 -> estimators with the same interface."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

from adasent.errors import ConfigError, ModelFormatError, nearest, require

#: Name -> (module, class). Imported when asked for: each needs its own packages.
SYSTEMS: dict[str, tuple[str, str]] = {
    "adasent": ("adasent.estimators.adasent", "AdaSentClassifier"),
    "mnb": ("adasent.estimators.counts", "MNBClassifier"),
    "nbsvm": ("adasent.estimators.counts", "NBSVMClassifier"),
    "paragraph-vector": ("adasent.estimators.paragraph_vector", "ParagraphVectorClassifier"),
    "cbow": ("adasent.estimators.rivals", "CBowClassifier"),
    "rnn": ("adasent.estimators.rivals", "RnnClassifier"),
    "brnn": ("adasent.estimators.rivals", "BRnnClassifier"),
    "grconv": ("adasent.estimators.rivals", "GrConvClassifier"),
    "cnn": ("adasent.estimators.rivals", "CnnClassifier"),
    "dcnn": ("adasent.estimators.rivals", "DcnnClassifier"),
    "rae": ("adasent.estimators.rivals", "RaeClassifier"),
    "mv-recnn": ("adasent.estimators.rivals", "MvRecNNClassifier"),
}

#: Keywords of estimators that say what is read, by which seed and how fast, not what is computed.
_NOT_SETTINGS = {
    "vectors",
    "tokenizer",
    "parser",
    "treebank",
    "unlabelled",
    "random_state",
    "n_jobs",
    "verbose",
    "checkpoint",
    "validation_fraction",
}


def find(system: str) -> Any:
    """The estimator class of a system."""
    if system not in SYSTEMS:
        raise ConfigError(f"unknown system {system!r}{nearest(system, SYSTEMS)}")
    module, name = SYSTEMS[system]
    counts_words = module in ("adasent.estimators.counts", "adasent.estimators.paragraph_vector")
    for package in ("sklearn",) if counts_words else ("torch", "sklearn"):
        require(package, "train", f"the system {system}")
    return getattr(importlib.import_module(module), name)


def make(system: str, **settings: Any) -> Any:
    """An estimator of a system, not fitted."""
    return find(system)(**settings)


def defaults(system: str) -> dict[str, Any]:
    """The settings of a system when none is given; not its inputs, its seed or how it runs."""
    found: dict[str, Any] = find(system)().get_params(deep=False)
    return {name: value for name, value in found.items() if name not in _NOT_SETTINGS}


def load_system(folder: str | os.PathLike[str], **options: Any) -> Any:
    """The saved model of any system as its estimator."""
    path = Path(folder) / "config.json"
    try:
        header = json.loads(path.read_bytes())
        system = header["system"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelFormatError(f"{path}: expected the configuration of a model: {error}") from error
    return find(str(system)).load(folder, **options)

"""The name of a figure in; its data out, computed from models that are trained where missing."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from adasent.data import describe
from adasent.errors import AdaSentWarning, DataError
from adasent.estimators.predictor import Predictor, load
from reproduction.figures import (
    PHRASES,
    belief_rows,
    composition_phrase,
    example,
    find_example,
    most_believed,
    pca_panel,
    pooled_words,
)
from reproduction.paper import paper, paper_sets
from reproduction.run import Make, registry_make
from reproduction.specs import Unit
from reproduction.tasks import Task, Tasks

#: Words of a phrase that is taken apart: more parts than 36 cannot be read off a picture.
MAX_PHRASE = 8


class Models:
    """AdaSent of each set, default setting, trained on one training part and kept in a folder.

    The fold that is left out is the first; of MR, the one with the sentence of the paper's figure.

    Parameters
    ----------
    folder
        Holds a saved model for each set and way to make it; those that are not there are trained.
    make
        From the name of a system and settings to an estimator; None takes the registry's.
    """

    def __init__(self, tasks: Tasks, folder: Path, make: Make | None = None) -> None:
        self.tasks = tasks
        self.folder = folder
        self._make = registry_make if make is None else make
        self._loaded: dict[str, Predictor] = {}

    def predictor(self, data: str) -> Predictor:
        """The model of a set."""
        if data not in self._loaded:
            # Named by how it is made, so that one of another recipe is not taken for it.
            key = self.task("adasent", data).key
            path = self.folder / f"{data}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
            if not path.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / ".gitignore").write_text("*\n")  # megabytes, and made again at will
                self.fitted("adasent", data).save(path)
            self._loaded[data] = load(path)
        return self._loaded[data]

    def facts(self, data: str) -> dict[str, Any]:
        """Which model it is, and how good on the fold that was left out."""
        task, predictor = self.task("adasent", data), self.predictor(data)
        texts, labels = task.part(task.test)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"of \d+ texts", AdaSentWarning)  # the audit says it
            predicted = predictor.predict(texts)
        return {
            "data": data,
            "fold": task.unit.fold,
            "n_folds": task.unit.n_folds,
            "n_test": len(texts),
            "accuracy": float(np.mean(predicted == np.asarray(labels))),
            "settings": task.settings[0],
            "vectors": [source["name"] for source in task.spec.get("vectors", [])],
        }

    def fitted(self, system: str, data: str) -> Any:
        """A system trained on the same part of the set."""
        task = self.task(system, data)
        estimator: Any = self._make(system, **(task.common | task.settings[0]))
        return estimator.fit(*task.part(task.train), validation=task.part(task.dev))

    def task(self, system: str, data: str) -> Task:
        """The parts of the set, and what the system is made with."""
        folds = self.tasks.folds(data, "random")
        fold = 0
        if data == paper()["figures"]["example"]["set"]:
            position = find_example(self.tasks.corpus(data))
            fold = next(f.index for f in folds if position in f.test)
        name = describe(data).name
        return self.tasks.task(Unit("table2", system, name, "random", fold, len(folds), seed=0))


def compute_figure(name: str, models: Models, phrases: Sequence[str] = ()) -> dict[str, Any]:
    """The data of a figure, ready for JSON.

    Parameters
    ----------
    phrases
        Of fig-composition, in place of :data:`PHRASES`.
    """
    sets = _SETS[name]()
    found = (
        compute_composition(models.predictor(sets[0]), phrases)
        if phrases
        else _COMPUTE[name](models, sets)
    )
    return {"figure": name, "models": [models.facts(data) for data in sets]} | found


def compute_composition(predictor: Predictor, phrases: Sequence[str]) -> dict[str, Any]:
    """The data of fig-composition for any phrases and model.

    Raises
    ------
    DataError
        If a phrase has no word or more than 8.
    """
    for phrase in phrases:
        n_words = len(predictor.encoder.tokenizer(phrase))
        if not 1 <= n_words <= MAX_PHRASE:
            raise DataError(
                f"expected a phrase of 1 to {MAX_PHRASE} words, got {n_words} in {phrase!r}"
            )
    return {"phrases": [composition_phrase(predictor, phrase) for phrase in phrases]}


def _belief(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    rows = []
    for data in sets:
        task = models.task("adasent", data)
        rows += belief_rows(data, models.predictor(data), task.corpus, task.test)
    return {"rows": rows}


def _example(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    (data,) = sets
    corpus = models.tasks.corpus(data)
    position = find_example(corpus)
    text, label = corpus.texts[position], corpus.labels[position]
    return example(models.predictor(data), text, label, positive="positive")


def _pca(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    panels = []
    for data in sets:
        task = models.task("adasent", data)
        texts, labels = task.corpus.texts, task.corpus.labels
        features = {
            "AdaSent": most_believed(models.predictor(data), texts),
            "cBoW": pooled_words(models.fitted("cbow", data), texts),
        }
        panels += [pca_panel(data, name, x, labels, task.test) for name, x in features.items()]
    return {"panels": panels}


def _composition(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    (data,) = sets
    return compute_composition(models.predictor(data), PHRASES)


def _example_set() -> tuple[str, ...]:
    return (paper()["figures"]["example"]["set"],)


_COMPUTE: dict[str, Callable[[Models, Sequence[str]], dict[str, Any]]] = {
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}
#: Whose models a figure needs.
_SETS: dict[str, Callable[[], Sequence[str]]] = {
    "fig-belief": paper_sets,
    "fig-example": _example_set,
    "fig-pca": lambda: paper()["figures"]["pca"]["sets"],
    "fig-composition": _example_set,
}

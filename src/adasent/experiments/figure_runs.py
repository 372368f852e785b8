"""The name of a figure in; its data out, computed from models that are trained where missing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from adasent.data import describe
from adasent.experiments.figures import (
    PHRASES,
    belief_rows,
    composition_phrase,
    example,
    find_example,
    most_believed,
    pca_panel,
    pooled_words,
)
from adasent.experiments.paper import paper, paper_sets
from adasent.experiments.run import Make, registry_make
from adasent.experiments.specs import Unit
from adasent.experiments.tasks import Task, Tasks
from adasent.runtime.predictor import Predictor, load


class Models:
    """AdaSent of each set, default setting, trained on one training part and kept in a folder.

    The fold that is left out is the first; of MR, the one with the sentence of the paper's figure.

    Parameters
    ----------
    folder
        Holds a saved model for each set, by its name; those that are not there are trained.
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
            path = self.folder / data
            if not path.exists():
                self.fitted("adasent", data).save(path)
            self._loaded[data] = load(path)
        return self._loaded[data]

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


def compute_figure(name: str, models: Models) -> dict[str, Any]:
    """The data of a figure, ready for JSON."""
    return {"figure": name} | _COMPUTE[name](models)


def _belief(models: Models) -> dict[str, Any]:
    rows = []
    for data in paper_sets():
        task = models.task("adasent", data)
        rows += belief_rows(data, models.predictor(data), task.corpus, task.test)
    return {"rows": rows}


def _example(models: Models) -> dict[str, Any]:
    data = paper()["figures"]["example"]["set"]
    corpus = models.tasks.corpus(data)
    position = find_example(corpus)
    text, label = corpus.texts[position], corpus.labels[position]
    return example(models.predictor(data), text, label, positive="positive")


def _pca(models: Models) -> dict[str, Any]:
    panels = []
    for data in paper()["figures"]["pca"]["sets"]:
        corpus = models.tasks.corpus(data)
        features = {
            "AdaSent": most_believed(models.predictor(data), corpus.texts),
            "cBoW": pooled_words(models.fitted("cbow", data), corpus.texts),
        }
        panels += [pca_panel(data, name, x, corpus.labels) for name, x in features.items()]
    return {"panels": panels}


def _composition(models: Models) -> dict[str, Any]:
    predictor = models.predictor(paper()["figures"]["example"]["set"])
    return {"phrases": [composition_phrase(predictor, phrase) for phrase in PHRASES]}


_COMPUTE: dict[str, Callable[[Models], dict[str, Any]]] = {
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}

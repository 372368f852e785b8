"""Computes figures by name, from models that are trained where they are missing."""

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
from adasent.evaluation.jobs import Job
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
from reproduction.jobs import Jobs
from reproduction.paper import paper, paper_sets
from reproduction.specs import PlannedRun

#: Words of a phrase that is taken apart: more parts than 36 cannot be read off a picture.
MAX_PHRASE = 8


class Models:
    """AdaSent of each set, default setting, trained on one training part and kept in a folder.

    The fold that is left out is the first; of MR, the one with the sentence of the paper's figure.

    Parameters
    ----------
    folder
        Holds a saved model for each set and way to make it; those that are not there are trained.
    """

    def __init__(self, jobs: Jobs, folder: Path) -> None:
        self.jobs = jobs
        self.folder = folder
        self._loaded: dict[str, Predictor] = {}

    def predictor(self, data: str) -> Predictor:
        """The model of a set."""
        if data not in self._loaded:
            # Named by how it is made, so that one of another recipe is not taken for it.
            key = self.job("adasent", data).key
            path = self.folder / f"{data}-{hashlib.sha256(key.encode()).hexdigest()[:12]}"
            if not path.exists():
                self.folder.mkdir(parents=True, exist_ok=True)
                (self.folder / ".gitignore").write_text("*\n")  # megabytes, and made again at will
                self.fitted("adasent", data).save(path)
            self._loaded[data] = load(path)
        return self._loaded[data]

    def facts(self, data: str) -> dict[str, Any]:
        """Which model it is, and how good on the fold that was left out."""
        job, predictor = self.job("adasent", data), self.predictor(data)
        texts, labels = job.part(job.test)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", r"of \d+ text", AdaSentWarning)  # the audit says it
            predicted = predictor.predict(texts)
        return {
            "data": data,
            "fold": job.fold,
            "n_folds": job.n_folds,
            "n_test": len(texts),
            "accuracy": float(np.mean(predicted == np.asarray(labels))),
            "settings": job.settings[0],
            "vectors": [source["name"] for source in job.spec.get("vectors", [])],
        }

    def fitted(self, system: str, data: str) -> Any:
        """A system trained on the same part of the set."""
        job = self.job(system, data)
        assert job.dev is not None
        estimator = job.estimator(job.settings[0])
        return estimator.fit(*job.part(job.train), validation=job.part(job.dev))

    def job(self, system: str, data: str) -> Job:
        """The parts of the set, and what the system is made with."""
        folds = self.jobs.folds(data, "random")
        fold = 0
        if data == paper()["figures"]["example"]["set"]:
            position = find_example(self.jobs.corpus(data))
            fold = next(f.index for f in folds if position in f.test)
        name = describe(data).name
        return self.jobs.job(PlannedRun("table2", system, name, "random", fold, len(folds), seed=0))


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
        job = models.job("adasent", data)
        rows += belief_rows(data, models.predictor(data), job.corpus, job.test)
    return {"rows": rows}


def _example(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    (data,) = sets
    corpus = models.jobs.corpus(data)
    position = find_example(corpus)
    text, label = corpus.texts[position], corpus.labels[position]
    return example(models.predictor(data), text, label, positive="positive")


def _pca(models: Models, sets: Sequence[str]) -> dict[str, Any]:
    panels = []
    for data in sets:
        job = models.job("adasent", data)
        texts, labels = job.corpus.texts, job.corpus.labels
        features = {
            "AdaSent": most_believed(models.predictor(data), texts),
            "cBoW": pooled_words(models.fitted("cbow", data), texts),
        }
        panels += [pca_panel(data, name, x, labels, job.test) for name, x in features.items()]
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

"""A toy corpus, systems that need no training, and made-up records, for the experiments' tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from adasent.data import Corpus
from adasent.evaluation.jobs import Job
from adasent.evaluation.records import FoldRecord

#: The paper's sets and their kind of split.
NAMES = {"MR": "cv", "CR": "cv", "SUBJ": "cv", "MPQA": "cv", "TREC": "official"}


def toy_corpus(name: str) -> Corpus:
    """60 texts of two words; the first word tells the label, but one text in twelve is mislabelled.

    Of an official split the last twelve are the test part; one of them stands in training too.
    """
    texts = [f"{'good' if i % 2 else 'bad'} film{i}" for i in range(60)]
    texts[59] = texts[1]
    labels = ["pos" if i % 2 else "neg" for i in range(60)]
    for i in range(0, 60, 12):
        labels[i] = "pos"
    test = np.arange(48, 60) if NAMES.get(name) == "official" else None
    return Corpus(name, texts, list(labels), f"{len(name):064d}", test=test)


class Rule:
    """Knows the rule; at rate 2 it follows it, at others it gets two texts of every four wrong."""

    def __init__(self, rate: int = 0, **common: Any) -> None:
        self.rate, self.common = rate, common
        self.fitted_on: list[list[str]] = []

    def fit(self, X: list[str], y: list[Any]) -> Rule:
        self.fitted_on.append(list(X))
        return self

    def predict(self, X: list[str]) -> np.ndarray:
        right = ["pos" if text.startswith("good") else "neg" for text in X]
        if self.rate != 2:
            other = {"pos": "neg", "neg": "pos"}
            right = [other[label] if i % 4 < 2 else label for i, label in enumerate(right)]
        return np.array(right)


class EarlyRule(Rule):
    """The same, but it looks at a validation part."""

    def fit(self, X: list[str], y: list[Any], validation: Any = None) -> EarlyRule:
        assert validation is not None
        self.validation = validation
        super().fit(X, y)
        self.history_ = [
            {"epoch": 0, "train_loss": 0.123456789, "valid_loss": 0.5, "gradient_norm": 1.0}
        ]
        return self


def toy_job(make: Any, fold: int = 0, **changes: Any) -> Job:
    """The texts in five parts: one is tested, another chooses between two rates."""
    parts = np.arange(60).reshape(5, 12)
    train = np.concatenate([parts[(fold + i) % 5] for i in (2, 3, 4)])
    values: dict[str, Any] = {
        "settings": [{"rate": 1}, {"rate": 2}],
        "spec": {"table": "t", "system": "rule"},
        "seed": 3,
    } | changes
    return Job(
        system="rule",
        corpus=toy_corpus("MR"),
        train=train,
        dev=parts[(fold + 1) % 5],
        test=parts[fold],
        make=make,
        rule="random",
        n_folds=5,
        fold=fold,
        **values,
    )


def made_up(
    system: str,
    data: str,
    correct: Any,
    *,
    table: str = "table2",
    rule: str = "random",
    fold: int = 0,
    n_folds: int = 2,
    seed: int = 0,
    **spec: Any,
) -> FoldRecord:
    """A record whose answers are right where ``correct`` says so."""
    right = [bool(one) for one in correct]
    return FoldRecord(
        spec={"table": table, "system": system, **spec},
        seed=seed,
        rule=rule,
        n_folds=n_folds,
        fold=fold,
        data=data,
        sha256="00",
        versions={},
        device="cpu",
        seconds=1.0,
        best_epoch=0,
        history=[],
        n_train=1,
        n_valid=1,
        n_test=len(right),
        accuracy=sum(right) / len(right),
        classes=["a", "b"],
        test=list(range(fold * len(right), (fold + 1) * len(right))),
        true=[0] * len(right),
        predicted=[0 if one else 1 for one in right],
        tried=[],
        chosen=0,
    )

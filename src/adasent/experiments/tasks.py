"""Units in; the texts, parts, settings and vectors that they need, out, each loaded once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from adasent.data import (
    Corpus,
    Fold,
    held_out,
    load,
    official_split,
)
from adasent.data.corpus import Indices, Label, take
from adasent.data.derived import vector_digest, vector_file
from adasent.evaluation.crossval import make_folds
from adasent.evaluation.records import record_key
from adasent.experiments.specs import Experiments, Setting, Unit, experiments
from adasent.text.tokenize import get_tokenizer
from adasent.text.vectors import WordVectors, read_vectors


@dataclass(frozen=True, eq=False)
class Task:
    """A unit with everything it needs.

    Attributes
    ----------
    train, dev, test
        Positions in the corpus: what sets the weights, what chooses epoch and setting, what is
        tested once.
    settings
        What to try, in order.
    common
        Keywords of every one of them: tokenizer, seed and, where the system takes them, the
        word vectors and epochs.
    spec
        For the record.
    """

    unit: Unit
    corpus: Corpus
    train: Indices
    dev: Indices
    test: Indices
    settings: list[Setting]
    common: dict[str, Any]
    spec: dict[str, Any]

    @property
    def key(self) -> str:
        """The key of the record that will come of it."""
        unit = self.unit
        return record_key(
            self.spec, unit.seed, unit.rule, unit.n_folds, unit.fold, self.corpus.sha256
        )

    def part(self, positions: Indices) -> tuple[list[str], list[Label]]:
        """Texts and labels at the positions."""
        return take(self.corpus.texts, positions), take(self.corpus.labels, positions)


class Tasks:
    """Makes tasks; keeps corpora, folds and vectors for the next one.

    Parameters
    ----------
    plan
        Protocol and systems; None takes the packaged ones.
    read
        From the name of a set to its corpus.
    """

    def __init__(
        self, plan: Experiments | None = None, read: Callable[[str], Corpus] = load
    ) -> None:
        self.plan = experiments() if plan is None else plan
        self._read = read
        self._corpora: dict[str, Corpus] = {}
        self._folds: dict[tuple[str, str], list[Fold]] = {}

    def task(self, unit: Unit) -> Task:
        """Everything the unit needs."""
        plan, protocol = self.plan, self.plan.protocol
        corpus = self.corpus(unit.data)
        fold = self.folds(unit.data, unit.rule)[unit.fold]
        labels, texts = take(corpus.labels, fold.train), take(corpus.texts, fold.train)
        kept, aside = held_out(labels, protocol.dev_fraction, protocol.fold_seed, texts=texts)
        common: dict[str, Any] = {"tokenizer": protocol.tokenizer, "random_state": unit.seed}
        described: list[dict[str, str]] = []
        if plan.systems[unit.system].vectors:
            common |= {"epochs": protocol.epochs, "patience": protocol.patience}
            common["vectors"] = self._sources or None
            described = self._described
        return Task(
            unit,
            corpus,
            fold.train[kept],
            fold.train[aside],
            fold.test,
            plan.settings(unit),
            common,
            plan.spec(unit, described),
        )

    def folds(self, data: str, rule: str) -> list[Fold]:
        """The folds of a set; see :func:`protocol_folds`."""
        if (data, rule) not in self._folds:
            protocol = self.plan.protocol
            corpus = self.corpus(data)
            tokenizer = get_tokenizer(protocol.tokenizer)
            tokens = [tokenizer(text) for text in corpus.texts]
            folds = protocol_folds(corpus, rule, tokens, protocol.n_folds, protocol.fold_seed)
            self._folds[data, rule] = folds
        return self._folds[data, rule]

    def corpus(self, data: str) -> Corpus:
        """The texts of a set."""
        if data not in self._corpora:
            self._corpora[data] = self._read(data)
        return self._corpora[data]

    @cached_property
    def _files(self) -> list[Path]:
        names = self.plan.protocol.vectors
        return [vector_file(n) for n in names]

    @cached_property
    def _described(self) -> list[dict[str, str]]:
        """Name and digest of the files; of a user's file its bare name, for folders differ."""
        return [
            {"name": Path(name).name, "sha256": _digest(name, path)}
            for name, path in zip(self.plan.protocol.vectors, self._files, strict=True)
        ]

    @cached_property
    def _sources(self) -> list[WordVectors]:
        return [read_vectors(path) for path in self._files]


def protocol_folds(
    corpus: Corpus, rule: str, tokens: Sequence[Sequence[str]], n_folds: int, seed: int
) -> list[Fold]:
    """The folds of a set under a rule.

    An official split has one fold. Under ``grouped`` its test part stays whole and the training
    texts that are equal to a test text are left out.

    Parameters
    ----------
    tokens
        The words of each text; what ``grouped`` compares.
    """
    if corpus.test is None:
        return make_folds(corpus, rule, n_folds, seed, tokens)
    fold = official_split(corpus)
    if rule == "grouped":
        tested = {tuple(tokens[i]) for i in fold.test.tolist()}
        straddles = [tuple(tokens[i]) in tested for i in fold.train.tolist()]
        fold = Fold(0, fold.train[~np.array(straddles)], fold.test)
    return [fold]


def _digest(name: str, path: Path) -> str:
    known = vector_digest(name)
    if known is not None:
        return known
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

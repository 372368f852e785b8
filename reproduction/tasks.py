"""Units in; the texts, parts, settings and vectors that they need, out, each loaded once."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

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
from adasent.data.span_parser import WITH_TREEBANK, SpanParser, treebank, treebank_parser
from adasent.data.trees import Treebank
from adasent.estimators import registry
from adasent.evaluation.crossval import make_folds
from adasent.evaluation.records import record_key
from adasent.text.tokenize import get_tokenizer
from adasent.training.config import suited_to
from adasent.vectors.words import WordVectors, read_vectors
from reproduction.specs import Experiments, Setting, Unit, experiments


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
    system, network
        Names of the system and, of an ablation, of the network in place of the system's.
    refit
        Whether what was chosen is trained again on both parts before it is tested.
    """

    unit: Unit
    corpus: Corpus
    train: Indices
    dev: Indices
    test: Indices
    settings: list[Setting]
    common: dict[str, Any]
    spec: dict[str, Any]
    system: str
    network: str | None = None
    refit: bool = False

    @property
    def both(self) -> Indices:
        """The training and the dev part, in that order."""
        return np.concatenate([self.train, self.dev])

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


class Trees(NamedTuple):
    """Where the parse trees of a set come from."""

    parser: SpanParser
    treebank: Treebank | None
    source: str


class Tasks:
    """Makes tasks; keeps corpora, folds and vectors for the next one.

    Parameters
    ----------
    plan
        Protocol and systems; None takes the packaged ones.
    read
        From the name of a set to its corpus.
    defaults
        From the name of a system to the settings it has when none is given.
    """

    def __init__(
        self,
        plan: Experiments | None = None,
        read: Callable[[str], Corpus] = load,
        defaults: Callable[[str], dict[str, Any]] = registry.defaults,
    ) -> None:
        self.plan = experiments() if plan is None else plan
        self._read = read
        self._defaults = cache(defaults)
        self._file = cache(vector_file)
        self._source = cache(self._read_source)
        self._described = cache(self._describe)
        self._trees = cache(self._make_trees)
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
        system = plan.row(unit)
        defaults = dict(self._defaults(system.name))
        if system.vectors:
            common |= {"epochs": protocol.epochs, "patience": protocol.patience}
            if protocol.extra_words is not None:
                common["extra_words"] = protocol.extra_words
            names = plan.vectors(unit)
            common["vectors"] = [self._source(name) for name in names] or None
            described = [self._described(name) for name in names]
            defaults |= suited_to(self.vector_size(unit))
        trees = None
        if system.trees:
            trees = self._trees(unit.data)
            common |= {"parser": trees.parser, "treebank": trees.treebank}
        return Task(
            unit,
            corpus,
            fold.train[kept],
            fold.train[aside],
            fold.test,
            plan.settings(unit),
            common,
            plan.spec(unit, defaults, described, trees and trees.source),
            system.name,
            plan.ablations[unit.system].network if unit.table == "ablations" else None,
            unit.table == "refit",
        )

    def vector_size(self, unit: Unit) -> int:
        """Dimensions of the word vectors that the unit uses, all files together."""
        return sum(self._source(name).dim for name in self.plan.vectors(unit))

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

    def _make_trees(self, data: str) -> Trees:
        tokenizer = self.plan.protocol.tokenizer
        if data in WITH_TREEBANK:
            return Trees(treebank_parser(tokenizer), treebank(), "treebank, else span parser")
        others = treebank().without(self.corpus(data).texts)
        parser = SpanParser.fit(others.examples(get_tokenizer(tokenizer)))
        return Trees(parser, None, "span parser fitted on other texts")

    def _describe(self, name: str) -> dict[str, str]:
        """Name and digest of a file; of a user's file its bare name, for folders differ."""
        return {"name": Path(name).name, "sha256": _digest(name, self._file(name))}

    def _read_source(self, name: str) -> WordVectors:
        return read_vectors(self._file(name))


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

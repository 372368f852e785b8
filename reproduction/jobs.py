"""Makes jobs for the library's runner of planned runs: texts, parts, settings, vectors, trees.

Whatever several jobs need is loaded once.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache, cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from adasent.data import Corpus, Fold, held_out, load, official_split
from adasent.data.corpus import Indices, take
from adasent.data.derived import vector_digest, vector_file
from adasent.data.fetch import cache_dir
from adasent.data.span_parser import WITH_TREEBANK, SpanParser, treebank, treebank_parser
from adasent.data.trees import Treebank
from adasent.estimators import registry
from adasent.evaluation.crossval import make_folds
from adasent.evaluation.jobs import Job
from adasent.text.tokenize import get_tokenizer
from adasent.training.config import ABOVE_TUNED, TrainingConfig, TuningConfig
from adasent.vectors.words import WordVectors, read_vectors
from reproduction.cells import OURS
from reproduction.encoder import ON_HUB, WIDTHS, describe_encoder, find_rounded
from reproduction.specs import Experiments, PlannedRun, SystemSpec, experiments

#: Settings of the training that the protocol leaves to a system.
_TRAINING = {one.name for one in fields(TrainingConfig)} - {"epochs", "patience", "calibrate"}
#: Dimensions that students keep of the protocol's vectors.
STUDENT_SIZE = 256
#: Every text of the five sets is read whole.
WHOLE = {"max_words": 2000}
#: Of every network: the tables are of labels, and their records were made without.
NOT_CALIBRATED = {"calibrate": False}


def make_estimator(system: str, network: str | None, **settings: Any) -> Any:
    """An estimator of a system, not fitted.

    Parameters
    ----------
    network
        Of an ablation, the network in place of the system's.
    """
    if network is None:
        return registry.make(system, **settings)
    from reproduction.ablations import make_ablation  # which needs torch

    return make_ablation(network, **settings)


class Jobs:
    """Makes jobs; keeps corpora, folds and vectors for the next one.

    Parameters
    ----------
    plan
        Protocol and systems; None takes those of protocol.toml.
    read
        From the name of a set to its corpus.
    defaults
        From the name of a system to the settings it has when none is given.
    make
        See :func:`make_estimator`.
    teaching
        A folder of ``texts`` without labels, ``vectors`` of students, ``lessons`` of teachers, and
        the ``encoder``; None is one in the folder of downloads.
    """

    def __init__(
        self,
        plan: Experiments | None = None,
        read: Callable[[str], Corpus] = load,
        defaults: Callable[[str], dict[str, Any]] = registry.defaults,
        make: Callable[..., Any] = make_estimator,
        teaching: Path | None = None,
    ) -> None:
        self.plan = experiments() if plan is None else plan
        self._read = read
        self._make = make
        self._of_system = defaults
        self._corpora: dict[str, Corpus] = {}
        self._teaching = teaching
        self._folds: dict[tuple[str, str, int], list[Fold]] = {}
        self._remember()

    def _remember(self) -> None:
        """What is found out once."""
        self._defaults = cache(self._of_system)
        self._file = cache(vector_file)
        self._source = cache(self._read_source)
        self._sources = cache(self._read_sources)
        self._width = cache(self._read_width)
        self._described = cache(self._describe)
        self._trees = cache(self._make_trees)
        self._parts = cache(self._split)

    def __getstate__(self) -> dict[str, Any]:
        """For a worker: texts go along; vectors and trees it reads itself, once for all jobs."""
        kept = vars(self).copy()
        kept.pop("lessons", None)
        return {name: value for name, value in kept.items() if not hasattr(value, "cache_info")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._remember()

    def job(self, run: PlannedRun) -> Job:
        """Everything the run needs; vectors and trees are read when its first estimator is made."""
        plan = self.plan
        train, dev, test = self._parts(run.data, run.rule, run.fold, plan.fold_seed(run))
        system = plan.row(run)
        defaults = self._defaults(system.registered) | WHOLE
        described: list[dict[str, str]] = []
        if system.vectors:
            defaults |= NOT_CALIBRATED
            described = [self._described(name) for name in plan.vectors(run)]
            suited = registry.find(system.registered).suited_to(self.vector_size(run))
            if system.base.get("tune_encoder"):
                suited = ABOVE_TUNED
                defaults |= TuningConfig().to_dict()
            defaults |= {k: v for k, v in suited.items() if defaults.get(k) is None}
        defaults |= self.given(run)
        teacher = None if system.teacher is None else self.teacher(run)
        beside = self._beside(run, system, teacher)
        if system.teacher is not None:
            from reproduction.students import teaching_defaults

            defaults |= {k: v for k, v in teaching_defaults().items() if k not in system.base}
        teaches = any(row.teacher == system.name for row in plan.taught.values())
        return Job(
            system=run.system,
            corpus=self.corpus(run.data),
            train=train,
            dev=dev,
            test=test,
            make=partial(self._estimator, run),
            settings=plan.settings(run),
            spec=plan.spec(
                run, defaults, described, _tree_source(run.data) if system.trees else None, beside
            ),
            seed=run.seed,
            rule=run.rule,
            n_folds=run.n_folds,
            fold=run.fold,
            refit=run.table == "refit",
            after=partial(self.lessons.write, run, train) if teaches else None,
        )

    def teacher(self, run: PlannedRun) -> Job:
        """The run that labels texts for another: of the same fold and seed."""
        name = self.plan.row(run).teacher
        assert name is not None
        return self.job(replace(run, system=name))

    @cached_property
    def lessons(self) -> Any:
        """What teachers say."""
        from reproduction.lesson_runs import Lessons  # which needs torch

        return Lessons(self, self._teaching or cache_dir() / "teaching")

    def encoder(self, name: str) -> Path:
        """The folder of the protocol's encoder."""
        place = self.lessons.folder
        packed = place / "encoder"
        if packed.is_dir():
            return find_rounded(name, packed, place / "encoders")
        from adasent.encoders.folder import find_encoder

        return find_rounded(name, find_encoder(ON_HUB[name]).path, place / "encoders")

    def _beside(self, run: PlannedRun, system: SystemSpec, teacher: Job | None) -> dict[str, Any]:
        """What a row that knows more than the sets was given."""
        if system.encoder is not None:
            return {"encoder": describe_encoder(system.encoder)}
        if teacher is None:
            return {}
        own = {k: v for k, v in teacher.spec.items() if k != "table"}
        return {"teacher": own, "texts": self.plan.texts[run.data]}

    def _estimator(self, run: PlannedRun, **settings: Any) -> Any:
        """The system of a run, with what all its settings have in common."""
        plan, protocol, system = self.plan, self.plan.protocol, self.plan.row(run)
        common: dict[str, Any] = WHOLE | {"tokenizer": protocol.tokenizer}
        if system.vectors:
            common |= NOT_CALIBRATED | {"epochs": protocol.epochs, "patience": protocol.patience}
            if protocol.extra_words is not None:
                common["extra_words"] = protocol.extra_words
            if system.encoder is not None:
                common |= {"encoder": str(self.encoder(system.encoder)), "device": _device()}
                common.pop("extra_words", None)
            elif system.teacher is None:
                common["vectors"] = self._sources(plan.vectors(run))
        if system.trees:
            parser, bank = self._trees(run.data)
            common |= {"parser": parser, "treebank": bank}
        if system.teacher is not None:
            return self.lessons.student(run, **common | self.given(run) | settings)
        ablation = plan.ablation(run)
        network = None if ablation is None else ablation.network
        return self._make(system.registered, network, **common | self.given(run) | settings)

    def given(self, run: PlannedRun) -> dict[str, Any]:
        """What all settings of the run have that the defaults of its system do not."""
        plan, row, ablation = self.plan, self.plan.row(run), self.plan.ablation(run)
        given: dict[str, Any] = {}
        if ablation is not None and ablation.training is not None:
            theirs = self._defaults(ablation.training).items()
            given |= {k: v for k, v in theirs if k in _TRAINING and v is not None}
        if row.name == OURS and plan.vectors(run) != plan.protocol.vectors:
            # Compared with the default: with other vectors nothing else may change.
            width = sum(map(self._width, plan.protocol.vectors))
            suited = registry.find(row.registered).suited_to(width)
            ours = self._defaults(row.registered)
            given |= {k: v for k, v in suited.items() if ours.get(k) is None}
        return given | row.base

    def _split(
        self, data: str, rule: str, fold: int, seed: int
    ) -> tuple[Indices, Indices, Indices]:
        """Training, dev and test part; the same for every system and seed of the training."""
        protocol, corpus = self.plan.protocol, self.corpus(data)
        found = self.folds(data, rule, seed)[fold]
        labels, texts = take(corpus.labels, found.train), take(corpus.texts, found.train)
        kept, aside = held_out(labels, protocol.dev_fraction, seed, texts=texts)
        return found.train[kept], found.train[aside], found.test

    def vector_size(self, run: PlannedRun) -> int:
        """Dimensions of the word vectors that the run uses, all files together."""
        row = self.plan.row(run)
        if row.encoder is not None:
            return WIDTHS[row.encoder]
        if row.teacher is not None:
            return STUDENT_SIZE
        return sum(self._width(name) for name in self.plan.vectors(run))

    def folds(self, data: str, rule: str, seed: int | None = None) -> list[Fold]:
        """The folds of a set, by the protocol's seed or another; see :func:`protocol_folds`."""
        protocol = self.plan.protocol
        seed = protocol.fold_seed if seed is None else seed
        if (data, rule, seed) not in self._folds:
            corpus = self.corpus(data)
            tokenizer = get_tokenizer(protocol.tokenizer)
            tokens = [tokenizer(text) for text in corpus.texts]
            folds = protocol_folds(corpus, rule, tokens, protocol.n_folds, seed)
            self._folds[data, rule, seed] = folds
        return self._folds[data, rule, seed]

    def corpus(self, data: str) -> Corpus:
        """The texts of a set."""
        if data not in self._corpora:
            self._corpora[data] = self._read(data)
        return self._corpora[data]

    def _make_trees(self, data: str) -> tuple[SpanParser, Treebank | None]:
        """What :func:`_tree_source` says."""
        tokenizer = self.plan.protocol.tokenizer
        if data in WITH_TREEBANK:
            return treebank_parser(tokenizer), treebank()
        others = treebank().without(self.corpus(data).texts)
        return SpanParser.fit(others.examples(get_tokenizer(tokenizer))), None

    def _describe(self, name: str) -> dict[str, str]:
        """Name and digest of a file; of a user's file its bare name, for folders differ."""
        return {"name": Path(name).name, "sha256": _digest(name, self._file(name))}

    def source(self, name: str) -> WordVectors:
        """Named word vectors; read once."""
        return self._source(name)

    def _read_source(self, name: str) -> WordVectors:
        return read_vectors(self._file(name))

    def _read_sources(self, names: tuple[str, ...]) -> list[WordVectors] | None:
        """One list for all settings of a job: by it the runner sees that texts are encoded."""
        return [self._source(name) for name in names] or None

    def _read_width(self, name: str) -> int:
        return read_vectors(self._file(name), limit=1).dim


def _device() -> str:
    """Where a model on an encoder predicts, too: its dev and test texts are read by the encoder."""
    from adasent.training.loop import default_device

    return str(default_device())


def _tree_source(data: str) -> str:
    """Where the parse trees of a set come from."""
    if data in WITH_TREEBANK:
        return "treebank, else span parser"
    return "span parser fitted on other texts"


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

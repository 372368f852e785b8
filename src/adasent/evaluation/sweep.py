"""Searches settings of a system: trials on a dev part, then one test of the best on texts apart.

Without folds, the test part is the official one or a share that is held out, and no trial sees it.
With folds, each is searched inside its training part and tested once; what is told of the folds is
of the whole procedure, and the settings come from a last search over all texts.

A sweep lives in a folder: ``sweep.json`` says what is searched, ``trials.jsonl`` has a line for
each trial, ``tests.jsonl`` the records of the tests (those of a cross-validation with these
settings), ``best.json`` what came of it. A sweep that was stopped or killed goes on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from adasent.checks import check_integer, check_range
from adasent.data.corpus import Corpus
from adasent.errors import AdaSentError, ConfigError
from adasent.estimators.settings import settings_of
from adasent.evaluation.crossval import Prepared, prepare
from adasent.evaluation.executors import Executor, ThisProcess
from adasent.evaluation.jobs import Job
from adasent.evaluation.metrics import MEANS, record_report
from adasent.evaluation.records import FoldRecord
from adasent.evaluation.runner import run_jobs
from adasent.evaluation.search_space import Space, check_space, default_space, started_at
from adasent.evaluation.store import RecordStore
from adasent.evaluation.study import Study, optuna
from adasent.evaluation.sweep_parts import SweepConfig, outer_parts, rule_of, search_parts
from adasent.evaluation.trials import (
    Searches,
    Trial,
    TrialTask,
    append_trial,
    read_trials,
    run_trial,
)
from adasent.saving.folder import hold
from adasent.text.tokenize import tokenizer_name

#: Trials of a search where neither their number nor a time is given.
N_TRIALS = 30
#: Settings on which it depends what others are where they are left open, or how much is read.
_OTHERS_FOLLOW = ("vector_size", "max_words", "max_height")


@dataclass(frozen=True)
class Found:
    """What came of one search: its best trial, and the test of its settings."""

    search: str
    trial: Trial
    record: FoldRecord | None  # None: it has no test part, or is not tested yet
    settings: dict[str, Any]  # of a system: those that were given, and those that were found


class Sweep:
    """A search over the settings of a system, in a folder.

    Parameters
    ----------
    corpus
        Texts with one label each.
    out
        The folder; one that holds an unfinished or finished sweep of the same kind is gone on with.
    settings
        Settings of all trials, other than vectors and seed.
    space
        What is searched; None is :func:`~adasent.evaluation.search_space.default_space`.
    system
        A name of :mod:`adasent.estimators.registry`.
    vectors
        Files of word vectors by the name that records show.
    """

    def __init__(
        self,
        corpus: Corpus,
        out: str | os.PathLike[str],
        settings: Mapping[str, Any] | None = None,
        space: Space | None = None,
        *,
        system: str = "adasent",
        vectors: Mapping[str, Path] | None = None,
        config: SweepConfig | None = None,
    ) -> None:
        optuna()  # which is missed before anything is read
        corpus.need_one_label("a sweep")
        self.corpus, self.out, self.system = corpus, Path(out), system
        self.config = config or SweepConfig()
        self.settings, self.vectors = dict(settings or {}), dict(vectors or {})
        space = default_space(system, self.settings) if space is None else space
        self.space = check_space(system, space, self.settings)
        if "metric" in settings_of(system):
            self.settings = {"metric": self.config.metric} | self.settings
        self._prepared = self._prepare({})
        self.rule = rule_of(corpus, self.config)
        self.folds = outer_parts(corpus, self.config, self._prepared.tokens)
        self.searches = search_parts(corpus, self.config, self.folds)
        self._check_folder()

    # -- files -----------------------------------------------------------------------------------

    @property
    def trials_file(self) -> Path:
        """A line for each trial."""
        return self.out / "trials.jsonl"

    @property
    def tests(self) -> RecordStore:
        """The records of the tests."""
        return RecordStore(self.out / "tests.jsonl")

    @property
    def best_file(self) -> Path:
        """The settings that were found, and how good they are."""
        return self.out / "best.json"

    def _said(self) -> dict[str, Any]:
        """What makes one sweep another."""
        said = vars(self.config) | {
            "system": self.system,
            "data": self.corpus.name,
            "sha256": self.corpus.sha256,
            "settings": self._prepared.spec,
            "space": {name: one.to_json() for name, one in self.space.items()},
        }
        values: dict[str, Any] = json.loads(json.dumps(said))
        return values

    def _check_folder(self) -> None:
        """Refuse a folder that holds something else."""
        path, said = self.out / "sweep.json", self._said()
        if not path.exists():
            if self.out.exists() and (not self.out.is_dir() or any(self.out.iterdir())):
                raise ConfigError(
                    f"{self.out} holds something else than a sweep; give a new or an empty folder"
                )
            return
        try:
            there = json.loads(path.read_text("utf-8"))
        except ValueError:
            there = None
        if not isinstance(there, dict):
            raise ConfigError(f"{path} cannot be read; remove it, or give another folder")
        differing = [name for name in said if there.get(name) != said[name]]
        if differing:
            raise ConfigError(
                f"{self.out} holds another sweep (other {', '.join(differing)}); repeat its "
                "command to go on with it, or give another folder"
            )

    def _prepare(self, found: Mapping[str, Any]) -> Prepared:
        settings = self.settings | dict(found)
        return prepare(self.corpus, settings, system=self.system, vectors=self.vectors)

    def _spec(self, found: Mapping[str, Any]) -> dict[str, Any]:
        """What a record says of a test with the settings that were found."""
        if any(name in found for name in _OTHERS_FOLLOW):
            return self._prepare(found).spec
        return self._prepared.spec | dict(found)

    # -- work ------------------------------------------------------------------------------------

    def run(
        self,
        n_trials: int | None = None,
        minutes: float | None = None,
        executor: Executor | None = None,
    ) -> Iterator[Trial | FoldRecord]:
        """Make what is missing: trials of each search, then the tests; each as it is finished.

        Parameters
        ----------
        n_trials
            Of each search, those of earlier runs included; None is :data:`N_TRIALS`, or with
            ``minutes`` as many as there is time for.
        minutes
            After which no trial is begun any more, shared out evenly among the searches. Each
            makes one at least, and the tests come on top.
        """
        if n_trials is not None:
            check_integer("trials", n_trials, 1)
        elif minutes is None:
            n_trials = N_TRIALS
        if minutes is not None:
            check_range("minutes", minutes, 0)
        executor = executor or ThisProcess()
        with hold(self.out, patience=0):
            self._check_folder()
            self.out.mkdir(parents=True, exist_ok=True)
            (self.out / "sweep.json").write_text(json.dumps(self._said(), indent=1), "utf-8")
            yield from self._run_trials(n_trials, minutes, executor)
            for result in run_jobs(self._jobs(), self.tests, executor=executor):
                if result.is_new:
                    yield result.record
            self._write_best()

    def _run_trials(
        self, n_trials: int | None, minutes: float | None, executor: Executor
    ) -> Iterator[Trial]:
        studies = self._studies()
        shared = Searches(
            self.corpus,
            self._prepared.maker,
            self.searches,
            self.config.metric,
            self.config.seed,
        )
        tasks = _tasks(studies, n_trials, minutes)
        with closing(executor.run(run_trial, shared, tasks)) as running:
            for task, trial in running:
                append_trial(self.trials_file, trial)
                studies[task.search].tell(trial)
                yield trial
        for search, study in zip(self.searches, studies, strict=True):
            if study.best is None:
                last = max(study.trials, key=lambda one: one.number)
                raise AdaSentError(
                    f"no trial of {search.name} came to its end; the last one: "
                    f"{last.error or last.state}; search other values"
                )

    def _studies(self) -> list[Study]:
        """The studies as they stand, by the trials on disk."""
        first = started_at(self.space, self._prepared.spec)
        metric, seed = self.config.metric, self.config.seed
        studies = [
            Study(self.space, metric, seed + 1000 * i, first) for i in range(len(self.searches))
        ]
        for study, trials in zip(studies, self.trials().values(), strict=True):
            for trial in trials:
                study.tell(trial)
        return studies

    def _jobs(self) -> list[Job]:
        """The test of each search: as a cross-validation with its settings would make it."""
        jobs = []
        for fold, study in zip(self.folds, self._studies(), strict=False):  # the last has no test
            assert study.best is not None
            found = study.best.settings
            jobs.append(
                Job(
                    system=self.system,
                    corpus=self.corpus,
                    train=fold.train,
                    dev=None,
                    test=fold.test,
                    make=self._prepared.maker,
                    settings=[found],
                    spec=self._spec(found),
                    seed=self.config.seed,
                    rule=self.rule,
                    n_folds=len(self.folds),
                    fold=fold.index,
                )
            )
        return jobs

    # -- what came of it -------------------------------------------------------------------------

    @property
    def study(self) -> Study:
        """The search whose settings are the result, by the trials on disk."""
        return self._studies()[-1]

    def trials(self) -> dict[str, list[Trial]]:
        """The trials on disk, by their search."""
        found: dict[str, list[Trial]] = {search.name: [] for search in self.searches}
        for trial in sorted(read_trials(self.trials_file), key=lambda one: one.number):
            found[trial.search].append(trial)
        return found

    def found(self) -> list[Found]:
        """The best of each search, by what is on disk; the last is the result."""
        studies = self._studies()
        tested: list[FoldRecord | None] = [None] * len(self.searches)
        if all(study.best is not None for study in studies):
            jobs = self._jobs()
            records = self.tests.find(jobs)
            tested[: len(jobs)] = [records.get(job.key) for job in jobs]
        return [
            Found(search.name, study.best, record, self.settings | study.best.settings)
            for search, study, record in zip(self.searches, studies, tested, strict=True)
            if study.best is not None
        ]

    def _write_best(self) -> None:
        found = self.found()
        result = found[-1]
        values = {
            "system": self.system,
            "data": self.corpus.name,
            "sha256": self.corpus.sha256,
            "vectors": list(self.vectors),
            "metric": self.config.metric,
            "settings": result.settings,
            "searched": result.trial.settings,
            "dev": result.trial.value,
            "searches": [
                {
                    "search": one.search,
                    "trial": one.trial.number,
                    "searched": one.trial.settings,
                    "dev": one.trial.value,
                    "test": None if one.record is None else figures(one.record),
                }
                for one in found
            ],
        }
        fresh = self.best_file.with_suffix(".new")
        fresh.write_text(json.dumps(values, indent=1, default=_named), "utf-8")
        fresh.replace(self.best_file)


def figures(record: FoldRecord) -> dict[str, float]:
    """Accuracy and means over classes of a test."""
    report = record_report(record)
    return {name: getattr(report, name) for name in MEANS}


def _named(value: Any) -> str:
    """A setting that JSON does not know: a path, or a tokenizer that is a function."""
    return tokenizer_name(value) if callable(value) else os.fspath(value)


def _tasks(
    studies: Sequence[Study], n_trials: int | None, minutes: float | None
) -> Iterator[TrialTask]:
    """What to try next, asked for when a worker is free."""
    started = time.monotonic()
    for i, study in enumerate(studies):
        until = None if minutes is None else started + 60 * minutes * (i + 1) / len(studies)
        taken = {one.number for one in study.trials}
        number = 0
        while n_trials is None or number < n_trials:
            if number in taken:
                number += 1
                continue
            if until is not None and time.monotonic() >= until and (taken or number):
                break
            yield TrialTask(i, number, study.ask(number), study.curves)
            number += 1

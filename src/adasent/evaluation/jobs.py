"""Makes the record of a run (:class:`Job`): tries settings on the dev part, tests the best.

The setting is chosen by the dev accuracy of the finished model, with its word table rounded as it
is saved; the epoch is chosen in training, as in any ``fit``. Device, threads and versions in a
record are those of the place where the training ran.
"""

from __future__ import annotations

import inspect
import platform
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from adasent.data.corpus import Corpus, Indices, Label, take
from adasent.errors import AdaSentWarning
from adasent.evaluation.records import FoldRecord, record_key
from adasent.version import __version__

Setting = Mapping[str, Any]
Part = tuple[list[str], list[Label]]


@dataclass(frozen=True, eq=False)
class Job:
    """A run to make, with everything that it needs.

    The three parts are positions in the corpus. Without a dev part there is one setting, and an
    estimator that wants a validation part takes it out of the training part.
    """

    system: str  # in a word; jobs of one system, corpus and rule are trained together
    corpus: Corpus
    train: Indices  # sets the weights
    dev: Indices | None  # chooses epoch and setting
    test: Indices  # is tested once
    make: Callable[..., Any]  # random_state and a setting's keywords -> estimator, not fitted
    settings: Sequence[Setting]  # what to try, in order; of equally good ones the first is taken
    spec: dict[str, Any]  # what the record says of how it was made; equal specs, the same work
    seed: int  # of the training
    rule: str  # of the folds; this and the next two are for the record
    n_folds: int
    fold: int
    # Whether a network, too, is trained again on training and dev part before it is tested, for the
    # epochs that were best. A system that makes no use of the dev part in training always is: it
    # would otherwise go without these texts for nothing.
    refit: bool = False
    # Called with the model that was tested, when there is a record of it.
    after: Callable[[Any], None] | None = None

    @property
    def data(self) -> str:
        """Name of the corpus."""
        return self.corpus.name

    @property
    def key(self) -> str:
        """The key of the record that will come of it."""
        return record_key(
            self.spec, self.seed, self.rule, self.n_folds, self.fold, self.corpus.sha256
        )

    def part(self, *positions: Indices) -> Part:
        """Texts and labels at the positions."""
        chosen = np.concatenate(positions)
        return take(self.corpus.texts, chosen), take(self.corpus.labels, chosen)

    def estimator(self, setting: Setting) -> Any:
        """An estimator with one of the settings, not fitted."""
        return self.make(**{"random_state": self.seed} | dict(setting))

    @property
    def is_network(self) -> bool:
        """Whether its estimators can be trained as a stack."""
        return hasattr(self.estimator(self.settings[0]), "encode")


def train_group(jobs: Sequence[Job], size: int = 1) -> list[FoldRecord | None]:
    """Train and test jobs, up to ``size`` networks as one.

    Returns
    -------
    A record for each job; None where Ctrl-C has cut the training short, which is not a result.
    """
    choices = [_Choice(job) for job in jobs]
    with warnings.catch_warnings():
        # Of each call on each part; whoever reads the corpus says it once for all.
        warnings.filterwarnings("ignore", r"of \d+ text", AdaSentWarning)
        warnings.filterwarnings("ignore", "training was interrupted", AdaSentWarning)
        trials = [choice.trial(s) for choice in choices for s in choice.job.settings]
        if _fit_all(trials, size):
            _fit_all([choice.last() for choice in choices if choice.lacks_last_training], size)
        records = [choice.record() if choice.is_finished else None for choice in choices]
        for choice in choices:
            if choice.is_finished and choice.job.after is not None:
                choice.job.after(choice.tested)
        return records


@dataclass
class _Fit:
    """An estimator to fit for a job, and what came of it."""

    choice: _Choice
    setting: Setting
    training: Part
    validation: Part | None  # None: an estimator may take one out of the training part
    is_whole: bool = False  # whether the training went on to its end
    accuracy: float = 0.0  # on the validation part, of the finished model
    seconds: float = 0.0
    n_together: int = 1
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)

    def take(self, estimator: Any) -> None:
        """Note what the fitted estimator says, and whether it is the one to test."""
        history = getattr(estimator, "history_", ())
        self.is_whole = not getattr(history, "interrupted", False)
        self.best_epoch = getattr(history, "best_epoch", None) or 0
        self.history = [_short_row(row) for row in history]
        if self.is_whole and self.validation is not None:
            texts, labels = self.validation
            classes = self.choice.job.corpus.classes
            said = encode_labels(estimator.predict(texts).tolist(), classes)
            self.accuracy = share_right(encode_labels(labels, classes), said)
        self.choice.take(self, estimator)


class _Choice:
    """The settings of a job on trial, the best of them so far, and the model that is tested."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.tried: list[_Fit] = []
        self.chosen = 0
        self.final: _Fit | None = None
        self._estimator: Any = None  # of the best trial, then of the last training
        self._before: list[Label] = []

    def trial(self, setting: Setting) -> _Fit:
        """A fit of one of the settings."""
        job = self.job
        validation = None if job.dev is None else job.part(job.dev)
        return _Fit(self, setting, job.part(job.train), validation)

    def last(self) -> _Fit:
        """A fit of the chosen setting on the training and the dev part."""
        job, best = self.job, self.tried[self.chosen]
        assert job.dev is not None
        setting = dict(best.setting)
        if _stops_early(self._estimator):
            self._before = self._predict()
            setting |= {"epochs": best.best_epoch + 1, "validation_fraction": 0.0}
        self.final = _Fit(self, setting, job.part(job.train, job.dev), None)
        return self.final

    def take(self, fit: _Fit, estimator: Any) -> None:
        """Keep the estimator of a fit that has ended if it is the best, or the last."""
        if fit is self.final:
            self._estimator = estimator
            return
        self.tried.append(fit)
        if self._estimator is None or fit.accuracy > self.tried[self.chosen].accuracy:
            self.chosen, self._estimator = len(self.tried) - 1, estimator

    @property
    def tested(self) -> Any:
        """The model that the record is of."""
        return self._estimator

    @property
    def lacks_last_training(self) -> bool:
        """Whether the dev part is still to set weights, before the test."""
        if self.job.dev is None or self.final is not None:
            return False
        return self.job.refit or not _stops_early(self._estimator)

    @property
    def is_finished(self) -> bool:
        """Whether every training was begun, and has gone on to its end."""
        if len(self.tried) < len(self.job.settings) or self.lacks_last_training:
            return False
        return all(fit.is_whole for fit in self._fits)

    @property
    def _fits(self) -> list[_Fit]:
        return self.tried if self.final is None else [*self.tried, self.final]

    def _predict(self) -> list[Label]:
        texts, _ = self.job.part(self.job.test)
        labels: list[Label] = self._estimator.predict(texts).tolist()
        return labels

    def record(self) -> FoldRecord:
        """What there is to say of the job, with its test."""
        job, best, estimator = self.job, self.tried[self.chosen], self._estimator
        _, true = job.part(job.test)
        predicted = self._predict()
        # Of the whole corpus: a rare class may be absent from this fold's training part.
        classes = np.unique(np.asarray(job.corpus.classes)).tolist()
        true, predicted = encode_labels(true, classes), encode_labels(predicted, classes)
        facts: dict[str, Any] = getattr(estimator, "training_", {})
        n_valid = facts.get("n_validation", 0) if job.dev is None else len(job.dev)
        n_train = len(job.train) - (n_valid if job.dev is None else 0)
        if self.final is not None:
            n_train, n_valid = n_train + n_valid, 0
        # Systems without a network run on the CPU.
        on_cpu = ("cpu", getattr(estimator, "n_jobs", None) or 1)
        device, n_threads = getattr(estimator, "trained_on_", on_cpu)
        tried = [
            {
                "accuracy": _short(fit.accuracy),
                "epoch": fit.best_epoch,
                "seconds": round(fit.seconds, 3),
            }
            for fit in self.tried
        ]
        return FoldRecord(
            spec=job.spec,
            seed=job.seed,
            rule=job.rule,
            n_folds=job.n_folds,
            fold=job.fold,
            data=job.data,
            sha256=job.corpus.sha256,
            versions={
                "adasent": __version__,
                **facts.get("versions", {}),
                "python": platform.python_version(),
                "platform": platform.platform(),
            },
            device=device,
            seconds=round(sum(fit.seconds for fit in self._fits), 3),
            best_epoch=best.best_epoch,
            history=best.history,
            n_train=n_train,
            n_valid=n_valid,
            n_test=len(job.test),
            accuracy=share_right(true, predicted),
            classes=classes,
            test=job.test.tolist(),
            true=true,
            predicted=predicted,
            tried=[] if job.dev is None else tried,
            chosen=None if job.dev is None else self.chosen,
            before=encode_labels(self._before, classes),
            n_threads=n_threads,
            n_together=(self.final or best).n_together,
        )


def encode_labels(labels: Sequence[Any], classes: Sequence[Label]) -> list[Any]:
    """Labels as positions in the classes; tuples of labels as ascending lists of positions."""
    code = {label: i for i, label in enumerate(classes)}
    return [
        sorted(code[each] for each in one) if isinstance(one, tuple) else code[one]
        for one in labels
    ]


def share_right(true: Sequence[Any], predicted: Sequence[Any]) -> float:
    """The share of texts whose label, or all of whose labels, are those that were predicted."""
    return float(np.mean([a == b for a, b in zip(true, predicted, strict=True)]))


def _fit_all(fits: Sequence[_Fit], size: int) -> bool:
    """Fit one stack after the other; whether all are fitted, and none was cut short."""
    texts = _EncodedOnce()
    for start in range(0, len(fits), size):
        stack = fits[start : start + size]
        estimators = [fit.choice.job.estimator(fit.setting) for fit in stack]
        _fit_stack(stack, estimators, texts)
        for fit, estimator in zip(stack, estimators, strict=True):
            fit.take(estimator)
        if not all(fit.is_whole for fit in stack):
            return False
    return True


def _fit_stack(fits: Sequence[_Fit], estimators: Sequence[Any], texts: _EncodedOnce) -> None:
    """All in one stack; in two, each half as large, if the device has no room for it."""
    started = time.perf_counter()
    if not hasattr(estimators[0], "encode"):
        for fit, estimator in zip(fits, estimators, strict=True):
            is_used = fit.validation is not None and _stops_early(estimator)
            estimator.fit(*fit.training, **({"validation": fit.validation} if is_used else {}))
    elif not _fit_networks(fits, estimators, texts):
        half = len(fits) // 2
        _fit_stack(fits[:half], estimators[:half], texts)
        _fit_stack(fits[half:], estimators[half:], texts)
        return
    seconds = (time.perf_counter() - started) / len(fits)
    for fit in fits:
        fit.seconds, fit.n_together = seconds, len(fits)


def _fit_networks(fits: Sequence[_Fit], estimators: Sequence[Any], texts: _EncodedOnce) -> bool:
    """Fit them as one; False if there is no room for several, and what was taken is given back."""
    import torch

    from adasent.estimators.neural import fit_encoded

    try:
        fit_encoded(estimators, [texts(f, e) for f, e in zip(fits, estimators, strict=True)])
        return True
    except (RuntimeError, MemoryError) as error:
        by_type = isinstance(error, MemoryError | torch.OutOfMemoryError)
        by_words = "allocate memory" in str(error)  # the CPU's allocator has no type of its own
        if len(fits) == 1 or not (by_type or by_words):
            raise
    if torch.cuda.is_available():  # outside of the handler, which keeps hold of the memory
        torch.cuda.empty_cache()
    return False


class _EncodedOnce:
    """Encodes the texts of a job for the first setting, and keeps them for the others."""

    def __init__(self) -> None:
        self._kept: list[tuple[Job, dict[str, Any], Any]] = []

    def __call__(self, fit: _Fit, estimator: Any) -> Any:
        settings, of_job = estimator.reading_settings(), fit.choice.job
        self._kept = [kept for kept in self._kept if kept[0] is of_job]
        for _, others, encoded in self._kept:
            if are_same(settings, others):
                return encoded
        encoded = estimator.encode(*fit.training, validation=fit.validation)
        self._kept.append((of_job, settings, encoded))
        return encoded


def are_same(settings: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether all values are equal; inputs such as vectors must be the same objects."""
    plain = (str, int, float, bool)
    return settings.keys() == others.keys() and all(
        value is others[name] or (isinstance(value, plain) and value == others[name])
        for name, value in settings.items()
    )


def _stops_early(estimator: Any) -> bool:
    """Whether its training looks at a validation part."""
    return "validation" in inspect.signature(estimator.fit).parameters


def _short_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the history, of the gradient flow only the verdict."""
    short = {name: _short(value) for name, value in row.items()}
    flow = row.get("gradient_flow")  # None where models are trained together, and of other systems
    return short | {"gradient_flow": flow and flow["verdict"]}


def _short(value: Any) -> Any:
    """Six digits of a number are enough for a record."""
    return float(f"{value:.6g}") if isinstance(value, float) else value

"""One task in, one record out: try the settings on the dev part, test the best one once.

A system that stops early by the dev part is tested as it was trained. One that makes no use of the
dev part in training (its ``fit`` takes no ``validation``) is trained again on both parts with the
chosen setting: it would otherwise go without a tenth of its texts for nothing. The table ``refit``
does that to networks as well, for as many epochs as were best on the dev part.
"""

from __future__ import annotations

import inspect
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import AdaSentWarning
from adasent.estimators import registry
from adasent.evaluation.records import FoldRecord
from adasent.version import __version__
from reproduction.specs import Unit
from reproduction.store import Store
from reproduction.tasks import Task, Tasks

#: Columns of a training history that a record keeps.
_KEPT = ("epoch", "train_loss", "valid_loss", "valid_accuracy")


class Estimator(Protocol):
    """What is asked of a system."""

    def fit(self, X: list[str], y: list[Label], **extra: Any) -> Any:
        """Train; one that stops early takes ``validation=(texts, labels)``."""

    def predict(self, X: list[str]) -> np.ndarray:
        """A label for each text."""


Make = Callable[..., Estimator]
Runner = Callable[[Task], FoldRecord]


@dataclass(frozen=True)
class Trial:
    """What came of one setting.

    Attributes
    ----------
    accuracy
        On the dev part.
    history
        Rows of the epochs; none for a system without epochs.
    best_epoch
        From 0; the epoch whose weights were kept.
    """

    accuracy: float
    seconds: float
    history: Sequence[Any] = ()
    best_epoch: int = 0


def run_missing(
    units: Iterable[Unit], tasks: Tasks, store: Store, runner: Runner
) -> Iterator[tuple[Unit, FoldRecord | None]]:
    """Run what the store does not have, one unit after the other.

    Yields
    ------
    Each unit with its new record; None where there was one, or another process is at it.
    """
    for unit in units:
        task = tasks.task(unit)
        with store.claim(unit, task.key) as mine:
            record = runner(task) if mine else None
            if record is not None:
                store.add(unit, record)
        yield unit, record


def run_task(task: Task, make: Make | None = None) -> FoldRecord:
    """The plain runner: one setting after the other, on this machine.

    Parameters
    ----------
    make
        From the name of a system and settings to an estimator; None is :func:`make_estimator`.
    """

    def new(setting: dict[str, Any]) -> Estimator:
        made: Estimator
        if make is None:
            made = make_estimator(task, setting)
        else:
            made = make(task.system, **(task.common | setting))
        return made

    started = time.perf_counter()
    train, dev, test = (task.part(part) for part in (task.train, task.dev, task.test))
    trials: list[Trial] = []
    best: Estimator | None = None
    chosen = 0
    with warnings.catch_warnings():
        # Of each call on each part; the audit of the set says it once for all.
        warnings.filterwarnings("ignore", r"of \d+ texts", AdaSentWarning)
        warnings.filterwarnings("ignore", "training was interrupted", AdaSentWarning)
        for setting in task.settings:
            estimator = new(setting)
            trials.append(_try(estimator, train, dev))
            if best is None or trials[-1].accuracy > trials[chosen].accuracy:
                best, chosen = estimator, len(trials) - 1
        assert best is not None
        early = stops_early(best)
        before: list[Label] = []
        if task.refit and early:
            before = best.predict(test[0]).tolist()
        refitted = task.refit or not early
        if refitted:
            epochs = final_settings(trials[chosen]) if early else {}
            best = new(task.settings[chosen] | epochs)
            best.fit(*task.part(task.both))
            _check_whole(best)
        seconds = time.perf_counter() - started
        predicted = best.predict(test[0]).tolist()
    return make_record(
        task,
        trials,
        chosen,
        predicted,
        seconds=seconds,
        device=_device(best),
        refitted=refitted,
        before=before,
    )


def make_record(
    task: Task,
    trials: Sequence[Trial],
    chosen: int,
    predicted: Sequence[Label],
    *,
    seconds: float,
    device: str,
    refitted: bool = False,
    before: Sequence[Label] = (),
) -> FoldRecord:
    """The record of a task, whoever ran it.

    Parameters
    ----------
    trials
        As many as ``task.settings``, in their order.
    predicted
        Labels of the texts of ``task.test``.
    seconds
        Of all training, that of the settings not chosen included.
    refitted
        Whether the dev part set weights in the end.
    before
        What was predicted before it did, if it is known.
    """
    unit = task.unit
    # Of the whole corpus: a rare class may be absent from this fold's training part.
    classes = np.unique(np.asarray(task.corpus.labels)).tolist()
    code = {label: i for i, label in enumerate(classes)}
    _, true = task.part(task.test)
    best = trials[chosen]
    return FoldRecord(
        spec=task.spec,
        seed=unit.seed,
        rule=unit.rule,
        n_folds=unit.n_folds,
        fold=unit.fold,
        data=unit.data,
        sha256=task.corpus.sha256,
        versions=versions(),
        device=device,
        seconds=round(seconds, 3),
        best_epoch=best.best_epoch,
        history=[_short(row) for row in best.history],
        n_train=len(task.train) + (len(task.dev) if refitted else 0),
        n_valid=0 if refitted else len(task.dev),
        n_test=len(task.test),
        accuracy=sum(a == b for a, b in zip(true, predicted, strict=True)) / len(true),
        classes=classes,
        test=task.test.tolist(),
        true=[code[label] for label in true],
        predicted=[code[label] for label in predicted],
        tried=[
            {
                "accuracy": _rounded(trial.accuracy),
                "epoch": trial.best_epoch,
                "seconds": round(trial.seconds, 2),
            }
            for trial in trials
        ],
        chosen=chosen,
        before=[code[label] for label in before],
    )


def final_settings(trial: Trial) -> dict[str, Any]:
    """What makes a network train for the epochs of a trial, on all texts that it is given."""
    return {"epochs": trial.best_epoch + 1, "validation_fraction": 0.0}


def stops_early(estimator: Estimator) -> bool:
    """Whether its training looks at a validation part."""
    return "validation" in inspect.signature(estimator.fit).parameters


def versions() -> dict[str, str]:
    """Of Python, the platform, and the libraries that are in use."""
    found = {"adasent": __version__, "python": platform.python_version()}
    for name in ("numpy", "torch", "sklearn", "gensim"):
        if name in sys.modules:
            found[name] = sys.modules[name].__version__
    return found | {"platform": platform.platform()}


def _try(
    estimator: Estimator, train: tuple[list[str], list[Label]], dev: tuple[list[str], list[Label]]
) -> Trial:
    started = time.perf_counter()
    extra: dict[str, Any] = {"validation": dev} if stops_early(estimator) else {}
    estimator.fit(*train, **extra)
    _check_whole(estimator)
    history: Any = getattr(estimator, "history_", ())
    seconds = time.perf_counter() - started
    accuracy = float(np.mean(estimator.predict(dev[0]) == np.asarray(dev[1])))
    return Trial(accuracy, seconds, history, getattr(history, "best_epoch", None) or 0)


def _check_whole(estimator: Estimator) -> None:
    if getattr(getattr(estimator, "history_", None), "interrupted", False):
        raise KeyboardInterrupt  # a run cut short is not a result


def registry_make(system: str, **settings: Any) -> Estimator:
    """An estimator of a registered system."""
    made: Estimator = registry.make(system, **settings)
    return made


def make_estimator(task: Task, setting: dict[str, Any]) -> Any:
    """The task's system, or variant of it, with one of its settings; not fitted."""
    settings = task.common | setting
    if task.network is None:
        return registry_make(task.system, **settings)
    from reproduction.ablations import make_ablation  # which needs torch

    return make_ablation(task.network, **settings)


def _device(estimator: Estimator) -> str:
    model: Any = getattr(estimator, "model_", None)
    if model is None or not hasattr(model, "parameters"):
        return "cpu"
    return str(next(model.parameters()).device)


def _short(row: Any) -> dict[str, Any]:
    return {name: _rounded(row[name]) for name in _KEPT if row.get(name) is not None}


def _rounded(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value

"""One trial of a sweep: settings in, the figure of the dev part out; made wherever a worker is.

A worker is told what finished trials reached after each epoch, and stops a trial of its own that
does worse than their median. So it needs no connection to the study, which the driver keeps.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any

from adasent.data.corpus import Corpus, Indices, take
from adasent.errors import AdaSentError, ConfigError, DataError
from adasent.evaluation.crossval import Maker
from adasent.evaluation.jobs import EncodedOnce, Part, Setting, quiet_fits
from adasent.evaluation.metrics import score_predictions
from adasent.evaluation.records import whole_lines, write_line
from adasent.evaluation.reliability import judge
from adasent.evaluation.study import COMPLETE, FAILED, LOWER_IS_BETTER, PRUNED, Pruner
from adasent.training.callbacks import Callback


@dataclass(frozen=True)
class Trial:
    """A training of a sweep, as it is recorded: one line of JSON."""

    search: str  # of which search of the sweep
    number: int  # from 0, in the search
    settings: dict[str, Any]  # those that are searched
    state: str  # complete; pruned: stopped before its end; failed
    value: float | None  # on the dev part, of the finished model; of a pruned one, its last epoch
    epochs: list[float] = field(default_factory=list)  # on the dev part, after each epoch
    seconds: float = 0.0
    error: str = ""  # of one that failed


def read_trials(path: Path) -> list[Trial]:
    """The trials of a file; none if there is no file."""
    known = {one.name for one in fields(Trial)}
    found = []
    for number, line in enumerate(whole_lines(path), start=1):
        try:
            values = json.loads(line)
            if not isinstance(values, dict) or not set(values) <= known:
                raise ValueError("not the fields of a trial")
            trial = Trial(**values)
            if trial.state not in (COMPLETE, PRUNED, FAILED):
                raise ValueError("not a state of a trial")
            found.append(trial)
        except (ValueError, TypeError) as error:
            raise DataError(
                f"{path}, line {number}: expected a trial of a sweep, got something else; "
                "give another folder, or remove the line"
            ) from error
    return found


def append_trial(path: Path, trial: Trial) -> None:
    """Add a line and wait until it is on disk; only the process that holds the folder may."""
    with path.open("a+b") as file:
        write_line(file, path, asdict(trial))


@dataclass(frozen=True, eq=False)
class Search:
    """The parts of one search, by position in the corpus; its test part it does not know."""

    name: str
    train: Indices  # sets the weights
    dev: Indices  # chooses epoch and settings


@dataclass(eq=False)
class Searches:
    """What all trials of a sweep share."""

    corpus: Corpus
    maker: Maker
    searches: Sequence[Search]
    metric: str
    seed: int
    # On each worker its own. One: what is read by other settings may be read by others each time.
    texts: EncodedOnce = field(default_factory=partial(EncodedOnce, most=1))

    def __getstate__(self) -> dict[str, Any]:
        return vars(self) | {"texts": EncodedOnce(most=1)}

    def part(self, positions: Indices) -> Part:
        """Texts and labels at the positions."""
        return take(self.corpus.texts, positions), take(self.corpus.labels, positions)


@dataclass(frozen=True)
class TrialTask:
    """A trial to make."""

    search: int  # which of the searches
    number: int
    settings: Setting
    others: Sequence[Sequence[float]]  # what finished trials of the search had after each epoch


def run_trial(searches: Searches, task: TrialTask) -> Trial:
    """Train once and look at the dev part; a training that diverges is a trial that failed."""
    search = searches.searches[task.search]
    started = time.perf_counter()
    watch = _Watch(searches.metric, task.others)
    value, state, said = None, COMPLETE, ""
    try:
        with quiet_fits():
            value = _dev_figure(searches, search, task.settings, watch)
    except _Stopped:
        value, state = watch.values[-1], PRUNED
    except (ConfigError, DataError):
        raise  # of settings or data: the next trial would fail as well
    except AdaSentError as error:
        state, said = FAILED, str(error)
    if value is not None and not math.isfinite(value):
        value, state, said = None, FAILED, f"the {searches.metric} of the dev part is {value}"
    return Trial(
        search=search.name,
        number=task.number,
        settings=dict(task.settings),
        state=state,
        value=value,
        epochs=watch.values,
        seconds=round(time.perf_counter() - started, 3),
        error=said,
    )


def _dev_figure(searches: Searches, search: Search, setting: Setting, watch: _Watch) -> float:
    estimator = searches.maker(**{"random_state": searches.seed} | dict(setting))
    training, dev = searches.part(search.train), searches.part(search.dev)
    if hasattr(estimator, "encode"):
        from adasent.estimators.neural import fit_encoded

        encoded = searches.texts(search, estimator, training, dev)
        fit_encoded([estimator], [encoded], callbacks=[watch])
        if estimator.history_.interrupted:
            raise KeyboardInterrupt
    else:
        estimator.fit(*training)
    return figure_of(searches.metric, estimator, *dev)


def figure_of(metric: str, estimator: Any, texts: list[str], labels: Sequence[Any]) -> float:
    """A metric of a fitted model on texts."""
    if metric in LOWER_IS_BETTER:
        found = judge(estimator.predict_proba(texts), estimator.classes_.tolist(), labels)
        return math.inf if found.log_loss is None else found.log_loss
    report = score_predictions(labels, estimator.predict(texts).tolist())
    value: float = getattr(report, metric)
    return value


class _Stopped(Exception):
    """Raised at the end of an epoch, to end a training that is not worth its time."""


class _Watch(Callback):
    """Notes the figure of each epoch, and stops a training that falls behind the others."""

    def __init__(self, metric: str, others: Sequence[Sequence[float]]) -> None:
        self.values: list[float] = []
        self._column = f"valid_{metric}"
        self._pruner = Pruner(metric, others)
        self._n_epochs = 0

    def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
        self._n_epochs = n_epochs

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        self.values.append(float(f"{row[self._column]:.6g}"))  # enough for a record
        is_last = epoch + 1 == self._n_epochs  # then nothing is won by stopping
        if not is_last and self._pruner.stops(epoch, self.values[-1]):
            raise _Stopped

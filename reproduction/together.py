"""Many tasks in, a record for each out: networks trained as one on one device.

The records are those of :func:`reproduction.run.run_task`, but for rounding: the same parts,
settings, seeds and rule of choice. Texts are encoded once for all systems and settings of a fold.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch

from adasent.data.corpus import Indices, Label
from adasent.errors import AdaSentWarning
from adasent.estimators.neural import Encoded, NeuralClassifier, fit_encoded, network_settings
from adasent.evaluation.records import FoldRecord
from adasent.training.config import TrainingConfig
from adasent.training.loop import default_device
from reproduction.run import Trial, final_settings, make_estimator, make_record
from reproduction.specs import Unit
from reproduction.store import Store
from reproduction.tasks import Task, Tasks

#: Models of a stack: more gain little and take memory.
MOST = 60

Trees = list[np.ndarray] | None


class TextsOnce:
    """Encodes the texts of a fold for the first system that asks, and keeps them for the others."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Hashable, ...], Encoded] = {}

    def __call__(self, estimator: NeuralClassifier, task: Task, *, both: bool = False) -> Encoded:
        """The training part and, for validation, the dev part; or both to train on."""
        unit = task.unit
        names = tuple(one["name"] for one in task.spec["vectors"])
        source = unit.data, unit.rule, names, estimator.extra_words
        key = (*source, unit.fold, unit.seed, both)
        training, validation = (task.both, None) if both else (task.train, task.dev)
        if key not in self._kept:
            if not any(known[: len(source)] == source for known in self._kept):
                self._kept.clear()  # of the set before
            aside = None if validation is None else task.part(validation)
            encoded = estimator._encode(*task.part(training), validation=aside)
            self._kept[key] = _with_trees(encoded, None, None)  # the next system may want none
        trees = [
            None if part is None else _trees(estimator, task, part)
            for part in (training, validation)
        ]
        return self._kept[key] if trees[0] is None else _with_trees(self._kept[key], *trees)


def _with_trees(encoded: Encoded, training: Trees, validation: Trees) -> Encoded:
    aside = encoded.validation
    return encoded._replace(
        training=replace(encoded.training, heights=training),
        validation=None if aside is None else replace(aside, heights=validation),
    )


def _trees(estimator: NeuralClassifier, task: Task, part: Indices) -> Trees:
    from adasent.text.encoder import tokenise
    from adasent.text.tokenize import get_tokenizer

    texts, _ = task.part(part)
    tokens = tokenise(texts, get_tokenizer(estimator.tokenizer), estimator.max_words)
    return estimator._parse(texts, tokens)


def run_together(
    units: Iterable[Unit], tasks: Tasks, store: Store, *, texts: TextsOnce | None = None
) -> Iterator[tuple[Unit, FoldRecord]]:
    """Run the units of networks that the store does not have, those alike in stacks.

    Parameters
    ----------
    units
        Best ordered by set, so that texts are encoded once.

    Yields
    ------
    Each unit with its new record, when its stack is done.
    """
    texts = texts or TextsOnce()
    missing = [task for unit in units if not store.has(unit, (task := tasks.task(unit)).key)]
    groups: dict[Hashable, list[Task]] = {}
    for task in missing:
        groups.setdefault((task.unit.data, task.unit.rule, task.unit.system), []).append(task)
    for group in groups.values():
        size = max(1, MOST // len(group[0].settings))
        for start in range(0, len(group), size):
            for task, record in _run_what_fits(group[start : start + size], texts):
                store.add(task.unit, record)
                yield task.unit, record


def _run_what_fits(group: list[Task], texts: TextsOnce) -> Iterator[tuple[Task, FoldRecord]]:
    """All tasks in one stack; in two, each half as large, if the device has no room for it."""
    try:
        records = _run(group, texts)
    except torch.OutOfMemoryError:
        if len(group) == 1:
            raise
    else:
        yield from zip(group, records, strict=True)
        return
    torch.cuda.empty_cache()
    half = len(group) // 2
    yield from _run_what_fits(group[:half], texts)
    yield from _run_what_fits(group[half:], texts)


class _Choice(NamedTuple):
    """What the dev part said of the settings of a task, and the estimator that it chose."""

    trials: list[Trial]
    chosen: int
    estimator: NeuralClassifier


def _run(group: list[Task], texts: TextsOnce) -> list[FoldRecord]:
    """Every setting of every task at once; then each task's choice, and its test."""
    started = time.perf_counter()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"of \d+ texts", AdaSentWarning)
        choices = _choose(group, texts)
        tested = _train_again(group, choices, texts)
        seconds = (time.perf_counter() - started) / len(group)
        n_models = sum(len(task.settings) for task in group)
        device = f"{_device_name()}, {n_models} models together"
        return [
            make_record(
                task,
                choice.trials,
                choice.chosen,
                _predict(estimator, task),
                seconds=seconds,
                device=device,
                refitted=task.refit,
                before=_predict(choice.estimator, task) if task.refit else (),
            )
            for task, choice, estimator in zip(group, choices, tested, strict=True)
        ]


def _predict(estimator: NeuralClassifier, task: Task) -> list[Label]:
    labels: list[Label] = estimator.predict(task.part(task.test)[0]).tolist()
    return labels


def _choose(group: list[Task], texts: TextsOnce) -> list[_Choice]:
    """Train every setting of every task; of each task, keep the best on its dev part."""
    started = time.perf_counter()
    estimators: list[list[NeuralClassifier]] = [
        [make_estimator(task, setting) for setting in task.settings] for task in group
    ]
    for row in estimators:
        _check_settings(row)
    _fit(
        [
            (estimator, texts(estimator, task))
            for task, row in zip(group, estimators, strict=True)
            for estimator in row
        ]
    )
    seconds = (time.perf_counter() - started) / sum(map(len, estimators))
    choices = []
    for row in estimators:
        trials = [_trial(estimator, seconds) for estimator in row]
        chosen = max(range(len(row)), key=lambda j: (trials[j].accuracy, -j))
        choices.append(_Choice(trials, chosen, row[chosen]))
    return choices


def _train_again(
    group: list[Task], choices: list[_Choice], texts: TextsOnce
) -> list[NeuralClassifier]:
    """What is tested: the chosen estimators, trained on both parts where the protocol wants it."""
    tested = [choice.estimator for choice in choices]
    again = [i for i, task in enumerate(group) if task.refit]
    for i in again:
        trials, chosen, _ = choices[i]
        setting = group[i].settings[chosen] | final_settings(trials[chosen])
        tested[i] = make_estimator(group[i], setting)
    _fit([(tested[i], texts(tested[i], group[i], both=True)) for i in again])
    return tested


def _fit(pairs: list[tuple[NeuralClassifier, Encoded]]) -> None:
    if not pairs:
        return
    estimators, texts = zip(*pairs, strict=True)
    fit_encoded(estimators, texts)
    if any(estimator.history_.interrupted for estimator in estimators):
        raise KeyboardInterrupt  # a run cut short is not a result


def _device_name() -> str:
    device = default_device()
    return torch.cuda.get_device_name(device) if device.type == "cuda" else str(device)


def _check_settings(row: list[NeuralClassifier]) -> None:
    """Settings that change how texts are read cannot share them."""
    free = {*network_settings(row[0].config_type)}
    free |= set(TrainingConfig().to_dict())
    first = row[0].get_params(deep=False)
    for other in row[1:]:
        values = other.get_params(deep=False)
        changed = {n for n in first if n not in free and first[n] is not values[n] != first[n]}
        assert not changed, f"settings of one unit read texts differently: {changed}"


def _trial(estimator: NeuralClassifier, seconds: float) -> Trial:
    history = estimator.history_
    assert history.best_epoch is not None
    accuracy = history.rows[history.best_epoch]["valid_accuracy"]
    return Trial(accuracy, seconds, list(history.rows), history.best_epoch)

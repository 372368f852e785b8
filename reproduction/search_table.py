"""The search for AdaSent's recipe on dev parts: reads its records and tells what each setting had.

``search/NAME.jsonl`` has a line for each training: ``data``, ``fold``, ``seed``, the name of a
``base`` and the ``settings`` that differ from it, ``valid_accuracy`` (of each epoch), ``n_dev``,
``device``, ``versions`` and ``data_sha256``. No test part was looked at.
"""

from __future__ import annotations

import json
import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from adasent.errors import DataError
from reproduction.render import Cell, Table
from reproduction.wording import EMPTY, counted

#: Epochs that are averaged, the one in question in the middle.
WINDOW = 3


@dataclass(frozen=True)
class Trial:
    """One training of a search."""

    search: str  # name of the file
    data: str
    fold: int
    seed: int
    base: str
    settings: str  # that differ from the base, as JSON with sorted names
    curve: tuple[float, ...]  # dev accuracy of each epoch
    n_dev: int
    device: str


def read_search(folder: Path) -> list[Trial]:
    """All trials below a folder; none if there is no folder.

    Raises
    ------
    DataError
        For a line that is not a trial.
    """
    trials = []
    for path in sorted(folder.glob("*.jsonl")):
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            try:
                trials.append(_trial(path.stem, json.loads(line)))
            except (ValueError, TypeError, KeyError) as error:
                raise DataError(
                    f"{path}, line {number}: expected a run of the search, got something else"
                ) from error
    return trials


def _trial(search: str, row: dict[str, Any]) -> Trial:
    curve = tuple(float(value) for value in row["valid_accuracy"])
    if not curve:
        raise ValueError("no epoch")
    return Trial(
        search,
        row["data"],
        row["fold"],
        row["seed"],
        row["base"],
        json.dumps(row["settings"], sort_keys=True),
        curve,
        row["n_dev"],
        row["device"],
    )


def peak(curves: Iterable[Sequence[float]]) -> float:
    """The highest point of the smoothed mean curve.

    A curve that ended early goes on with its last value. The curves are averaged epoch by epoch,
    the mean is smoothed over three epochs (at the ends, over the two there are), and its highest
    value counts: one epoch for all runs, not the luckiest of each.
    """
    rows = [list(curve) for curve in curves]
    length = max(map(len, rows))
    mean = np.mean([row + row[-1:] * (length - len(row)) for row in rows], axis=0)
    half = WINDOW // 2
    smooth = [mean[max(0, i - half) : i + half + 1].mean() for i in range(length)]
    return float(max(smooth))


def search_tables(trials: Sequence[Trial], sets: Sequence[str]) -> list[Table]:
    """A table for each file, the best setting first; nothing without trials."""
    by_search: dict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        by_search[trial.search].append(trial)
    return [_table(name, found, sets) for name, found in by_search.items()]


def search_note(trials: Sequence[Trial]) -> str:
    """How large the search was, and what its figures are."""
    settings = {(trial.search, trial.base, trial.settings) for trial in trials}
    devices = sorted({trial.device for trial in trials})
    return (
        f"The search had {counted(len(trials), 'run')} of {counted(len(settings), 'setting')} "
        f"({', '.join(devices)}). Dev accuracy in percent: the curves of the runs of a setting on "
        "a set (a point for each epoch; one that ended early goes on with its last value) are "
        f"averaged, the mean curve is smoothed over {WINDOW} epochs, and its highest point is "
        "shown. mean: over the sets, for settings that were run on all of them."
    )


def _table(name: str, trials: Sequence[Trial], sets: Sequence[str]) -> Table:
    groups: dict[tuple[str, str], dict[str, list[Trial]]] = defaultdict(lambda: defaultdict(list))
    for trial in trials:
        groups[trial.base, trial.settings][trial.data].append(trial)
    columns = [data for data in sets if any(data in found for found in groups.values())]
    lines = []
    for (base, settings), found in groups.items():
        peaks = {data: peak(trial.curve for trial in runs) for data, runs in found.items()}
        whole = statistics.fmean(peaks.values()) if set(columns) <= peaks.keys() else None
        lines.append((whole, base, settings, peaks, sum(map(len, found.values()))))
    lines.sort(key=lambda line: (-(line[0] or 0.0), line[1:3]))
    top = {data: max(line[3].get(data, 0.0) for line in lines) for data in columns}
    rows = []
    for whole, base, settings, peaks, n in lines:
        row = [Cell(_words(base, settings)), Cell(str(n))]
        for data in columns:
            found_peak = peaks.get(data)
            row.append(
                EMPTY
                if found_peak is None
                else Cell(f"{100 * found_peak:.2f}", bold=found_peak == top[data])
            )
        row.append(EMPTY if whole is None else Cell(f"{100 * whole:.2f}", whole == lines[0][0]))
        rows.append(tuple(row))
    head = ("Setting", "runs", *columns, "mean")
    return Table(f"search-{name}", f"Search on dev parts: {name}", head, tuple(rows))


def _words(base: str, settings: str) -> str:
    """``base``, or ``base with a 1, b 2``."""
    changed = ", ".join(f"{key} {value}" for key, value in json.loads(settings).items())
    return f"{base} with {changed}" if changed else base

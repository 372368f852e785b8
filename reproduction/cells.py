"""Gathers records into cells, one for each system, set and fold rule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison, compare, wilson
from adasent.evaluation.summary import Summary, summarise
from reproduction.origins import Differences, differences

#: Names the system that all others are compared with.
OURS = "adasent"


def extra_words(spec: Mapping[str, Any]) -> int | None:
    """How many words beside those of the training texts a run knew; None if it read no vectors."""
    found: int | None = spec.get("extra_words", spec.get("defaults", {}).get("extra_words"))
    return found


class Place(NamedTuple):
    """Where a cell stands."""

    system: str
    data: str
    rule: str


@dataclass(frozen=True)
class Runs:
    """The records of a cell of Table 2, all made in the same way: one for each fold and seed."""

    records: tuple[FoldRecord, ...]

    @property
    def n_runs(self) -> int:
        """How many there should be: folds, or seeds where the split is official."""
        first = self.records[0]
        n_seeds: int = first.spec.get("n_seeds", 1)
        return first.n_folds * n_seeds

    @property
    def complete(self) -> bool:
        """Whether they are all here."""
        return len(self.records) == self.n_runs

    def summary(self) -> Summary:
        """Of the runs. Of a single test part the interval is Wilson's: seeds do not vary texts."""
        found = summarise([record.accuracy for record in self.records])
        first = self.records[0]
        if first.n_folds > 1 or not self.complete:
            return found
        low, high = wilson(round(found.mean * first.n_test), first.n_test)
        return Summary(found.n, found.mean, found.sd, low, high)

    @cached_property
    def differences(self) -> Differences:
        """In which device and versions they differ."""
        return differences(self.records)

    @cached_property
    def shares(self) -> dict[int, float]:
        """Of each text of the corpus, by its position: the share of its runs that had it right."""
        right: dict[int, list[bool]] = defaultdict(list)
        for record in self.records:
            for position, true, predicted in zip(
                record.test, record.true, record.predicted, strict=True
            ):
                right[position].append(true == predicted)
        return {position: sum(found) / len(found) for position, found in right.items()}


def table2_cells(records: Iterable[FoldRecord]) -> dict[Place, Runs]:
    """Cells by place. Where a cell was run in several ways, the way of its last record counts."""
    found: dict[Place, list[FoldRecord]] = defaultdict(list)
    for record in records:
        found[Place(record.spec["system"], record.data, record.rule)].append(record)
    return {place: Runs(_latest(rows)) for place, rows in found.items()}


def _latest(rows: list[FoldRecord]) -> tuple[FoldRecord, ...]:
    last = rows[-1]
    way = (last.spec, last.sha256, last.n_folds)
    kept = {(row.fold, row.seed): row for row in rows if (row.spec, row.sha256, row.n_folds) == way}
    return tuple(kept[run] for run in sorted(kept))


@dataclass(frozen=True)
class Variance:
    """Cells of Table 3: the accuracies of runs that differ in setting and initialisation.

    Attributes
    ----------
    scores
        By system and set, one for each seed.
    n_runs
        How many a complete cell has.
    differences
        In which device and versions the runs of a cell differ, by system and set.
    folds
        That the runs were tested on, by system and set.
    """

    scores: dict[tuple[str, str], list[float]]
    n_runs: int
    differences: dict[tuple[str, str], Differences] = field(default_factory=dict)
    folds: dict[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)

    def summary(self, system: str, data: str) -> Summary | None:
        """Of a complete cell."""
        scores = self.scores.get((system, data), [])
        return summarise(scores) if len(scores) == self.n_runs else None

    def lead(self, rival: str, data: str, system: str = OURS) -> float | None:
        """A system's mean less the rival's; None where a cell is missing or the folds differ."""
        ours, theirs = self.summary(system, data), self.summary(rival, data)
        same = self.folds.get((system, data)) == self.folds.get((rival, data))
        return ours.mean - theirs.mean if ours and theirs and same else None


def variance(records: Iterable[FoldRecord], n_runs: int) -> Variance:
    """Cells of Table 3. Where one was run in several ways, the way of its last record counts."""
    found: dict[tuple[str, str], list[FoldRecord]] = defaultdict(list)
    for record in records:
        found[record.spec["system"], record.data].append(record)
    scores, differing, folds = {}, {}, {}
    for place, rows in found.items():
        by_seed = {row.seed: row for row in rows if _way(row) == _way(rows[-1])}
        kept = [by_seed[seed] for seed in sorted(by_seed)]
        scores[place] = [row.accuracy for row in kept]
        differing[place] = differences(kept)
        folds[place] = tuple(row.fold for row in kept)
    return Variance(scores, n_runs, differing, folds)


def _way(record: FoldRecord) -> tuple[object, ...]:
    """How a run of Table 3 was made, but for the setting: each run has its own."""
    spec = {name: value for name, value in record.spec.items() if name != "settings"}
    # Runs on several folds say which in their spec; those that do not are on one and the same.
    fold = None if "folds" in spec else record.fold
    return spec, fold, record.n_folds, record.sha256


def compare_with_ours(cells: Mapping[Place, Runs], place: Place) -> Comparison | None:
    """AdaSent against the system of the cell, on the same texts; None where that cannot be."""
    return compare_cells(cells, place._replace(system=OURS), place)


def compare_cells(cells: Mapping[Place, Runs], one: Place, other: Place) -> Comparison | None:
    """The first against the second, on the same texts; None where that cannot be."""
    if one == other or one not in cells or other not in cells:
        return None
    first, second = cells[one], cells[other]
    if not (first.complete and second.complete) or first.shares.keys() != second.shares.keys():
        return None
    positions = sorted(first.shares)
    return compare(*(np.array([runs.shares[i] for i in positions]) for runs in (first, second)))

"""Records in; one cell for each system, set and fold rule out: its scores and its answers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison, compare, wilson
from adasent.evaluation.summary import Summary, summarise

#: Names the system that all others are compared with.
OURS = "adasent"


class Place(NamedTuple):
    """Where a cell stands."""

    system: str
    data: str
    rule: str


@dataclass(frozen=True)
class Runs:
    """The records of a cell of Table 2, a fold each, all made in the same way."""

    records: tuple[FoldRecord, ...]

    @property
    def n_folds(self) -> int:
        """How many there should be."""
        return self.records[0].n_folds

    @property
    def complete(self) -> bool:
        """Whether there is a record for each fold."""
        return len(self.records) == self.n_folds

    def summary(self) -> Summary:
        """Of the folds; of a single test part the interval is Wilson's."""
        found = summarise([record.accuracy for record in self.records])
        if found.n > 1 or not self.complete:
            return found
        record = self.records[0]
        low, high = wilson(round(record.accuracy * record.n_test), record.n_test)
        return Summary(1, found.mean, None, low, high)

    def answers(self) -> dict[int, bool]:
        """Whether each text of the corpus was labelled rightly, by its position."""
        return {
            position: true == predicted
            for record in self.records
            for position, true, predicted in zip(
                record.test, record.true, record.predicted, strict=True
            )
        }


def table2_cells(records: Iterable[FoldRecord]) -> dict[Place, Runs]:
    """Cells by place. Where a cell was run in several ways, the way of its last record counts."""
    found: dict[Place, list[FoldRecord]] = defaultdict(list)
    for record in records:
        found[Place(record.spec["system"], record.data, record.rule)].append(record)
    return {place: Runs(_latest(rows)) for place, rows in found.items()}


def _latest(rows: list[FoldRecord]) -> tuple[FoldRecord, ...]:
    last = rows[-1]
    kept = {
        row.fold: row
        for row in rows
        if (row.spec, row.seed, row.sha256, row.n_folds)
        == (last.spec, last.seed, last.sha256, last.n_folds)
    }
    return tuple(kept[fold] for fold in sorted(kept))


def table3_cells(records: Iterable[FoldRecord]) -> dict[tuple[str, str], list[float]]:
    """Accuracies by system and set, one for each seed; of equal seeds the last record counts."""
    found: dict[tuple[str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        found[record.spec["system"], record.data][record.seed] = record.accuracy
    return {place: list(by_seed.values()) for place, by_seed in found.items()}


def compare_with_ours(cells: Mapping[Place, Runs], place: Place) -> Comparison | None:
    """AdaSent against the system of the cell, on the same texts; None where that cannot be."""
    ours, theirs = cells.get(place._replace(system=OURS)), cells.get(place)
    if ours is None or theirs is None or place.system == OURS:
        return None
    first, second = ours.answers(), theirs.answers()
    if not (ours.complete and theirs.complete) or first.keys() != second.keys():
        return None
    positions = sorted(first)
    return compare(
        np.array([first[i] for i in positions]), np.array([second[i] for i in positions])
    )

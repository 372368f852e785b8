"""Table of the folds drawn anew: how far a mean depends on the division into folds.

The first division is Table 2's; the records of the others are in ``partitions``. Of a set with an
official split only the training and the dev part are divided anew, with ten further seeds of the
training.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison, compare
from reproduction.cells import OURS, Place, Runs, table2_cells
from reproduction.render import Cell, Table
from reproduction.specs import SystemSpec
from reproduction.wording import EMPTY, MARKS, interval, listed, mark, missing_note, signed


class Partitions:
    """The complete cells of every division, random folds."""

    def __init__(self, first: Mapping[Place, Runs], records: Iterable[FoldRecord]) -> None:
        by_seed: dict[int, list[FoldRecord]] = defaultdict(list)
        for record in records:
            by_seed[record.spec["fold_seed"]].append(record)
        cells = {seed: table2_cells(rows) for seed, rows in sorted(by_seed.items())}
        self.n_divisions = 1 + len(cells)
        self._first = first
        self._again = cells

    def runs(self, system: str, data: str) -> list[Runs]:
        """Those of each division that is complete, Table 2's first."""
        place = Place(system, data, "random")
        found = [self._first.get(place), *(cells.get(place) for cells in self._again.values())]
        return [runs for runs in found if runs is not None and runs.complete]

    def means(self, system: str, data: str) -> list[float] | None:
        """Of every division in percent; None where one is missing."""
        found = [100 * runs.summary().mean for runs in self.runs(system, data)]
        return found if len(found) == self.n_divisions > 1 else None

    def test(self, rival: str, data: str) -> Comparison | None:
        """AdaSent against a rival over all divisions; None where one is missing.

        A text counts with its share of right answers.
        """
        if rival == OURS or any(self.means(name, data) is None for name in (OURS, rival)):
            return None
        shares = [_shares(self.runs(name, data)) for name in (OURS, rival)]
        if shares[0].keys() != shares[1].keys():
            return None
        return compare(*(np.array([one[i] for i in sorted(one)]) for one in shares))


def _shares(divisions: Sequence[Runs]) -> dict[int, float]:
    """Of each text, the mean over the divisions; every division tests every text."""
    return {
        position: statistics.fmean(runs.shares[position] for runs in divisions)
        for position in divisions[0].shares
    }


def partition_tables(
    found: Partitions, systems: Sequence[SystemSpec], sets: Sequence[str]
) -> list[Table]:
    """Means of each division and over all, and AdaSent less the others; nothing without records."""
    if found.n_divisions == 1:
        return []
    rows, n_missing = [], 0
    for system in systems:
        means = {data: found.means(system.name, data) for data in sets}
        n_missing += sum(one is None for one in means.values())
        for i in range(found.n_divisions):
            row = [EMPTY if one is None else Cell(f"{one[i]:.2f}") for one in means.values()]
            rows.append((Cell(system.title), Cell(str(i + 1)), *row))
        whole = [
            EMPTY if one is None else Cell(f"{statistics.fmean(one):.2f}", bold=True)
            for one in means.values()
        ]
        rows.append((Cell(system.title), Cell("all"), *whole))
    for system in systems:
        tests = [found.test(system.name, data) for data in sets]
        if system.name != OURS:
            rows.append((Cell(f"AdaSent − {system.title}"), Cell("all"), *map(_difference, tests)))
            limits = [
                EMPTY if t is None else interval(t.bootstrap.low, t.bootstrap.high) for t in tests
            ]
            rows.append((Cell(""), Cell("95 %"), *limits))
    n = found.n_divisions
    notes = (
        f"Mean accuracy in percent of {n} divisions into random folds, each with its own dev parts "
        "and seed of the training; the first is that of Table 2. With an official test part (TREC) "
        "there are no folds: each division has its own dev part and ten seeds.",
        f"AdaSent −: every text of a set counts with its {n} answers (TREC: with all its runs); "
        f"95 %: interval of the paired bootstrap. {MARKS}",
        *missing_note(n_missing, len(systems) * len(sets), "cells"),
    )
    title = f"Table 2 on {n} divisions into folds: {listed([system.title for system in systems])}"
    return [Table("partitions", title, ("Model", "folds", *sets), tuple(rows), notes, n_missing)]


def _difference(test: Comparison | None) -> Cell:
    return EMPTY if test is None else Cell(signed(test.bootstrap.difference) + mark(test))

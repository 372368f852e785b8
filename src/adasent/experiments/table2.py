"""Records in; the paper's Table 2 out: ours beside the paper's, both fold rules, every test.

Nothing of ours is typed: a cell without records says that it is missing, and missing cells are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison
from adasent.experiments.cells import Place, Runs, compare_with_ours, table2_cells
from adasent.experiments.paper import paper_accuracy
from adasent.experiments.render import Cell, Table
from adasent.experiments.specs import RULES, SystemSpec
from adasent.experiments.wording import (
    BETTER,
    EMPTY,
    MISSING,
    WORSE,
    columns,
    interval,
    mark,
    mean_and_sd,
    missing_note,
    p_value,
    signed,
)

_MARKS = (
    f"{WORSE} below AdaSent, {BETTER} above it: both McNemar's test pooled over the folds and the "
    "paired bootstrap support the difference at the 5 % level, each comparison on its own."
)


def table2(
    records: Iterable[FoldRecord],
    systems: Sequence[SystemSpec],
    sets: Sequence[str],
    grouped: Sequence[str],
) -> list[Table]:
    """Accuracy of every system on every set; the grouped folds; and every test behind the marks.

    Parameters
    ----------
    grouped
        Those of the sets that have grouped folds beside the random ones.
    """
    results = _Results(records, systems, sets)
    both = [data for data in sets if data in grouped]
    tables = [_accuracy(results), _tests(results, both)]
    if both:
        tables.insert(1, _fold_rules(results, both))
    return tables


class _Results:
    """The cells, how each compares with AdaSent's, and the best of each column."""

    def __init__(
        self, records: Iterable[FoldRecord], systems: Sequence[SystemSpec], sets: Sequence[str]
    ) -> None:
        self.systems, self.sets = systems, sets
        self.runs: dict[Place, Runs] = table2_cells(records)
        self.tests: dict[Place, Comparison | None] = {
            place: compare_with_ours(self.runs, place) for place in self.runs
        }
        names = {system.name for system in systems}
        self._best: dict[tuple[str, str], float] = {}
        for place, runs in self.runs.items():
            if place.system in names and runs.complete:
                column, mean = (place.data, place.rule), runs.summary().mean
                self._best[column] = max(mean, self._best.get(column, mean))

    def is_complete(self, place: Place) -> bool:
        return place in self.runs and self.runs[place].complete

    def cell(self, place: Place) -> Cell:
        runs = self.runs.get(place)
        if runs is None:
            return MISSING
        summary = runs.summary()
        if not runs.complete:
            return Cell(f"{mean_and_sd(summary)} ({len(runs.records)}/{runs.n_folds})")
        is_best = summary.mean == self._best.get((place.data, place.rule))
        return Cell(mean_and_sd(summary) + mark(self.tests[place]), bold=is_best)


def _accuracy(results: _Results) -> Table:
    rows, n_missing = [], 0
    for system in results.systems:
        row = [Cell(system.title)]
        for data in results.sets:
            place = Place(system.name, data, "random")
            said = paper_accuracy(system.title, data)
            row += [EMPTY if said is None else Cell(f"{said:.1f}"), results.cell(place)]
            n_missing += not results.is_complete(place)
        rows.append(tuple(row))
    notes = (
        "Accuracy in percent, mean ± standard deviation over the folds; TREC: official test part.",
        _MARKS,
        *missing_note(n_missing, len(results.systems) * len(results.sets), "cells"),
        *_standing(results),
    )
    title = "Table 2. Classification accuracy, random folds"
    return Table("table2", title, columns(results.sets), tuple(rows), notes, n_missing)


def _standing(results: _Results) -> list[str]:
    """A sentence on each rival that has been compared on every set."""
    lines = []
    for system in results.systems:
        found = [results.tests.get(Place(system.name, data, "random")) for data in results.sets]
        done = [test for test in found if test is not None]
        if len(done) < len(results.sets):
            continue
        ahead = [test for test in done if test.bootstrap.difference > 0]
        lines.append(
            f"AdaSent is ahead of {system.title} on {len(ahead)} of {len(done)} sets, "
            f"supported on {sum(test.supported for test in ahead)}."
        )
    return lines


def _fold_rules(results: _Results, sets: Sequence[str]) -> Table:
    rows, n_missing = [], 0
    for system in results.systems:
        row = [Cell(system.title)]
        for data in sets:
            random, grouped = (Place(system.name, data, rule) for rule in RULES)
            row += [results.cell(random), results.cell(grouped)]
            n_missing += not results.is_complete(grouped)
            if results.is_complete(random) and results.is_complete(grouped):
                before, after = (results.runs[p].summary().mean for p in (random, grouped))
                row.append(Cell(signed(after - before)))
            else:
                row.append(EMPTY)
        rows.append(tuple(row))
    notes = (
        "grouped: texts of equal words are never on both sides of a split (TREC: the training "
        "questions that stand in the official test part are left out).",
        _MARKS,
        *missing_note(n_missing, len(results.systems) * len(sets), "grouped cells"),
    )
    head = ("Model", *(f"{data} {what}" for data in sets for what in (*RULES, "Δ")))
    title = "Table 2, both fold rules"
    return Table("table2-grouped", title, head, tuple(rows), notes, n_missing)


def _tests(results: _Results, grouped: Sequence[str]) -> Table:
    rows = [
        _test_row(results, Place(system.name, data, rule), system.title)
        for data in results.sets
        for rule in (RULES if data in grouped else RULES[:1])
        for system in results.systems
        if Place(system.name, data, rule) in results.runs
    ]
    notes = (
        "95 %: interval of the mean over the folds by Student's t (folds share training texts, so "
        "that it is too narrow rather than too wide); of a single test part, Wilson's. AdaSent −: "
        "AdaSent less this system, with the interval of a paired bootstrap. right alone: texts "
        "that only AdaSent : only this system has right. p: McNemar's test; bold where both tests "
        "support a difference.",
    )
    head = ("Set", "Model", "mean", "sd", "95 %", "folds", "AdaSent −", "95 %", "right alone", "p")
    return Table("table2-tests", "Table 2, intervals and paired tests", head, tuple(rows), notes)


def _test_row(results: _Results, place: Place, title: str) -> tuple[Cell, ...]:
    runs, test = results.runs[place], results.tests[place]
    summary = runs.summary()
    row = (
        Cell(f"{place.data}, {place.rule}"),
        Cell(title),
        Cell(f"{100 * summary.mean:.2f}"),
        EMPTY if summary.sd is None else Cell(f"{100 * summary.sd:.2f}"),
        interval(summary.low, summary.high),
        Cell(f"{summary.n} of {runs.n_folds}"),
    )
    if test is None:
        return (*row, *[EMPTY] * 4)
    return (
        *row,
        Cell(signed(test.bootstrap.difference)),
        interval(test.bootstrap.low, test.bootstrap.high),
        Cell(f"{test.mcnemar.n_first} : {test.mcnemar.n_second}"),
        Cell(p_value(test.mcnemar.p), bold=test.supported),
    )

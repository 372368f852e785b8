"""The paper's Table 2, ours beside the paper's: both fold rules and every test.

Nothing of ours is typed: a cell without records says that it is missing, and missing cells are
counted.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.cells import OURS, Place
from reproduction.origins import origin_mark, origin_notes
from reproduction.paper import paper_accuracy
from reproduction.render import Cell, Table
from reproduction.results import Results
from reproduction.sizes import Sizes, largest
from reproduction.specs import RULES
from reproduction.wording import (
    EMPTY,
    MARKS,
    MISSING,
    columns,
    counted,
    interval,
    mark,
    mean_and_sd,
    missing_note,
    p_value,
    signed,
)

_MEANS = (
    "Accuracy in percent, mean ± standard deviation over the folds; with an official test part "
    "(TREC), over seeds."
)


def table2(results: Results, grouped: Sequence[str]) -> list[Table]:
    """Accuracy of every system on every set; the grouped folds; and every test behind the marks.

    Parameters
    ----------
    grouped
        Sets that have grouped folds beside the random ones.
    """
    both = [data for data in results.sets if data in grouped]
    tables = [_accuracy(results), _tests(results, both)]
    if both:
        tables.insert(1, _fold_rules(results, both))
    return tables


def short_table2(results: Results, sizes: Sizes) -> Table:
    """Our means alone, random folds, and how large the networks are: for a first page."""
    rows = []
    for system in results.systems:
        row = [Cell(system.title, bold=system.name == OURS)]
        for data in results.sets:
            place = Place(system.name, data, "random")
            mean = results.mean(*place)
            if mean is None:
                row.append(MISSING)
                continue
            marks = mark(results.tests.get(place)) + origin_mark(results.runs[place].differences)
            row.append(Cell(f"{mean:.1f}{marks}", bold=results.is_best(place)))
        if sizes:
            n_parameters = largest(sizes, system.name)
            row.append(EMPTY if n_parameters is None else Cell(f"{n_parameters:,}"))
        rows.append(tuple(row))
    n_missing = sum(row.count(MISSING) for row in rows)
    n = len(results.systems) * len(results.sets)
    notes = (
        MARKS,
        *_standing(results),
        *missing_note(n_missing, n, "cells"),
        *_origins(results, results.sets, RULES[:1]),
    )
    title = "Accuracy in percent, mean over the random folds; TREC: official test part, over seeds"
    head = ("", *results.sets, *(["parameters"] if sizes else []))
    if sizes:
        notes = (*notes, "parameters: what a network learns beside the word vectors, at most.")
    return Table("table2-short", title, head, tuple(rows), notes, n_missing)


def _cell(results: Results, place: Place) -> Cell:
    runs = results.runs.get(place)
    if runs is None:
        return MISSING
    summary, origin = runs.summary(), origin_mark(runs.differences)
    if not runs.complete:
        return Cell(f"{mean_and_sd(summary)}{origin} ({len(runs.records)}/{runs.n_runs})")
    marks = mark(results.tests[place]) + origin
    return Cell(mean_and_sd(summary) + marks, bold=results.is_best(place))


def _origins(results: Results, sets: Sequence[str], rules: Sequence[str]) -> list[str]:
    """A footnote on the cells whose runs come from different devices or versions."""
    cells = {
        (system.title, data if rule == RULES[0] else f"{data} {rule}"): found.differences
        for system in results.systems
        for data in sets
        for rule in rules
        if (found := results.runs.get(Place(system.name, data, rule))) is not None
    }
    return origin_notes(cells)


def _accuracy(results: Results) -> Table:
    rows, n_missing = [], 0
    for system in results.systems:
        row = [Cell(system.title)]
        for data in results.sets:
            place = Place(system.name, data, "random")
            said = paper_accuracy(system.in_paper, data)
            row += [EMPTY if said is None else Cell(f"{said:.1f}"), _cell(results, place)]
            n_missing += not results.is_complete(place)
        rows.append(tuple(row))
    notes = (
        _MEANS,
        MARKS,
        *missing_note(n_missing, len(results.systems) * len(results.sets), "cells"),
        *_standing(results),
        *_origins(results, results.sets, RULES[:1]),
    )
    title = "Table 2. Classification accuracy, random folds"
    return Table("table2", title, columns(results.sets), tuple(rows), notes, n_missing)


def _standing(results: Results) -> list[str]:
    """A sentence on the rivals that have been compared on every set."""
    parts = []
    for system in results.systems:
        found = [results.test(system.name, data) for data in results.sets]
        done = [test for test in found if test is not None]
        if len(done) == len(results.sets):
            ahead = [test for test in done if test.bootstrap.difference > 0]
            parts.append(f"{system.title} {len(ahead)} ({sum(test.supported for test in ahead)})")
    if not parts:
        return []
    return [
        f"Of {counted(len(results.sets), 'set')}, those on which AdaSent is ahead (in brackets: on "
        f"which both tests support it): {', '.join(parts)}."
    ]


def _fold_rules(results: Results, sets: Sequence[str]) -> Table:
    rows, n_missing = [], 0
    for system in results.systems:
        row = [Cell(system.title)]
        for data in sets:
            random, grouped = (Place(system.name, data, rule) for rule in RULES)
            row += [_cell(results, random), _cell(results, grouped)]
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
        MARKS,
        *missing_note(n_missing, len(results.systems) * len(sets), "grouped cells"),
        *_origins(results, sets, RULES),
    )
    head = ("Model", *(f"{data} {what}" for data in sets for what in (*RULES, "Δ")))
    title = "Table 2, both fold rules"
    return Table("table2-grouped", title, head, tuple(rows), notes, n_missing)


def _tests(results: Results, grouped: Sequence[str]) -> Table:
    rows = [
        _test_row(results, Place(system.name, data, rule), system.title)
        for data in results.sets
        for rule in (RULES if data in grouped else RULES[:1])
        for system in results.systems
        if Place(system.name, data, rule) in results.runs
    ]
    notes = (
        "95 %: interval of the mean over the folds by Student's t (folds share training texts, so "
        "that it is too narrow rather than too wide); of an official test part, Wilson's. "
        "AdaSent −: AdaSent less this system, with the interval of a paired bootstrap. right "
        "alone: texts that only AdaSent : only this system has right (of several runs, more often "
        "right). p: McNemar's test; bold where both tests support a difference.",
        *_origins(results, results.sets, RULES[:1]),
        *_origins(results, grouped, RULES[1:]),
    )
    head = ("Set", "Model", "mean", "sd", "95 %", "runs", "AdaSent −", "95 %", "right alone", "p")
    return Table("table2-tests", "Table 2, intervals and paired tests", head, tuple(rows), notes)


def _test_row(results: Results, place: Place, title: str) -> tuple[Cell, ...]:
    runs, test = results.runs[place], results.tests[place]
    summary = runs.summary()
    row = (
        Cell(f"{place.data}, {place.rule}"),
        Cell(title),
        Cell(f"{100 * summary.mean:.2f}{origin_mark(runs.differences)}"),
        EMPTY if summary.sd is None else Cell(f"{100 * summary.sd:.2f}"),
        interval(summary.low, summary.high),
        Cell(f"{summary.n} of {runs.n_runs}"),
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

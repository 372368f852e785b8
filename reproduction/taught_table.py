"""Rows beside Table 2: networks on an encoder, and networks that one has taught.

They know more than the sets do, so they stand apart, and no other row is compared with them but
here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reproduction.cells import OURS, Place, Runs, compare_cells
from reproduction.origins import origin_mark, origin_notes
from reproduction.render import Cell, Table
from reproduction.sizes import Sizes, largest
from reproduction.specs import RULES, SystemSpec
from reproduction.wording import (
    EMPTY,
    MISSING,
    interval,
    mean_and_sd,
    missing_note,
    p_value,
    signed,
)

#: Which rows are compared: the first less the second.
PAIRS = (
    ("gte-tuned", "gte-mean"),
    ("gte-tuned", "gte-frozen"),
    ("adasent-taught", "brnn-taught"),
    ("adasent-taught", "cbow-taught"),
    ("adasent-taught", "gte-mean"),
    ("adasent-taught", OURS),
    ("brnn-taught", "brnn"),
    ("cbow-taught", "cbow"),
)
STUDENT = "adasent-taught"
_WEB = (
    "gte-small was trained on text of the web that may hold sentences of these sets, tested ones "
    "among them: what rows on it owe to that, and rows that it taught, is not known."
)


def taught_tables(
    runs: Mapping[Place, Runs],
    rows: Sequence[SystemSpec],
    untaught: Sequence[SystemSpec],
    sets: Sequence[str],
    grouped: Sequence[str],
    sizes: Sizes,
) -> list[Table]:
    """Accuracy of the rows, and their comparisons; nothing without records of them.

    Parameters
    ----------
    runs
        Cells of these rows and of those of Table 2.
    untaught
        The rows of Table 2.
    """
    names = {row.name for row in rows}
    if not any(place.system in names for place in runs):
        return []
    columns = [(data, RULES[0]) for data in sets]
    columns += [(data, RULES[1]) for data in sets if data in grouped]
    return [
        _accuracy(runs, rows, columns, sizes),
        _comparisons(runs, {row.name: row.title for row in (*untaught, *rows)}, columns, untaught),
    ]


def _accuracy(
    runs: Mapping[Place, Runs],
    rows: Sequence[SystemSpec],
    columns: Sequence[tuple[str, str]],
    sizes: Sizes,
) -> Table:
    body, n_missing = [], 0
    for row in rows:
        cells = [Cell(row.title)]
        for data, rule in columns:
            found = runs.get(Place(row.name, data, rule))
            n_missing += found is None or not found.complete
            if found is None:
                cells.append(MISSING)
                continue
            text = mean_and_sd(found.summary()) + origin_mark(found.differences)
            n = "" if found.complete else f" ({len(found.records)}/{found.n_runs})"
            cells.append(Cell(text + n))
        n_weights = largest(sizes, row.name)
        cells.append(EMPTY if n_weights is None else Cell(f"{n_weights:,}"))
        body.append(tuple(cells))
    differing = {
        (row.title, _column(data, rule)): found.differences
        for row in rows
        for data, rule in columns
        if (found := runs.get(Place(row.name, data, rule))) is not None
    }
    notes = (
        "Accuracy in percent, mean ± standard deviation over the folds; with an official test part "
        "(TREC), over seeds. parameters: beside encoder and word vectors, at most.",
        _WEB,
        *missing_note(n_missing, len(rows) * len(columns), "cells"),
        *origin_notes(differing),
    )
    head = ("Model", *(_column(data, rule) for data, rule in columns), "parameters")
    title = "On an encoder, and taught by one"
    return Table("taught", title, head, tuple(body), notes, n_missing)


def _comparisons(
    runs: Mapping[Place, Runs],
    titles: Mapping[str, str],
    columns: Sequence[tuple[str, str]],
    untaught: Sequence[SystemSpec],
) -> Table:
    body = []
    for (data, rule), (one, other) in ((column, pair) for column in columns for pair in PAIRS):
        test = compare_cells(runs, Place(one, data, rule), Place(other, data, rule))
        if test is None or other not in titles:
            continue
        body.append(
            (
                Cell(_column(data, rule)),
                Cell(titles[one]),
                Cell(titles[other]),
                Cell(signed(test.bootstrap.difference)),
                interval(test.bootstrap.low, test.bootstrap.high),
                Cell(f"{test.mcnemar.n_first} : {test.mcnemar.n_second}"),
                Cell(p_value(test.mcnemar.p), bold=test.supported),
            )
        )
    notes = ["Signs and tests as in the table of every test; bold where both support it."]
    for data, rule in columns:
        found = [
            compare_cells(runs, Place(STUDENT, data, rule), Place(row.name, data, rule))
            for row in untaught
        ]
        tests = [test for test in found if test is not None]
        ahead = sum(test.supported and test.bootstrap.difference > 0 for test in tests)
        if tests:
            notes.append(
                f"{_column(data, rule)}: AdaSent taught is ahead of {ahead} of the {len(tests)} "
                "rows of Table 2 that can be compared, by both tests."
            )
    head = ("Set", "Model", "less", "points", "95 %", "right alone", "p")
    return Table("taught-tests", "Taught rows compared", head, tuple(body), tuple(notes))


def _column(data: str, rule: str) -> str:
    return data if rule == RULES[0] else f"{data} {rule}"

"""The paper's Table 3: how much settings and initialisation matter."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction.cells import OURS, Variance
from reproduction.origins import origin_mark, origin_notes
from reproduction.paper import paper_variance
from reproduction.render import Cell, Table
from reproduction.specs import SystemSpec
from reproduction.wording import EMPTY, MISSING, columns, mean_and_sd, missing_note


def table3(found: Variance, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[Table]:
    """Mean and spread over settings and initialisations."""
    n_runs = found.n_runs
    summaries = {
        (system.name, data): summary
        for system in systems
        for data in sets
        if (summary := found.summary(system.name, data)) is not None
    }
    best = {
        data: max((one.mean for (_, where), one in summaries.items() if where == data), default=0.0)
        for data in sets
    }
    rows, n_missing = [], 0
    for system in systems:
        row = [Cell(system.title)]
        for data in sets:
            said = paper_variance(system.title, data)
            row.append(EMPTY if said is None else Cell(f"{said[0]:.2f} ± {said[1]:.2f}"))
            summary = summaries.get((system.name, data))
            if summary is not None:
                mark = origin_mark(found.differences.get((system.name, data), ()))
                row.append(Cell(mean_and_sd(summary, 2) + mark, bold=summary.mean == best[data]))
                continue
            n_missing += 1
            n_found = len(found.scores.get((system.name, data), []))
            row.append(Cell(f"{n_found} of {n_runs} runs") if n_found else MISSING)
        rows.append(tuple(row))
    notes = [
        f"Accuracy in percent, mean ± standard deviation of {n_runs} runs on one split, each with "
        "a setting and an initialisation of its own."
    ]
    notes += missing_note(n_missing, len(systems) * len(sets), "cells")
    notes += origin_notes(
        {
            (system.title, data): found.differences.get((system.name, data), ())
            for system in systems
            for data in sets
            if (system.name, data) in summaries
        }
    )
    notes += _robustness(found, systems, sets)
    return [
        Table(
            "table3",
            "Table 3. Model variance",
            columns(sets),
            tuple(rows),
            tuple(notes),
            n_missing,
        )
    ]


def _robustness(found: Variance, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[str]:
    """On how many sets AdaSent has a higher mean or a smaller spread than each rival."""
    rivals = [system for system in systems if system.name != OURS]
    outcomes = [
        [more_robust(found, rival.name, data) for rival in rivals] for data in sets if rivals
    ]
    if not outcomes or any(one is None for row in outcomes for one in row):
        return []
    n_sets = sum(map(all, outcomes))
    return [
        f"AdaSent has a higher mean or a smaller spread than each rival on {n_sets} of "
        f"{len(sets)} sets."
    ]


def more_robust(found: Variance, rival: str, data: str) -> bool | None:
    """Whether AdaSent has a higher mean or a smaller spread; None where a cell is missing."""
    ours, theirs = found.summary(OURS, data), found.summary(rival, data)
    if ours is None or theirs is None:
        return None
    return ours.mean > theirs.mean or (ours.sd or 0) < (theirs.sd or 0)

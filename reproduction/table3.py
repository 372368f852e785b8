"""The paper's Table 3: how much settings and initialisation matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from adasent.evaluation.summary import Summary
from reproduction.cells import OURS, Variance
from reproduction.origins import origin_mark, origin_notes
from reproduction.paper import paper_variance
from reproduction.render import Cell, Table
from reproduction.specs import SystemSpec
from reproduction.wording import EMPTY, MISSING, columns, listed, mean_and_sd, missing_note


def table3(found: Variance, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[Table]:
    """Mean and spread over settings and initialisations."""
    n_runs = found.n_runs
    summaries = {
        (system.name, data): summary
        for system in systems
        for data in sets
        if (summary := found.summary(system.name, data)) is not None
    }
    best = {data: _best(found, summaries, data) for data in sets}
    rows, n_missing = [], 0
    for system in systems:
        row = [Cell(system.title)]
        for data in sets:
            said = paper_variance(system.in_paper, data)
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
        f"Accuracy in percent, mean ± standard deviation of {n_runs} runs, each with a setting and "
        "an initialisation of its own.",
        *_folds(found, systems, sets),
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
    notes += _leads(found, systems, sets)
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


def _best(found: Variance, summaries: Mapping[tuple[str, str], Summary], data: str) -> float | None:
    """The highest mean on a set; None if the systems were tested on different folds."""
    cells = [place for place in summaries if place[1] == data]
    if len({found.folds.get(place) for place in cells}) != 1:
        return None
    return max(summaries[place].mean for place in cells)


def _folds(found: Variance, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[str]:
    """A sentence on the folds that the runs were tested on."""
    used: dict[tuple[int, ...], list[str]] = {}
    for system in systems:
        per_set = {found.folds[system.name, d] for d in sets if (system.name, d) in found.folds}
        folds = tuple(sorted({fold for one in per_set for fold in one}))
        if folds:
            used.setdefault(folds, []).append(system.title)
    parts = [
        f"{listed(titles)}: {'fold' if len(folds) == 1 else 'folds'} "
        f"{listed([str(fold + 1) for fold in folds])}"
        for folds, titles in used.items()
    ]
    if not parts:
        return []
    return [
        "Tested on (the same draw of every system on the same fold; TREC: the official test part): "
        f"{'; '.join(parts)}."
    ]


def _leads(found: Variance, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[str]:
    """On how many sets AdaSent has the higher mean, for each rival on the same folds."""
    parts = []
    for rival in systems:
        leads = [found.lead(rival.name, data) for data in sets if rival.name != OURS]
        known = [lead for lead in leads if lead is not None]
        if known:
            of = f"{sum(lead > 0 for lead in known)} of {len(known)}"
            parts.append(f"{rival.title} {of}")
    if not parts:
        return []
    return [
        f"The paper's criterion is the mean over the runs. AdaSent's is higher on: "
        f"{', '.join(parts)} sets (those on which both have runs on the same folds)."
    ]

"""Records in; the paper's Table 3 out: how much settings and initialisation matter."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.summary import Summary, summarise
from adasent.experiments.cells import OURS, table3_cells
from adasent.experiments.paper import paper_variance
from adasent.experiments.render import Cell, Table
from adasent.experiments.specs import SystemSpec
from adasent.experiments.wording import EMPTY, MISSING, columns, mean_and_sd, missing_note


def table3(
    records: Iterable[FoldRecord], systems: Sequence[SystemSpec], sets: Sequence[str], n_runs: int
) -> list[Table]:
    """Mean and spread over settings and initialisations.

    Parameters
    ----------
    n_runs
        How many a cell should have.
    """
    found = table3_cells(records)
    summaries = {
        place: summarise(scores) for place, scores in found.items() if len(scores) == n_runs
    }
    best = {
        data: max(
            (summaries[s.name, data].mean for s in systems if (s.name, data) in summaries),
            default=None,
        )
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
                row.append(Cell(mean_and_sd(summary, 2), bold=summary.mean == best[data]))
                continue
            n_missing += 1
            n_found = len(found.get((system.name, data), []))
            row.append(Cell(f"{n_found} of {n_runs} runs") if n_found else MISSING)
        rows.append(tuple(row))
    notes = [
        f"Accuracy in percent, mean ± standard deviation of {n_runs} runs on one split, each with "
        "a setting and an initialisation of its own."
    ]
    notes += missing_note(n_missing, len(systems) * len(sets), "cells")
    notes += _robustness(summaries, systems, sets)
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


def _robustness(
    summaries: Mapping[tuple[str, str], Summary],
    systems: Sequence[SystemSpec],
    sets: Sequence[str],
) -> list[str]:
    """On how many sets AdaSent has a higher mean or a smaller spread than each rival."""
    rivals = [system for system in systems if system.name != OURS]
    names = [OURS, *(rival.name for rival in rivals)]
    if not rivals or any((name, data) not in summaries for name in names for data in sets):
        return []
    n_sets = sum(
        all(
            summaries[OURS, data].mean > summaries[rival.name, data].mean
            or (summaries[OURS, data].sd or 0) < (summaries[rival.name, data].sd or 0)
            for rival in rivals
        )
        for data in sets
    )
    return [
        f"AdaSent has a higher mean or a smaller spread than each rival on {n_sets} of "
        f"{len(sets)} sets."
    ]

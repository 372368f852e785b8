"""The cells of Table 3 and the ablations in; what they say of AdaSent, out."""

from __future__ import annotations

from adasent.experiments.ablation_table import DEFAULT, supported
from adasent.experiments.catalog import Catalog
from adasent.experiments.cells import OURS, Place
from adasent.experiments.report.blocks import Block, Points, Prose, Section
from adasent.experiments.table3 import more_robust
from adasent.experiments.wording import counted, listed, signed

#: Sets on which Table 3 should speak for AdaSent.
ENOUGH_SETS = 4


def robustness(catalog: Catalog) -> Section:
    """Table 3 and the standing against each rival."""
    rivals = [system for system in catalog.robust_systems if system.name != OURS]
    lines, n_enough, n_judged = [], 0, 0
    for rival in rivals:
        found = {data: more_robust(catalog.variance, rival.name, data) for data in catalog.sets}
        judged = [data for data, outcome in found.items() if outcome is not None]
        if not judged:
            continue
        won = [data for data in judged if found[data]]
        n_judged += 1
        n_enough += len(won) >= ENOUGH_SETS
        lost = [data for data in judged if not found[data]]
        lines.append(
            f"{rival.title}: AdaSent has a smaller spread or a higher mean on {len(won)} of "
            f"{counted(len(judged), 'set')}" + (f", not on {listed(lost)}." if lost else ".")
        )
    blocks: list[Block] = [*catalog.tables("table3")]
    if lines:
        blocks.append(Points(tuple(lines)))
        blocks.append(
            Prose(
                f"On {ENOUGH_SETS} sets or more that is so against {n_enough} of "
                f"{counted(n_judged, 'rival')}."
            )
        )
    return Section("Model variance", tuple(blocks))


def ablations(catalog: Catalog) -> Section:
    """What each part of AdaSent is worth."""
    title = "What makes it win"
    tables = catalog.tables("ablations")
    if not tables:
        return Section(title, (Prose("No ablation has been run yet."),))
    found = catalog.ablations
    gains: dict[str, list[str]] = {"better": [], "worse": []}
    n_pairs = 0
    for name in found.variants:
        for data, rule in found.columns(catalog.sets):
            change = found.difference(Place(name, data, rule))
            if change is None:
                continue
            n_pairs += 1
            if supported(change):
                where = data if rule == "random" else f"{data}, {rule}"
                line = f"“{name}” on {where} ({signed(change.mean)})"
                gains["better" if change.mean > 0 else "worse"].append(line)
    points = [
        f"{which.capitalize()} than the default, with an interval that leaves zero out: "
        + (f"{listed(cases)}." if cases else "no variant.")
        for which, cases in gains.items()
    ]
    opening = (
        f"AdaSent with one part taken out or put in. Each variant is compared with “{DEFAULT}” run "
        f"by run; of {counted(n_pairs, 'comparison')}, one in twenty would look supported by "
        "chance alone."
    )
    return Section(title, (Prose(opening), tables[0], Points(tuple(points)), *tables[1:]))

"""The cells of Table 3 and the ablations in; what they say of AdaSent, out."""

from __future__ import annotations

from collections.abc import Iterator

from adasent.evaluation.summary import Summary
from reproduction.ablation_table import DEFAULT, supported
from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place
from reproduction.report.blocks import Block, Points, Prose, Section
from reproduction.table3 import more_robust
from reproduction.wording import counted, listed, signed

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
    changes = _changes(catalog)
    n_pairs = sum(map(len, changes.values()))
    opening = (
        f"AdaSent with one part taken out or put in. Each variant is compared with “{DEFAULT}” run "
        f"by run; of {counted(n_pairs, 'comparison')}, one in twenty would look supported by "
        "chance alone. Below the table, variants by what the intervals support, with the mean "
        "change over the sets."
    )
    points = tuple(_findings(changes))
    return Section(title, (Prose(opening), tables[0], Points(points), *tables[1:]))


def _changes(catalog: Catalog) -> dict[str, list[Summary]]:
    """What each variant changes, set by set; variants without a comparison are left out."""
    found = catalog.ablations
    changes = {
        name: [
            change
            for data, rule in found.columns(catalog.sets)
            if (change := found.difference(Place(name, data, rule))) is not None
        ]
        for name in found.variants
    }
    return {name: sets for name, sets in changes.items() if sets}


def _findings(changes: dict[str, list[Summary]]) -> Iterator[str]:
    """A line for the variants that lose everywhere, somewhere, and so on; largest effect first."""
    groups: dict[str, list[str]] = {
        "Loses on every set": [],
        "Loses on some": [],
        "Gains on some": [],
        "Gains on every set": [],
        "Gains on some sets and loses on others": [],
        "No difference shown on any set": [],
    }
    means = {
        name: sum(change.mean for change in sets) / len(sets) for name, sets in changes.items()
    }
    for name in sorted(changes, key=lambda name: -abs(means[name])):
        sets = changes[name]
        up, down = (sum(supported(c) and c.mean * sign > 0 for c in sets) for sign in (1, -1))
        line = f"“{name}” ({signed(means[name])}"
        if up and down:
            groups["Gains on some sets and loses on others"].append(f"{line})")
        elif not up and not down:
            groups["No difference shown on any set"].append(f"{line})")
        else:
            where = "every set" if up + down == len(sets) else "some"
            line += (
                ")" if where == "every set" else f"; {up + down} of {counted(len(sets), 'set')})"
            )
            groups[f"{'Gains' if up else 'Loses'} on {where}"].append(line)
    for group, lines in groups.items():
        if lines:
            yield f"{group}: {listed(lines)}."

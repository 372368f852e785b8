"""Tables that only the page has: tuning, cost, distance from the paper, corrected tests."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import LEVEL
from reproduction.catalog import STORES, Catalog
from reproduction.cells import Place
from reproduction.paper import paper_accuracy
from reproduction.render import Cell, Table
from reproduction.report.claims import claims_table
from reproduction.specs import RULES
from reproduction.wording import EMPTY, cells, mark, signed


def page_tables(catalog: Catalog) -> list[Table]:
    """All of them."""
    makes = (claims_table, _differences, _settings, _capped, _cost, _survivors)
    return [make(catalog) for make in makes]


def _differences(catalog: Catalog) -> Table:
    """Ours less the paper's in points, random folds."""
    results, rows = catalog.results, []
    for system in catalog.systems:
        row = [Cell(system.title)]
        for data in results.sets:
            ours, said = results.mean(system.name, data), paper_accuracy(system.in_paper, data)
            if ours is None or said is None:
                row.append(EMPTY)
            else:
                row.append(Cell(signed((ours - said) / 100)))
        rows.append(tuple(row))
    head = ("Model", *results.sets)
    return Table("differences", "Ours less the paper's", head, tuple(rows))


def _settings(catalog: Catalog) -> Table:
    """What was tried for each system, and how often each setting was chosen."""
    rows = []
    for system in catalog.systems:
        chosen = Counter(
            record.chosen
            for place, runs in catalog.results.runs.items()
            if place.system == system.name
            for record in runs.records
        )
        texts = [
            ", ".join(f"{name} {value}" for name, value in setting.items()) or "defaults"
            for setting in ({}, *system.variants)
        ]
        rows.append(cells(system.title, *(f"{t} ({chosen[i]})" for i, t in enumerate(texts))))
    head = ("Model", *map(str, range(1, catalog.plan.protocol.n_settings + 1)))
    return Table("settings", "Settings tried in Table 2", head, tuple(rows), of_words=True)


def _capped(catalog: Catalog) -> Table:
    """How many runs of each cell the cap on epochs ended."""
    protocol, rows = catalog.plan.protocol, []
    for system in catalog.networks:
        row = [Cell(system.title)]
        for data in catalog.sets:
            found = cell_records(catalog, system.name, data)
            n = n_capped(catalog, system.name, data)
            row.append(Cell(f"{n} of {len(found)}", bold=2 * n > len(found)) if found else EMPTY)
        rows.append(tuple(row))
    notes = (
        f"Runs of Table 2, random folds, whose best epoch was among the last {protocol.patience} "
        f"of {protocol.epochs}, so that the cap ended them and not their patience; bold where that "
        "is more than half of them.",
    )
    title = f"Runs that end at the cap of {protocol.epochs} epochs"
    return Table("capped", title, ("Model", *catalog.sets), tuple(rows), notes)


def n_capped(catalog: Catalog, system: str, data: str) -> int:
    """Runs of a cell of Table 2 that the cap on epochs ended and not their patience."""
    first_late = catalog.plan.protocol.epochs - catalog.plan.protocol.patience
    return sum(record.best_epoch >= first_late for record in cell_records(catalog, system, data))


def cell_records(catalog: Catalog, system: str, data: str) -> Sequence[FoldRecord]:
    """The runs of a cell of Table 2, random folds."""
    runs = catalog.results.runs.get(Place(system, data, "random"))
    return () if runs is None else runs.records


def _cost(catalog: Catalog) -> Table:
    """Seconds in the records, by table and device."""
    names = ("Table 2", "Table 2, further folds", "Table 3", "Ablations", "Trained again", "Taught")
    titles = dict(zip(STORES, names, strict=True))
    spent: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for store in STORES:
        for record in catalog.records[store]:
            device = record.device.split(",")[0]  # the rest says how many were trained together
            spent[titles[store], device].append((record.seconds, max(1, len(record.tried))))
    everything = [run for runs in spent.values() for run in runs]
    lines = [*spent.items(), (("All", ""), everything)]
    rows = tuple(
        cells(
            *where,
            f"{len(runs):,}",
            f"{sum(n for _, n in runs):,}",
            f"{sum(seconds for seconds, _ in runs) / 3600:.2f}",
        )
        for where, runs in lines
    )
    head = ("", "device", "runs", "trainings", "hours")
    return Table("cost", "Cost of the runs", head, rows)


def survivors(catalog: Catalog) -> set[Place]:
    """Comparisons with AdaSent that McNemar's test supports after Holm's correction for all."""
    found = {place: t.mcnemar.p for place, t in catalog.results.tests.items() if t is not None}
    kept: set[Place] = set()
    for place in sorted(found, key=lambda place: (found[place], place)):
        if found[place] >= LEVEL / (len(found) - len(kept)):
            break
        kept.add(place)
    return kept


def _survivors(catalog: Catalog) -> Table:
    """The sets on which a comparison survives, by system and fold rule."""
    kept, rows = survivors(catalog), []
    for system in catalog.systems:
        places = [[Place(system.name, data, rule) for data in catalog.sets] for rule in RULES]
        found = [
            ", ".join(p.data + mark(catalog.results.tests[p]) for p in row if p in kept)
            for row in places
        ]
        if any(found):
            rows.append(cells(system.title, *(sets or EMPTY.text for sets in found)))
    head = ("Model", *(f"{rule} folds" for rule in RULES))
    title = "Comparisons with AdaSent that survive Holm's correction"
    return Table("holm", title, head, tuple(rows), of_words=True)

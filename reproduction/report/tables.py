"""Tables that only the page has: tuning, cost, distance from the paper, corrected tests."""

from __future__ import annotations

from collections import Counter, defaultdict

from adasent.evaluation.significance import LEVEL
from reproduction.catalog import STORES, Catalog
from reproduction.cells import Place
from reproduction.paper import paper_accuracy
from reproduction.render import Cell, Table
from reproduction.specs import RULES
from reproduction.wording import EMPTY, cells, mark, signed


def page_tables(catalog: Catalog) -> list[Table]:
    """All of them."""
    return [make(catalog) for make in (_differences, _settings, _cost, _survivors)]


def _differences(catalog: Catalog) -> Table:
    """Ours less the paper's in points, random folds."""
    results, rows = catalog.results, []
    for system in catalog.systems:
        row = [Cell(system.title)]
        for data in results.sets:
            ours, said = results.mean(system.name, data), paper_accuracy(system.in_paper, data)
            # Without a record of ours there is no page: see slots().
            row.append(EMPTY if said is None else Cell(signed(((ours or 0.0) - said) / 100)))
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


def _cost(catalog: Catalog) -> Table:
    """Seconds in the records, by table and device."""
    names = ("Table 2", "Table 2, further folds", "Table 3", "Ablations", "Trained again")
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

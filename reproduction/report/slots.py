"""What the slots of the template are filled with: tables, single cells of them, a few counts."""

from __future__ import annotations

import statistics
from dataclasses import replace
from typing import Any

from adasent.errors import DataError
from reproduction.ablation_table import dev_accuracy
from reproduction.catalog import NAMES, Catalog
from reproduction.cells import OURS, Place
from reproduction.paper import paper
from reproduction.render import Table, to_markdown
from reproduction.report.tables import page_tables, survivors
from reproduction.sizes import size_table
from reproduction.table2 import short_table2
from reproduction.wording import MISSING, minus


def slots(catalog: Catalog) -> dict[str, Any]:
    """A value for every slot of the template.

    Raises
    ------
    DataError
        If records are missing: sentences about them would be made up.
    """
    shown = {name: catalog.tables(name) for name in NAMES}
    found = [table for tables in shown.values() for table in tables]
    found += size_table(catalog.sizes, catalog.systems)
    found += [*page_tables(catalog), short_table2(catalog.results, catalog.sizes)]
    incomplete = [t.name for t in found if t.n_missing or any(MISSING in row for row in t.rows)]
    absent = [name for name, tables in shown.items() if not tables]
    if incomplete or absent or not catalog.sizes or not catalog.trees:
        raise DataError(
            f"the report is about all records, and {catalog.root} does not have those of "
            f"{', '.join([*incomplete, *absent]) or 'sizes.json or trees.json'}; look at single "
            "tables instead"
        )
    table = {one.name: one for one in found}
    whole = [one for one in found if one.name[:4] != "fig-" and one.name != "table2-short"]
    return {_key(one.name): to_markdown(_judged(one)).rstrip("\n") for one in whole} | {
        "mean": lookup(table["table2-short"]),
        "regrouped": lookup(table["table2-grouped"]),
        "tested": lookup(table["table2-tests"], "Set", "Model"),
        "gap": lookup(table["differences"]),
        "retrained": lookup(table["refit"]),
        "trap": lookup(table["table1-traps"]),
        "change": lookup(table["ablations"]),
        "cut_down": lookup(table["ablations-others"], "Variant", "Set"),
        "levels": lookup(table["fig-example"]),
        "apart": lookup(table["fig-pca"], "Set", "system"),
        "example": catalog.figure("fig-example"),
        "paper": paper(),
        "audit": catalog.audits,
        "trees": {data: f"{sum(n.values()):,}" for data, n in catalog.trees.items()},
        "models": _models(catalog),
        "recipe": _recipe(catalog),
        "dev_gap": {data: minus(f"{dev_gap(catalog, data):+.2f}") for data in catalog.sets},
        "capped": {system.title: n_capped(catalog, system.name) for system in catalog.networks},
        "runs": _devices(catalog),
        "n_tests": sum(test is not None for test in catalog.results.tests.values()),
        "n_marks": sum(t is not None and t.supported for t in catalog.results.tests.values()),
        "n_survivors": len(survivors(catalog)),
    }


def lookup(table: Table, *keys: str) -> dict[str, Any]:
    """The cells of a table by the texts in the key columns and then by column.

    Parameters
    ----------
    keys
        Columns that tell the rows apart; none takes the first. Marks and spreads are left out.
    """
    found: dict[str, Any] = {}
    for row in table.rows:
        texts = [cell.text.rstrip("▲▼†").split(" ±")[0] for cell in row]
        values = dict(zip(reversed(table.columns), reversed(texts), strict=True))
        node = found
        for key in keys or table.columns[:1]:
            node = node.setdefault(values[key], {})
        node.update(values)
    return found


def dev_gap(catalog: Catalog, data: str) -> float:
    """AdaSent's dev accuracy less its test accuracy, in points, in the runs of Table 2."""
    records = catalog.results.runs[Place(OURS, data, "random")].records
    return 100 * statistics.fmean((dev_accuracy(r) or 0.0) - r.accuracy for r in records)


def n_capped(catalog: Catalog, system: str, data: str = "TREC") -> int:
    """Runs of a cell of Table 2 that the cap on epochs ended and not their patience."""
    protocol = catalog.plan.protocol
    records = catalog.results.runs[Place(system, data, "random")].records
    return sum(record.best_epoch >= protocol.epochs - protocol.patience for record in records)


def _judged(table: Table) -> Table:
    """Without the note that judges Table 3 by more than the paper does."""
    return replace(table, notes=tuple(n for n in table.notes if "smaller spread" not in n))


def _models(catalog: Catalog) -> dict[str, str]:
    figure = catalog.figure("fig-belief") or {}
    return {model["data"]: f"{100 * model['accuracy']:.1f}" for model in figure["models"]}


def _recipe(catalog: Catalog) -> str:
    spec = catalog.results.runs[Place(OURS, catalog.sets[0], "random")].records[0].spec
    return ", ".join(f"`{name}` {value}" for name, value in spec["defaults"].items())


def _devices(catalog: Catalog) -> dict[str, str]:
    devices = [record.device for rows in catalog.records.values() for record in rows]
    n_cpu = devices.count("cpu")
    return {"CPU": f"{n_cpu:,}", "H200": f"{len(devices) - n_cpu:,}"}


def _key(name: str) -> str:
    return name.replace("-", "_")

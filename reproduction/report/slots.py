"""What the slots of the template are filled with: tables, sentences, single cells, a few counts."""

from __future__ import annotations

import statistics
from collections import Counter
from typing import Any

from adasent.errors import DataError
from adasent.evaluation.records import UNSAID, FoldRecord
from reproduction.ablation_table import dev_accuracy
from reproduction.catalog import NAMES, Catalog
from reproduction.cells import OURS, Place
from reproduction.figures import FIGURES
from reproduction.paper import paper
from reproduction.phenomena_table import phenomena_note
from reproduction.render import Table, to_markdown
from reproduction.report import captions, summary
from reproduction.report.tables import page_tables, survivors
from reproduction.search_table import search_note
from reproduction.sizes import size_table
from reproduction.table2 import short_table2
from reproduction.wording import MISSING, dashed, minus

#: What a page can do without: it then says nothing of them, or shows a line in place of a figure.
OPTIONAL = ("partitions", "taught", "phenomena", "search")


def slots(catalog: Catalog) -> dict[str, Any]:
    """A value for every slot of the template.

    Raises
    ------
    DataError
        If records of the paper's systems or figures are missing: sentences about them would be
        made up. Rows beside the paper's may be without.
    """
    shown = {name: catalog.tables(name) for name in NAMES}
    beside = {row.title for row in catalog.systems if row.of is not None}
    found = [table for name in NAMES if name not in OPTIONAL for table in shown[name]]
    found += size_table(catalog.sizes, catalog.systems)
    incomplete = [
        table.name
        for table in found
        if any(MISSING in row for row in table.rows if row[0].text not in beside)
    ]
    absent = [name for name, tables in shown.items() if not tables and name not in OPTIONAL]
    if incomplete or absent or not catalog.sizes or not catalog.trees:
        raise DataError(
            f"the report is about all records, and {catalog.root} does not have those of "
            f"{', '.join([*incomplete, *absent]) or 'sizes.json or trees.json'}; look at single "
            "tables instead"
        )
    found += [*page_tables(catalog), short_table2(catalog.results, catalog.sizes)]
    table = {one.name: one for one in found}
    whole = [one for one in found if one.name[:4] != "fig-" and one.name != "table2-short"]
    tables = {_key(one.name): _markdown(one) for one in whole}
    tables |= {name: "\n\n".join(map(_markdown, shown[name])) for name in OPTIONAL}
    return (
        tables
        | _sentences(catalog)
        | {
            "retrained": lookup(table["refit"]),
            "trap": lookup(table["table1-traps"]),
            "paper": paper(),
            "audit": catalog.audits,
            "trees": {data: f"{sum(n.values()):,}" for data, n in catalog.trees.items()},
            "models": _models(catalog),
            "recipe": recipe(catalog),
            "paper_recipe": recipe(catalog, "adasent-paper"),
            "earlier": earlier(catalog),
            "dev_gap": ", ".join(
                minus(f"{dev_gap(catalog, data):+.2f} ({data})") for data in catalog.sets
            ),
            "n_tests": sum(test is not None for test in catalog.results.tests.values()),
            "n_marks": sum(t is not None and t.supported for t in catalog.results.tests.values()),
            "n_survivors": len(survivors(catalog)),
        }
    )


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


def recipe(catalog: Catalog, system: str = OURS) -> str:
    """The defaults of a row of AdaSent, as its records have them; nothing without records."""
    runs = catalog.results.runs.get(Place(system, catalog.sets[0], "random"))
    if runs is None:
        return ""
    defaults = _defaults(runs.records[0])
    return ", ".join(f"`{name}` {defaults[name]}" for name in sorted(defaults))


def earlier(catalog: Catalog) -> dict[str, str]:
    """Tables in which AdaSent's runs have other defaults than in Table 2, and which they have."""
    ours = [record for runs in catalog.results.runs.values() for record in runs.records]
    now = next(_defaults(r) for r in ours if r.spec["system"] == OURS)
    found = {}
    for name in ("table3", "refit", "ablations"):
        own = "default" if name == "ablations" else OURS
        for record in [r for r in catalog.records[name] if r.spec["system"] == own][:1]:
            then = _defaults(record)
            other = [f"`{key}` {then.get(key)}" for key in sorted(now) if then.get(key) != now[key]]
            if other:
                found[name] = ", ".join(other)
    return found


def _defaults(record: FoldRecord) -> dict[str, Any]:
    said: dict[str, Any] = record.spec["defaults"]
    return {name: value for name, value in UNSAID.items() if name != "system"} | said


def _sentences(catalog: Catalog) -> dict[str, Any]:
    figures = {name: catalog.figure(name) or {} for name in FIGURES}
    n_before, n_networks = summary.before_rounding(catalog)
    return {
        "in_short": summary.in_short(catalog),
        "after_holm": summary.after_holm(catalog),
        "grouped_folds": summary.grouped_folds(catalog),
        "far_below": summary.far_below(catalog),
        "ablation_words": summary.ablation_words(catalog),
        "capped_words": summary.capped_words(catalog),
        "machines": summary.machine_words(catalog),
        "n_before_rounding": f"{n_before:,}",
        "n_networks": f"{n_networks:,}",
        "refit_words": ", ".join(f"{n:,}" for n in catalog.refits.extra_words),
        "belief": captions.belief_caption(figures["fig-belief"]),
        "example": captions.example_caption(figures["fig-example"]),
        "pca": captions.pca_caption(figures["fig-pca"]),
        "composition": captions.composition_caption(figures["fig-composition"]),
        "phenomena_note": phenomena_note(),
        "search_note": search_note(catalog.search) if catalog.search else "",
        "devices": _devices(catalog),
    }


def _markdown(table: Table) -> str:
    return to_markdown(dashed(table)).rstrip("\n")


def _models(catalog: Catalog) -> dict[str, str]:
    figure = catalog.figure("fig-belief") or {}
    return {model["data"]: f"{100 * model['accuracy']:.1f}" for model in figure["models"]}


def _devices(catalog: Catalog) -> str:
    """How many runs each device made."""
    counts = Counter(record.machine for rows in catalog.records.values() for record in rows)
    return ", ".join(f"{n:,} on {machine}" for machine, n in counts.most_common())


def _key(name: str) -> str:
    return name.replace("-", "_")

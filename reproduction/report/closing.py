"""The records in; what they cost, how to make any of them again, and what they cannot say, out."""

from __future__ import annotations

from collections import defaultdict

from reproduction.catalog import STORES, Catalog
from reproduction.cells import OURS
from reproduction.render import Cell, Table
from reproduction.report.blocks import Code, Points, Prose, Section
from reproduction.report.protocol import device
from reproduction.wording import cells

_NAMES = {
    "table2": "Table 2",
    "table3": "Table 3",
    "ablations": "Ablations",
    "refit": "Trained again",
}


def cost(catalog: Catalog) -> Section:
    """Seconds in the records, by table and device."""
    runs: dict[tuple[str, str], list[tuple[float, int]]] = defaultdict(list)
    for name in STORES:
        for record in catalog.records[name]:
            spent = (record.seconds, max(1, len(record.tried)))
            runs[_NAMES[name], device(record)].append(spent)
    rows = [
        cells(table, where, f"{len(found):,}", f"{sum(n for _, n in found):,}", _hours(found))
        for (table, where), found in runs.items()
    ]
    if not rows:
        return Section("Cost", (Prose("No runs are recorded yet."),))
    everything = [spent for found in runs.values() for spent in found]
    total = (
        Cell("All", bold=True),
        *cells("", f"{len(everything):,}", f"{sum(n for _, n in everything):,}"),
        Cell(_hours(everything), bold=True),
    )
    notes = (
        "Seconds of training and choice in the records, added up; runs that were trained together "
        "share their time evenly. Processes that shared a device each count their own time, so "
        "that the device was in use for less. Records replaced by later ones of the same cell are "
        "counted.",
    )
    head = ("", "device", "runs", "trainings", "hours")
    table = Table("cost", "Cost of the runs", head, (*rows, total), notes)
    return Section("Cost", (table,))


def _hours(found: list[tuple[float, int]]) -> str:
    return f"{sum(seconds for seconds, _ in found) / 3600:.2f}"


def rerun(catalog: Catalog) -> Section:
    """Commands for a cell, a figure, and this report."""
    data = catalog.sets[0]
    commands = "\n".join(
        [
            f"adasent reproduce table2 --rerun --sets {data} --systems {OURS}    # one cell",
            f"adasent reproduce table3 --rerun --sets {data} --systems {OURS}",
            "adasent reproduce fig-belief --rerun                    # trains five models",
            f"adasent data audit {data}                                   # the figures of a set",
            "adasent reproduce report --out docs --readme README.md  # this report, from records",
        ]
    )
    prose = (
        "Without `--rerun` everything is made from the records, offline and in seconds. With it, "
        "the cell is trained and tested on this machine and recorded in the folder `rerun`; "
        "finished runs are skipped, so that a run that was killed goes on when the command is "
        "repeated. On another device than that of the record the last bits differ, and with them "
        "single predictions; expect a mean within the stated spread, not the same digits."
    )
    return Section("How to run any cell again", (Prose(prose), Code(commands)))


def limits(catalog: Catalog) -> Section:
    """What the figures cannot say."""
    values = catalog.plan.protocol
    official = values.official_seeds
    points = (
        f"Folds share most of their training texts, so that spreads over {values.n_folds} folds "
        "and their intervals are too small rather than too large. The paired tests pool all texts "
        "and do not vary the training texts either.",
        f"With folds every system is run with one seed; only official splits have {official}. "
        "Table 3 shows how much a seed and a setting change.",
        f"{values.n_settings} settings for each system are few. They are the same few for all "
        "networks, which favours none on purpose, but a system with more to tune may lose by it.",
        "Word vectors, tokenizer and copies of the sets are not the paper's, so that a difference "
        "from the paper is not one from its method alone.",
        "Marks are for each comparison on its own; the section on accuracy says how many survive a "
        "correction.",
        "The rivals were written anew from their papers and not checked against their authors' "
        "code.",
        "The tables of the repository were made more than once, on the same test folds: some cells "
        "with an earlier recipe, all with the present one, and all networks again with all words "
        "of the vectors in place of 30,000; ablations and second trainings use these folds too. "
        "Every change was chosen on dev parts. But the search that led to the last one began "
        "because AdaSent's test figure on MPQA was lower than we aimed at. The ablation "
        "“fewer-words” shows what it is worth, and the history of the repository has all records.",
    )
    return Section("Limits", (Points(points),))

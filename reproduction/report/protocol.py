"""The plan and the records made by it in; how every figure came about, in short, out."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Iterable
from typing import Any

from adasent.data.derived import MADE
from adasent.data.registry import find
from adasent.evaluation.records import FoldRecord
from reproduction.catalog import Catalog
from reproduction.cells import OURS, Place, extra_words
from reproduction.render import Cell, Table
from reproduction.report.blocks import Block, Points, Prose, Section
from reproduction.sizes import size_table
from reproduction.specs import SystemSpec
from reproduction.wording import EMPTY, counted, listed, minus


def protocol(catalog: Catalog) -> Section:
    """Folds, settings, vectors, trees, machines."""
    values = catalog.plan.protocol
    official = [data for data in catalog.sets if _is_official(data)]
    folds = (
        f"{values.n_folds} stratified folds, seed {values.fold_seed}, the same for all systems"
        + (
            f"; {listed(official)}: the official split, with {values.official_seeds} seeds for "
            "every system in which chance plays a part."
            if official
            else "."
        )
    )
    points = [
        folds,
        f"Of each training part {100 * values.dev_fraction:g} % are the dev part. Every system "
        f"tries {values.n_settings} settings, its defaults among them; setting and epoch are "
        "chosen there, and the test fold is used once, by what was chosen." + _refit(catalog),
        "Two fold rules: `random`, as in the literature, and `grouped`, where texts of equal words "
        "never stand on both sides (of an official split, such training texts are left out): "
        f"{listed(values.grouped)}, the sets with repeats.",
        f"Table 3: {values.n_draws} settings drawn from a space of each system, each with an "
        "initialisation of its own, on one split.",
        *_vectors(catalog),
        *_defaults(catalog),
        *_paragraph_vector(catalog),
        *_trees(catalog),
        *_machines(catalog),
    ]
    blocks: list[Block] = [
        Prose("Everything below was made by one protocol; `experiments/protocol.toml` is it."),
        Points(tuple(points)),
        _settings(catalog),
        *size_table(catalog.sizes, catalog.systems),
        *catalog.tables("refit"),
    ]
    return Section("Protocol", tuple(blocks))


def _refit(catalog: Catalog) -> str:
    """Who is trained again on both parts, and what that would do to the others."""
    whole = [system.title for system in catalog.systems if not system.vectors]
    if not whole:
        return ""
    text = (
        f" {listed(whole)}, which have no use for a dev part in training, are trained again on "
        "both parts with the chosen setting."
    )
    changes = [100 * change for change in catalog.refits.changes.values()]
    if changes:
        n_up, n_down = (sum(sign * change > 0 for change in changes) for sign in (1, -1))
        text += (
            " Networks are not: the dev part tells them when to stop. Trained again for the epochs "
            f"that were best there, they change by {minus(f'{statistics.fmean(changes):+.2f}')} "
            f"points in the mean of {counted(len(changes), 'cell')}, {n_up} up and {n_down} down "
            "(last table of this section): to leave it out does them no harm."
            if statistics.fmean(changes) <= 0
            else " Networks are not. Trained again for the epochs that were best on the dev part, "
            f"they gain {statistics.fmean(changes):.2f} points in the mean of "
            f"{counted(len(changes), 'cell')} (last table of this section)."
        )
    return text


def _is_official(data: str) -> bool:
    entry = find(data)
    return entry is not None and entry.split == "official"


def _vectors(catalog: Catalog) -> list[str]:
    """What the networks read, and whether all of them read the same, by their records."""
    values = catalog.plan.protocol
    names = [
        f"`{name}` ({_describe(name)})" if _describe(name) else f"`{name}`"
        for name in values.vectors
    ]
    if not names:
        return []
    lines = [
        f"Every network gets the same word vectors, side by side: {listed(names)}; at most "
        f"{values.epochs} epochs, and it stops after {values.patience} without a better dev score."
    ]
    if values.extra_words is not None:
        lines.append(
            "Beside the words of its training texts, a network knows the "
            f"{values.extra_words:,} most frequent words of the vectors, or all if there are "
            "fewer: their vectors are as they were, and no text of the sets is looked at for them."
        )
    ways: dict[str, set[str]] = {}
    for place, runs in catalog.results.runs.items():
        spec = runs.records[0].spec
        if "vectors" in spec:
            read = [source["name"] for source in spec["vectors"]]
            way = json.dumps([read, extra_words(spec), spec.get("epochs"), spec.get("patience")])
            ways.setdefault(way, set()).add(f"{place.system} on {place.data}, {place.rule}")
    if len(ways) > 1:
        usual = max(ways, key=lambda way: len(ways[way]))
        others = sorted(cell for way, cells in ways.items() if way != usual for cell in cells)
        lines.append(
            f"Not so in {counted(len(others), 'cell')} of Table 2, whose records are of other "
            f"vectors, words or epochs than the rest: {listed(others)}."
        )
    elif ways:
        (cells,) = ways.values()
        lines.append(
            f"The records of all {len(cells)} cells of networks in Table 2 agree in vectors, words "
            "and epochs."
        )
    return lines


def _defaults(catalog: Catalog) -> list[str]:
    """The recipe of AdaSent, by its records."""
    ways = {
        _text(runs.records[0].spec["defaults"])
        for place, runs in catalog.results.runs.items()
        if place.system == OURS and "defaults" in runs.records[0].spec
    }
    return [f"Default settings of AdaSent: {way}." for way in sorted(ways)]


def _describe(name: str) -> str:
    entry = find(name)
    if entry is not None:
        return entry.title
    return MADE[name][1] if name in MADE else ""


def _paragraph_vector(catalog: Catalog) -> list[str]:
    system = catalog.plan.systems.get("paragraph-vector")
    if system is None:
        return []
    seen = any("unlabelled" in setting for setting in system.variants)
    return [
        "P.V. saw the test texts, without labels, while its vectors were trained."
        if seen
        else "P.V. never saw a test text, with or without its label: vectors of test texts are "
        "inferred. The scripts that the paper names for its own P.V. row train on them."
    ]


def _trees(catalog: Catalog) -> list[str]:
    """Which trees the systems that need some had, by their records."""
    lines = []
    for system in catalog.systems:
        sources: dict[str, list[str]] = {}
        for data in catalog.sets:
            runs = catalog.results.runs.get(Place(system.name, data, "random"))
            if runs is not None and "trees" in runs.records[0].spec:
                sources.setdefault(runs.records[0].spec["trees"], []).append(data)
        if sources:
            used = "; ".join(f"{listed(sets)}: {source}" for source, sets in sources.items())
            lines.append(f"Trees of {system.title}: {used}.")
    held = [
        f"{sum(counts.values()):,} of {data}"
        for data, counts in catalog.trees.items()
        if data in catalog.sets
    ]
    if held:
        lines.append(
            f"The treebanks hold {listed(held)}. Where they hold one class and not another, a "
            "tree would give the label away, and every text of the set is parsed"
            + _one_sided(catalog.trees)
            + "."
        )
    return lines


def _one_sided(trees: dict[str, dict[str, int]]) -> str:
    found = [
        f"{data}: all {sum(counts.values()):,} are {label}"
        for data, counts in trees.items()
        for label, n in counts.items()
        if n and n == sum(counts.values())
    ]
    return f" ({'; '.join(found)})" if found else ""


def _machines(catalog: Catalog) -> list[str]:
    records = [record for rows in catalog.records.values() for record in rows]
    if not records:
        return []
    devices = _most(device(record) for record in records)
    torch = _most(record.versions["torch"] for record in records if "torch" in record.versions)
    python = _most(record.versions.get("python", "") for record in records)
    lines = f"Devices, by the records: {_shares(devices)}. Python {listed(list(python))}"
    return [lines + (f", torch {listed(list(torch))}." if torch else ".")]


def device(record: FoldRecord) -> str:
    """Without how many models were trained together."""
    return record.device.split(",")[0]


def _most(values: Iterable[str]) -> Counter[str]:
    return Counter(dict(Counter(value for value in values if value).most_common()))


def _shares(counts: Counter[str]) -> str:
    return listed([f"{name} ({counted(n, 'run')})" for name, n in counts.items()])


def _settings(catalog: Catalog) -> Table:
    """What was tried, and how often each was chosen."""
    rows = []
    for system in catalog.systems:
        chosen = _chosen(catalog, system)
        tried = [{}, *system.variants]
        texts = [f"{_text(setting)}{_times(chosen, i)}" for i, setting in enumerate(tried)]
        rows.append((Cell(system.title), *(Cell(text) for text in texts)))
    n = max(map(len, rows), default=1)
    padded = tuple(row + (EMPTY,) * (n - len(row)) for row in rows)
    head = ("Model", *(str(i) for i in range(1, n)))
    notes = ("In brackets: in how many runs of Table 2 it was chosen on the dev part.",)
    return Table("settings", "Settings tried in Table 2", head, padded, notes, of_words=True)


def _chosen(catalog: Catalog, system: SystemSpec) -> Counter[int | None]:
    return Counter(
        record.chosen
        for place, runs in catalog.results.runs.items()
        if place.system == system.name
        for record in runs.records
    )


def _times(chosen: Counter[int | None], i: int) -> str:
    return f" ({chosen[i]})" if chosen else ""


def _text(setting: dict[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items()) or "defaults"

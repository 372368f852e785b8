"""What training networks again on both parts changes, from the records.

A network that stops early never learns from the dev part. Trained again on both parts, for the
epochs that were best on the dev part, it sees all texts, but nothing tells it when to stop.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison, compare
from reproduction.cells import Place, Runs, extra_words, table2_cells
from reproduction.render import Cell, Table
from reproduction.specs import SystemSpec
from reproduction.wording import BETTER, MISSING, WORSE, listed, missing_note, signed


class Refits:
    """The cells that are complete, each as it was chosen and as it was trained again."""

    def __init__(self, records: Iterable[FoldRecord]) -> None:
        self._pairs = {
            place: (Runs(tuple(map(_as_chosen, again.records))), again)
            for place, again in table2_cells(records).items()
            if again.complete and all(record.before for record in again.records)
        }

    @cached_property
    def changes(self) -> dict[Place, float]:
        """Mean accuracy of a cell trained again, less that of the same cell as it was chosen."""
        return {
            place: again.summary().mean - once.summary().mean
            for place, (once, again) in self._pairs.items()
        }

    @cached_property
    def extra_words(self) -> list[int]:
        """How many words the networks know beside those of their training texts."""
        specs = (record.spec for _, again in self._pairs.values() for record in again.records)
        return sorted({n for spec in specs if (n := extra_words(spec)) is not None})

    @cached_property
    def tests(self) -> dict[Place, Comparison]:
        """Both paired tests of the change of a cell."""
        found = {}
        for place, (once, again) in self._pairs.items():
            positions = sorted(once.shares)
            answers = ([runs.shares[i] for i in positions] for runs in (again, once))
            found[place] = compare(*map(np.array, answers))
        return found

    def supported(self, place: Place) -> str:
        """A sign for a change that both tests support, else nothing."""
        if not self.tests[place].supported:
            return ""
        return BETTER if self.changes[place] > 0 else WORSE


def _as_chosen(record: FoldRecord) -> FoldRecord:
    right = [a == b for a, b in zip(record.true, record.before, strict=True)]
    return replace(record, predicted=record.before, before=[], accuracy=statistics.fmean(right))


def refit_tables(found: Refits, systems: Sequence[SystemSpec], sets: Sequence[str]) -> list[Table]:
    """Changes by network and set, with their means; nothing without records."""
    if not found.changes:
        return []
    rows, n_missing = [], 0
    for system in systems:
        places = [Place(system.name, data, "random") for data in sets]
        cells = [
            Cell(signed(found.changes[place]) + found.supported(place))
            if place in found.changes
            else MISSING
            for place in places
        ]
        n_missing += cells.count(MISSING)
        rows.append((Cell(system.title), *cells, _mean(found, places)))
    everything = [Place(system.name, data, "random") for system in systems for data in sets]
    means = (_mean(found, [p for p in everything if p.data == data]) for data in sets)
    rows.append((Cell("Mean"), *means, _mean(found, everything)))
    notes = [
        "Test accuracy of networks trained again on the training and the dev part, for the epochs "
        "that were best on the dev part, less that of the same networks as they were chosen, in "
        "percentage points. "
        f"{BETTER} {WORSE}: both paired tests support it."
    ]
    if found.extra_words:
        known = listed([f"{n:,}" for n in found.extra_words])
        notes.append(
            f"Beside the words of their training texts these networks know the {known} most "
            "frequent words of the vectors."
        )
    notes += missing_note(n_missing, len(everything), "cells")
    head = ("Model", *sets, "mean")
    title = "Networks trained again on both parts"
    return [Table("refit", title, head, tuple(rows), tuple(notes), n_missing)]


def _mean(found: Refits, places: Sequence[Place]) -> Cell:
    changes = [found.changes[place] for place in places if place in found.changes]
    return Cell(signed(statistics.fmean(changes))) if changes else MISSING

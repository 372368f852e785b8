"""Cells of Table 2, once as they are and once trained again, in; what that changes, out.

A network that stops early never learns from the dev part. Trained again on both parts, for the
epochs that were best on the dev part, it sees all texts, but nothing tells it when to stop.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from adasent.evaluation.significance import Comparison, compare
from adasent.experiments.cells import Place, Runs
from adasent.experiments.render import Cell, Table
from adasent.experiments.specs import SystemSpec
from adasent.experiments.wording import BETTER, MISSING, WORSE, missing_note, signed


class Refits:
    """The cells that are complete both ways.

    Parameters
    ----------
    once, again
        Cells of Table 2, and the same with every network trained again.
    """

    def __init__(self, once: Mapping[Place, Runs], again: Mapping[Place, Runs]) -> None:
        self._pairs = {
            place: (once[place], runs)
            for place, runs in again.items()
            if runs.complete and place in once and once[place].complete
        }

    @cached_property
    def changes(self) -> dict[Place, float]:
        """Mean accuracy of a cell trained again, less that of Table 2."""
        return {
            place: again.summary().mean - once.summary().mean
            for place, (once, again) in self._pairs.items()
        }

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
        "that were best on the dev part, less that of Table 2, in percentage points. "
        f"{BETTER} {WORSE}: both paired tests support it."
    ]
    notes += missing_note(n_missing, len(everything), "cells")
    head = ("Model", *sets, "mean")
    title = "Networks trained again on both parts"
    return [Table("refit", title, head, tuple(rows), tuple(notes), n_missing)]


def _mean(found: Refits, places: Sequence[Place]) -> Cell:
    changes = [found.changes[place] for place in places if place in found.changes]
    return Cell(signed(statistics.fmean(changes))) if changes else MISSING

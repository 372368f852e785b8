"""The cells of Table 2: how each compares with AdaSent's, and which system leads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.significance import Comparison
from reproduction.cells import OURS, Place, Runs, compare_cells, compare_with_ours, table2_cells
from reproduction.specs import SystemSpec


class Results:
    """What the records say of some systems on some sets.

    Attributes
    ----------
    runs
        The records of each cell that has any.
    tests
        Of each cell with records: AdaSent against its system; None where that cannot be compared.
    """

    def __init__(
        self, records: Iterable[FoldRecord], systems: Sequence[SystemSpec], sets: Sequence[str]
    ) -> None:
        self.systems, self.sets = systems, sets
        self.runs: dict[Place, Runs] = table2_cells(records)
        self.tests: dict[Place, Comparison | None] = {
            place: compare_with_ours(self.runs, place) for place in self.runs
        }
        names = {system.name for system in systems}
        self._best: dict[tuple[str, str], float] = {}
        for place, runs in self.runs.items():
            if place.system in names and runs.complete:
                column, mean = (place.data, place.rule), runs.summary().mean
                self._best[column] = max(mean, self._best.get(column, mean))

    def is_complete(self, place: Place) -> bool:
        """Whether every fold of the cell has a record."""
        return place in self.runs and self.runs[place].complete

    def mean(self, system: str, data: str, rule: str = "random") -> float | None:
        """Accuracy in percent of a complete cell."""
        place = Place(system, data, rule)
        return 100 * self.runs[place].summary().mean if self.is_complete(place) else None

    def is_best(self, place: Place) -> bool:
        """Whether no other complete cell of the column has a higher mean."""
        if not self.is_complete(place):
            return False
        return self.runs[place].summary().mean == self._best.get((place.data, place.rule))

    def test(
        self, rival: str, data: str, rule: str = "random", system: str = OURS
    ) -> Comparison | None:
        """AdaSent or another system against a rival; None where that cannot be compared."""
        place = Place(rival, data, rule)
        if system == OURS:
            return self.tests.get(place)
        return compare_cells(self.runs, place._replace(system=system), place)

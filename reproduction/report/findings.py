"""Cells of the tables in; counts and differences that the sentences of the report rest on, out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from adasent.evaluation.significance import LEVEL, Comparison
from reproduction.ablation_table import dev_accuracy
from reproduction.cells import OURS, Place
from reproduction.paper import paper, paper_accuracy
from reproduction.results import Results
from reproduction.specs import SystemSpec


@dataclass(frozen=True)
class Standing:
    """AdaSent against one rival, by set.

    Attributes
    ----------
    margins
        AdaSent less the rival in points, on every set that was compared.
    supported
        Those of the sets on which both paired tests support the difference.
    """

    rival: SystemSpec
    margins: dict[str, float]
    supported: frozenset[str]

    @property
    def ahead(self) -> list[str]:
        """Sets on which AdaSent has the higher accuracy."""
        return [data for data, margin in self.margins.items() if margin > 0]

    @property
    def ahead_supported(self) -> list[str]:
        """Of these, the ones that both tests support."""
        return [data for data in self.ahead if data in self.supported]

    @property
    def behind_supported(self) -> list[str]:
        """Sets on which both tests support that the rival is better."""
        return [d for d, margin in self.margins.items() if margin < 0 and d in self.supported]


def standing(results: Results, rival: SystemSpec, rule: str = "random") -> Standing:
    """How AdaSent does against a rival on the sets that both have finished."""
    tests = {data: results.test(rival.name, data, rule) for data in results.sets}
    found: dict[str, Comparison] = {data: test for data, test in tests.items() if test is not None}
    return Standing(
        rival,
        {data: 100 * test.bootstrap.difference for data, test in found.items()},
        frozenset(data for data, test in found.items() if test.supported),
    )


def trained_by_the_paper(systems: Iterable[SystemSpec]) -> list[SystemSpec]:
    """Rivals whose figures the paper measured itself."""
    cited = paper()["facts"]["cited"]
    return [system for system in systems if system.title not in cited and system.name != OURS]


def n_after_correction(results: Results) -> tuple[int, int]:
    """Comparisons with AdaSent, and how many of them McNemar's test supports after Holm."""
    ps = sorted(test.mcnemar.p for test in results.tests.values() if test is not None)
    for rank, p in enumerate(ps):
        if p >= LEVEL / (len(ps) - rank):
            return len(ps), rank
    return len(ps), len(ps)


def leaders(results: Results, data: str, rule: str = "random") -> list[SystemSpec]:
    """Systems with the highest mean on a set; none where nothing is finished."""
    return [s for s in results.systems if results.is_best(Place(s.name, data, rule))]


def differences_from_paper(results: Results, system: SystemSpec) -> dict[str, float]:
    """Ours less the paper's in points, where both have a figure."""
    found = {}
    for data in results.sets:
        ours, said = results.mean(system.name, data), paper_accuracy(system.title, data)
        if ours is not None and said is not None:
            found[data] = ours - said
    return found


def grouped_changes(results: Results, data: str) -> dict[str, float]:
    """What each system gains by grouped folds on a set, in points."""
    found = {}
    for system in results.systems:
        random = results.mean(system.name, data)
        grouped = results.mean(system.name, data, "grouped")
        if random is not None and grouped is not None:
            found[system.title] = grouped - random
    return found


def optimism(results: Results, system: SystemSpec, data: str) -> float | None:
    """Dev accuracy of what was chosen there less its test accuracy, in points; random folds."""
    place = Place(system.name, data, "random")
    if not results.is_complete(place):
        return None
    gaps = [
        dev - record.accuracy
        for record in results.runs[place].records
        if (dev := dev_accuracy(record)) is not None
    ]
    return 100 * sum(gaps) / len(gaps) if gaps else None


def n_complete(results: Results, rule: str, sets: Sequence[str]) -> int:
    """Finished cells of Table 2."""
    return sum(
        results.is_complete(Place(system.name, data, rule))
        for system in results.systems
        for data in sets
    )

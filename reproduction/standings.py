"""Who leads where: standings of a system and its rivals that sentences are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from adasent.evaluation.summary import Summary
from reproduction.ablation_table import supported
from reproduction.results import Results
from reproduction.specs import SystemSpec
from reproduction.wording import listed, signed


@dataclass(frozen=True)
class Standing:
    """A system less a rival on the sets where the two can be compared.

    Attributes
    ----------
    differences
        Of accuracies as shares, by set.
    supported
        Sets on which the difference is more than chance explains.
    """

    differences: Mapping[str, float]
    supported: frozenset[str]

    @property
    def ahead(self) -> list[str]:
        """Sets on which the system has more."""
        return [data for data, difference in self.differences.items() if difference > 0]

    @property
    def behind(self) -> list[str]:
        """Sets on which it has less."""
        return [data for data, difference in self.differences.items() if difference < 0]

    def words(self) -> str:
        """``**−2.31** (MR), +0.30 (CR)``: bold where it is supported."""
        return ", ".join(
            f"{difference_words(value, data in self.supported)} ({data})"
            for data, value in self.differences.items()
        )


def difference_words(value: float, is_supported: bool) -> str:
    """With its sign in percent; bold where it is supported."""
    return f"**{signed(value)}**" if is_supported else signed(value)


def stand(
    results: Results, system: str, rival: str, sets: Sequence[str], rule: str = "random"
) -> Standing:
    """By both paired tests of Table 2."""
    tests = {data: results.test(rival, data, rule, system) for data in sets}
    known = {data: test for data, test in tests.items() if test is not None}
    return Standing(
        {data: test.bootstrap.difference for data, test in known.items()},
        frozenset(data for data, test in known.items() if test.supported),
    )


def by_interval(change: Callable[[str], Summary | None], sets: Sequence[str]) -> Standing:
    """By intervals of paired differences, as the ablations have them."""
    changes = {data: change(data) for data in sets}
    known = {data: one for data, one in changes.items() if one is not None}
    return Standing(
        {data: one.mean for data, one in known.items()},
        frozenset(data for data, one in known.items() if supported(one)),
    )


def field(results: Results, system: SystemSpec) -> list[SystemSpec]:
    """The system and all others of the paper's table: not another row of the same name there."""
    return [
        row for row in results.systems if row.name == system.name or row.in_paper != system.in_paper
    ]


def leaders(
    results: Results, rows: Sequence[SystemSpec], sets: Sequence[str], rule: str = "random"
) -> dict[str, str]:
    """By set, the title of the row with the highest mean."""
    found = {}
    for data in sets:
        means = {row.title: results.mean(row.name, data, rule) for row in rows}
        known = {title: mean for title, mean in means.items() if mean is not None}
        if known:
            found[data] = max(known, key=known.__getitem__)
    return found


def rank(
    results: Results, rows: Sequence[SystemSpec], system: str, data: str, rule: str
) -> int | None:
    """The place of a system in the order of means, from 1; None where it has none."""
    ours = results.mean(system, data, rule)
    others = [results.mean(row.name, data, rule) for row in rows]
    return None if ours is None else 1 + sum(one is not None and one > ours for one in others)


def grouped_sets(winners: Mapping[str, str]) -> str:
    """``BRNN on MR and CR; CNN on TREC``."""
    titles = dict.fromkeys(winners.values())
    return "; ".join(
        f"{title} on {listed([data for data, name in winners.items() if name == title])}"
        for title in titles
    )

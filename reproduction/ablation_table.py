"""Tables of what each part of AdaSent is worth, from the records of the ablations.

A variant is compared with the default run by run: the same fold, the same seed.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from adasent.evaluation.records import FoldRecord
from adasent.evaluation.summary import Summary, summarise
from reproduction.cells import OURS, Place
from reproduction.origins import Differences, differences, origin_mark, origin_notes
from reproduction.render import Cell, Table
from reproduction.sizes import Sizes, largest
from reproduction.wording import BETTER, EMPTY, WORSE, interval, signed

#: The variant that all others are compared with.
DEFAULT = "default"


class FoldSeed(NamedTuple):
    """Which run of a variant."""

    fold: int
    seed: int


@dataclass(frozen=True)
class Variant:
    """The runs of a variant on a set.

    Attributes
    ----------
    dev, test
        Accuracies by fold and seed; of the dev part, that of the setting and epoch chosen there.
    vectors
        Names of the word vectors.
    records
        The runs.
    """

    dev: dict[FoldSeed, float]
    test: dict[FoldSeed, float]
    vectors: tuple[str, ...]
    records: tuple[FoldRecord, ...] = ()

    def difference(self, other: Variant) -> Summary | None:
        """Test accuracy of the other less that of this, over runs that both have."""
        shared = self.test.keys() & other.test.keys()
        return over_folds({run: other.test[run] - self.test[run] for run in shared})


def over_folds(values: Mapping[FoldSeed, float]) -> Summary | None:
    """Mean and interval over the folds, or of a single one over its seeds; None of nothing.

    Seeds of a fold share all their texts, so that they are not further evidence: each fold counts
    once, with the mean of its seeds.
    """
    if len({fold for fold, _ in values}) <= 1:
        return summarise(list(values.values())) if values else None
    folds: dict[int, list[float]] = defaultdict(list)
    for (fold, _), value in values.items():
        folds[fold].append(value)
    return summarise([statistics.fmean(found) for found in folds.values()])


class Ablations:
    """Every variant on every set and fold rule that has records.

    Attributes
    ----------
    cells
        Of variants of AdaSent.
    others
        Of variants of other systems.

    ``names`` are those of the plan, in its order: records of others are left out. None takes all.
    """

    def __init__(self, records: Iterable[FoldRecord], names: Iterable[str] | None = None) -> None:
        self._names = None if names is None else list(names)
        rows: dict[Place, list[FoldRecord]] = defaultdict(list)
        for record in records:
            name = record.spec["system"]
            if self._names is None or name in self._names:
                rows[Place(name, record.data, record.rule)].append(record)
        self.cells: dict[Place, Variant] = {}
        self.others: dict[Place, Variant] = {}
        for place, found in rows.items():
            ours = found[-1].spec.get("of", OURS) == OURS
            (self.cells if ours else self.others)[place] = _variant(found)

    @property
    def variants(self) -> list[str]:
        """Names, the default first, the others in the order of the plan."""
        names = sorted({place.system for place in self.cells}, key=self.order)
        return sorted(names, key=lambda name: name != DEFAULT)

    def order(self, name: str) -> tuple[int, str]:
        """Where a variant stands among the others."""
        return (0 if self._names is None else self._names.index(name), name)

    def columns(self, sets: Sequence[str]) -> list[tuple[str, str]]:
        """Pairs of set and fold rule that have records, in the order of the sets."""
        found = {(place.data, place.rule) for place in self.cells}
        return sorted(
            (pair for pair in found if pair[0] in sets),
            key=lambda pair: (sets.index(pair[0]), pair[1] != "random"),
        )

    def difference(self, place: Place) -> Summary | None:
        """The variant less the default, in test accuracy; None where one of them is missing.

        Other systems are compared where they read the same vectors.
        """
        default = self.cells.get(place._replace(system=DEFAULT))
        other = self.others.get(place)
        variant = self.cells.get(place, other)
        if default is None or variant is None or place.system == DEFAULT:
            return None
        if other is not None and other.vectors != default.vectors:
            return None
        return default.difference(variant)

    def origins(self, place: Place, *, with_default: bool) -> Differences:
        """In which device and versions the runs differ, those it is compared with included."""
        variant = self.cells.get(place) or self.others[place]
        records = list(variant.records)
        if with_default and self.difference(place) is not None:
            records += self.cells[place._replace(system=DEFAULT)].records
        return differences(records)

    def origin_notes(self, places: Iterable[Place]) -> list[str]:
        """A footnote on marked figures: of variants, or of what they are compared with as well."""
        return origin_notes(
            {
                (place.system, _column(place.data, place.rule)): self.origins(
                    place, with_default=True
                )
                for place in places
            }
        )


def supported(difference: Summary | None) -> bool:
    """Whether the 95 % interval leaves zero out."""
    if difference is None or difference.low is None or difference.high is None:
        return False
    return difference.low > 0 or difference.high < 0


def ablation_tables(
    found: Ablations, sets: Sequence[str], sizes: Sizes | None = None
) -> list[Table]:
    """Differences from the default at a glance, and every figure; nothing without records."""
    columns = found.columns(sets)
    tables = [_overview(found, columns), _details(found, columns)] if columns else []
    return [*tables, _others(found, sets, sizes or {})] if found.others else tables


def _variant(rows: list[FoldRecord]) -> Variant:
    """Where it was run in several ways, the way of its last record counts."""
    last = rows[-1]
    way = (last.spec, last.sha256, last.n_folds)
    kept = [row for row in rows if (row.spec, row.sha256, row.n_folds) == way]
    return Variant(
        {FoldSeed(row.fold, row.seed): dev for row in kept if (dev := dev_accuracy(row))},
        {FoldSeed(row.fold, row.seed): row.accuracy for row in kept},
        tuple(source["name"] for source in last.spec.get("vectors", [])),
        tuple(kept),
    )


def dev_accuracy(record: FoldRecord) -> float | None:
    """What the chosen setting had on the dev part; None where nothing was chosen."""
    if not record.tried or record.chosen is None:
        return None
    found: float = record.tried[record.chosen]["accuracy"]
    return found


def _overview(found: Ablations, columns: Sequence[tuple[str, str]]) -> Table:
    rows = []
    for name in found.variants:
        row = [Cell(name)]
        for data, rule in columns:
            place = Place(name, data, rule)
            variant, difference = found.cells.get(place), found.difference(place)
            if variant is None:
                row.append(EMPTY)
            elif difference is None:
                origin = origin_mark(found.origins(place, with_default=False))
                row.append(Cell(f"{100 * statistics.fmean(variant.test.values()):.2f}{origin}"))
            else:
                origin = origin_mark(found.origins(place, with_default=True))
                row.append(Cell(signed(difference.mean) + _sign(difference) + origin))
        rows.append(tuple(row))
    places = [Place(name, data, rule) for name in found.variants for data, rule in columns]
    notes = (
        f"First row: test accuracy in percent. Below: difference from it. {BETTER} {WORSE}: the "
        "95 % interval of the paired differences leaves zero out.",
        *found.origin_notes(place for place in places if place in found.cells),
    )
    head = ("Variant", *(_column(*column) for column in columns))
    return Table("ablations", "Ablations of AdaSent", head, tuple(rows), notes)


def _details(found: Ablations, columns: Sequence[tuple[str, str]]) -> Table:
    places = [
        place
        for data, rule in columns
        for name in found.variants
        if (place := Place(name, data, rule)) in found.cells
    ]
    rows = [
        (Cell(_column(place.data, place.rule)), Cell(place.system), *_figures(found, place))
        for place in places
    ]
    notes = (
        "dev, test: mean accuracy in percent; Δ: variant less default in test accuracy, run by "
        "run; 95 %: interval by Student's t over the folds, each with the mean of its seeds, or "
        "with an official split over the seeds. Folds share training texts and seeds share test "
        "texts, so that intervals are too narrow rather than too wide.",
        *found.origin_notes(places),
    )
    head = ("Set", "Variant", "runs", "dev", "test", "95 %", "Δ", "95 %")
    return Table("ablations-runs", "Ablations, every figure", head, tuple(rows), notes)


def _others(found: Ablations, sets: Sequence[str], sizes: Sizes) -> Table:
    places = sorted(
        (place for place in found.others if place.data in sets),
        key=lambda place: (
            found.order(place.system),
            sets.index(place.data),
            place.rule != "random",
        ),
    )
    rows = []
    for place in places:
        n = largest(sizes, place.system)
        where = Cell(_column(place.data, place.rule))
        size = EMPTY if n is None else Cell(f"{n:,}")
        rows.append((Cell(place.system), size, where, *_figures(found, place)))
    notes = (
        "parameters: beside the word vectors, at most. Δ: less AdaSent's default, run by run, "
        "where both read the same vectors; one setting each.",
        *found.origin_notes(places),
    )
    head = ("Variant", "parameters", "Set", "runs", "dev", "test", "95 %", "Δ", "95 %")
    return Table("ablations-others", "Other systems with a change", head, tuple(rows), notes)


def _figures(found: Ablations, place: Place) -> tuple[Cell, ...]:
    variant = found.cells.get(place) or found.others[place]
    difference = found.difference(place)
    test = over_folds(variant.test)
    assert test is not None
    dev = Cell(f"{100 * statistics.fmean(variant.dev.values()):.2f}") if variant.dev else EMPTY
    figures = (
        Cell(str(len(variant.test))),
        dev,
        Cell(f"{100 * test.mean:.2f}{origin_mark(found.origins(place, with_default=False))}"),
        interval(test.low, test.high),
    )
    if difference is None:
        return (*figures, EMPTY, EMPTY)
    return (
        *figures,
        Cell(
            signed(difference.mean) + origin_mark(found.origins(place, with_default=True)),
            bold=supported(difference),
        ),
        interval(difference.low, difference.high),
    )


def _sign(difference: Summary) -> str:
    if not supported(difference):
        return ""
    return BETTER if difference.mean > 0 else WORSE


def _column(data: str, rule: str) -> str:
    return data if rule == "random" else f"{data}, {rule}"

"""Tables of who is right on which texts, from the records and the flags of the texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from adasent.evaluation.significance import compare, wilson
from reproduction.cells import OURS, Place
from reproduction.phenomena import (
    CONTRASTS,
    NEGATORS,
    Mask,
    read_phenomena,
    with_complements,
    words_listed,
)
from reproduction.render import Cell, Table
from reproduction.results import Results
from reproduction.wording import EMPTY, mark, signed

#: Rows of Table 2 that are looked at closely.
SYSTEMS = ("nbsvm", "cnn", "cbow", "grconv", "brnn", "adasent-paper", OURS)
#: Whom AdaSent is compared with, text by text.
RIVAL = "brnn"
#: Fewer texts than this say nothing.
MIN_TEXTS = 20


def phenomena_tables(
    found: Mapping[str, Mapping[str, Any]], results: Results, sets: Sequence[str]
) -> list[Table]:
    """A table for each set whose texts were looked at."""
    return [_table(data, found[data], results) for data in sets if data in found]


def _table(data: str, values: Mapping[str, Any], results: Results) -> Table:
    systems = [row for row in results.systems if row.name in SYSTEMS]
    shares = {row.name: _shares(results, row.name, data, values) for row in systems}
    rows = []
    for name, mask in _groups(data, values, results).items():
        positions = _tested(mask, shares)
        if len(positions) < MIN_TEXTS:
            continue
        row = [Cell(name), Cell(f"{len(positions):,}")]
        row += [_cell(shares[system.name], positions) for system in systems]
        rows.append((*row, _difference(shares, positions)))
    titles = {row.name: row.title for row in results.systems}
    head = ("Texts", "n", *(row.title for row in systems), f"AdaSent − {titles.get(RIVAL, RIVAL)}")
    return Table(f"phenomena-{data}", f"{data}, by what a text shows", head, tuple(rows))


def phenomena_note() -> str:
    """What the rows are; for all tables at once."""
    return (
        "Accuracy in percent under random folds (TREC: official test part, mean over the seeds), "
        "in brackets Wilson's 95 % interval. negation: a text with one of "
        f"{words_listed(NEGATORS)}; contrast: with one of {words_listed(CONTRASTS)}; unseen word: "
        "with a word that no text outside its test part has. Groups of fewer than "
        f"{MIN_TEXTS} texts are left out. AdaSent − BRNN: with ▼ where both paired tests on these "
        "texts support that BRNN is below AdaSent, with ▲ above it; no correction is made for the "
        "number of rows."
    )


def _groups(data: str, values: Mapping[str, Any], results: Results) -> dict[str, Mask]:
    """Phenomena, and the classes as the records have them."""
    groups = with_complements(read_phenomena(values))
    for system in results.systems:
        runs = results.runs.get(Place(system.name, data, "random"))
        if runs is None or not runs.complete or runs.records[0].sha256 != values["sha256"]:
            continue
        labels = {
            position: record.classes[true]
            for record in runs.records
            for position, true in zip(record.test, record.true, strict=True)
        }
        for label in runs.records[0].classes:
            mask = np.zeros(values["n"], dtype=bool)
            mask[[position for position, found in labels.items() if found == label]] = True
            groups[f"class {label}"] = mask
        break
    return groups


def _shares(
    results: Results, system: str, data: str, values: Mapping[str, Any]
) -> dict[int, float] | None:
    """How often each text was right; None without a complete cell on these very texts."""
    place = Place(system, data, "random")
    if not results.is_complete(place):
        return None
    runs = results.runs[place]
    return runs.shares if runs.records[0].sha256 == values["sha256"] else None


def _tested(mask: Mask, shares: Mapping[str, dict[int, float] | None]) -> list[int]:
    """Positions of the group that were tested."""
    known = next((one for one in shares.values() if one is not None), {})
    return [i for i in np.flatnonzero(mask).tolist() if i in known]


def _cell(shares: dict[int, float] | None, positions: Sequence[int]) -> Cell:
    if shares is None:
        return EMPTY
    n, n_right = len(positions), sum(shares[i] for i in positions)
    low, high = wilson(round(n_right), n)
    return Cell(f"{100 * n_right / n:.1f} ({100 * low:.1f} to {100 * high:.1f})")


def _difference(shares: Mapping[str, dict[int, float] | None], positions: Sequence[int]) -> Cell:
    ours, theirs = shares.get(OURS), shares.get(RIVAL)
    if ours is None or theirs is None:
        return EMPTY
    test = compare(*(np.array([one[i] for i in positions]) for one in (ours, theirs)))
    return Cell(signed(test.bootstrap.difference) + mark(test))

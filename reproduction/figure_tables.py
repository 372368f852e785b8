"""The data of a figure as tables, for readers without the picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reproduction.render import Cell, Table

_MAX_PARTS = 12


def figure_tables(data: Mapping[str, Any]) -> list[Table]:
    """One or more tables, by the figure that the data is of."""
    return _TABLES[data["figure"]](data)


def _belief(data: Mapping[str, Any]) -> list[Table]:
    n_levels = max(len(row["beliefs"]) for row in data["rows"])
    rows = []
    for row in data["rows"]:
        top = max(row["beliefs"])
        rows.append(
            (
                Cell(row["text"]),
                Cell(row["data"]),
                *(Cell(f"{belief:.2f}", bold=belief == top) for belief in row["beliefs"]),
            )
        )
    head = ("Text", "set", *(str(level) for level in range(1, n_levels + 1)))
    title = "Belief in each level, sentences of one length"
    return [Table("fig-belief", title, head, tuple(rows))]


def _example(data: Mapping[str, Any]) -> list[Table]:
    top = max(data["beliefs"])
    rows = tuple(
        (Cell(str(level)), Cell(f"{belief:.3f}", bold=belief == top), Cell(f"{probability:.3f}"))
        for level, (belief, probability) in enumerate(
            zip(data["beliefs"], data["level_probabilities"], strict=True), start=1
        )
    )
    notes = (
        f"Sentence: {data['text']}",
        f"True label: {data['label']}; consensus: p({data['positive']}) = "
        f"{data['probability']:.3f}.",
    )
    head = ("Level", "belief", f"p({data['positive']})")
    return [Table("fig-example", "Beliefs and what each level says", head, rows, notes)]


def _pca(data: Mapping[str, Any]) -> list[Table]:
    rows = tuple(
        (
            Cell(panel["data"]),
            Cell(panel["system"]),
            Cell(str(panel["n"])),
            *(Cell(f"{100 * share:.1f}") for share in panel["explained"]),
            Cell(str(panel["n_unseen"])),
            Cell(f"{100 * panel['separated']:.1f}"),
        )
        for panel in data["panels"]
    )
    head = ("Set", "system", "texts", "1st %", "2nd %", "unseen", "separated %")
    notes = (
        "1st, 2nd: share of the variance. separated: texts not seen in training that are nearest "
        "to the centre of their own class in the plane of the two components.",
    )
    return [Table("fig-pca", "Principal components of the sentences", head, rows, notes)]


def _composition(data: Mapping[str, Any]) -> list[Table]:
    tables = []
    for number, phrase in enumerate(data["phrases"], start=1):
        tokens = phrase["tokens"]
        parts = sorted(phrase["parts"], key=lambda part: -part["weight"])
        rows = tuple(
            (
                Cell(" ".join(tokens[part["start"] : part["start"] + part["length"]])),
                Cell("word" if part["length"] == 1 else "composed"),
                Cell(str(part["n_ways"])),
                Cell(f"{part['weight']:.6f}"),
            )
            for part in parts[:_MAX_PARTS]
        )
        notes = [
            f"The weights sum to 1 within {phrase['weight_error']:.0e}; the parts make up the unit "
            f"within {phrase['unit_error']:.0e}."
        ]
        if len(parts) > _MAX_PARTS:
            rest = sum(part["weight"] for part in parts[_MAX_PARTS:])
            notes.append(f"{len(parts) - _MAX_PARTS} more parts weigh {rest:.6f} together.")
        if "trees" in phrase:
            heaviest = ", ".join(f"{t['tree']} {t['weight']:.3f}" for t in phrase["trees"][:5])
            notes.append(
                f"Trees inside compositions, {len(phrase['trees'])} in all: {heaviest}. Vectors "
                f"composed along them miss the unit by up to {phrase['tree_error']:.1e}: a "
                "composition of a mixture is not the mixture of the compositions."
            )
        title = f"What the unit of “{' '.join(tokens)}” is made of"
        head = ("Part", "kind", "ways", "weight")
        tables.append(Table(f"fig-composition-{number}", title, head, rows, tuple(notes)))
    return tables


_TABLES = {
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}

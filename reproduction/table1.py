"""The paper's Table 1, with our counts of the sets beside its figures, and the sets' traps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from adasent.data.audit import Audit
from adasent.data.registry import find
from reproduction.paper import paper
from reproduction.render import Cell, Table
from reproduction.wording import MISSING, cells, missing_note


def table1(audits: Mapping[str, Audit], sets: Sequence[str]) -> list[Table]:
    """Statistics of the sets, and the traps in them."""
    rows, traps, notes = [], [], []
    for data in sets:
        said = paper()["table1"][data]
        rows.append(
            cells(
                data,
                "paper",
                said["N"],
                _shares(said["dist"]),
                said["K"],
                said["words"],
                said["test"],
            )
        )
        found = audits.get(data)
        if found is None:
            rows.append((Cell(""), Cell("ours"), *[MISSING] * 5))
            traps.append((Cell(data), *[MISSING] * 6))
            continue
        shares = _shares([n / found.n for n in found.classes.values()])
        test = "CV" if found.n_test is None else found.n_test
        mean = f"{found.lengths.mean:.1f}"
        rows.append(cells("", "ours", found.n, shares, len(found.classes), mean, test))
        words = found.words
        leaked = words.leakage if words.official_leakage is None else words.official_leakage
        traps.append(
            cells(
                data,
                words.n_distinct,
                words.n_contradictory,
                f"{100 * leaked:.1f}",
                f"{100 * words.best_accuracy:.1f}",
                f"{100 * found.majority:.1f}",
                found.n_wordless,
            )
        )
        entry = find(data)
        if entry is not None and entry.remark:
            notes.append(f"{data}: {entry.remark}.")
    n_missing = sum(data not in audits for data in sets)
    notes += missing_note(n_missing, len(sets), "sets")
    statistics = Table(
        "table1",
        "Table 1. Statistics of the sets",
        ("Data", "", "N", "dist", "K", "|w|", "test"),
        tuple(rows),
        ("|w|: mean words of a text, ours by the tokenizer of Kim (2014), marks included.", *notes),
        n_missing,
    )
    found_in = Table(
        "table1-traps",
        "Traps in the sets",
        ("Data", "distinct", "two labels", "leak %", "best %", "majority %", "no word"),
        tuple(traps),
        (
            "Texts are compared word for word. two labels: texts that carry more than one. leak: "
            "share of the texts of a random test fold (TREC: of the official test part) that stand "
            "in training. best: what is reachable at most with contradictory labels.",
        ),
    )
    return [statistics, found_in]


def _shares(shares: Iterable[float]) -> str:
    return f"({', '.join(f'{share:.2g}' for share in shares)})"

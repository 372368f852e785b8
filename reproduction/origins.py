"""Marks cells whose records come from different places, with a footnote.

Runs of one cell may have been made on different devices or with different versions of the
libraries. Their mean is still shown, marked, for such runs are equal only up to rounding.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from adasent.evaluation.records import FoldRecord

#: Stands behind the figure of a cell whose runs differ in device or versions.
MIXED = "†"

Differences = tuple[str, ...]
"""What differs among the runs of a cell, such as ``numpy 2.4.6 and 2.5.2``; empty if nothing."""


def differences(records: Iterable[FoldRecord]) -> Differences:
    """In which device and which versions the records differ.

    A version is compared among the records that name it; the platform plays no part, which differs
    with every update of a kernel.
    """
    values: dict[str, set[str]] = defaultdict(set)
    for record in records:
        values["device"].add(record.machine)
        for name, version in record.versions.items():
            if name != "platform":
                values["scikit-learn" if name == "sklearn" else name].add(version)
    return tuple(
        f"{name} {' and '.join(sorted(found))}"
        for name, found in sorted(values.items())
        if len(found) > 1
    )


def origin_mark(found: Differences) -> str:
    """The mark, or nothing."""
    return MIXED if found else ""


def origin_notes(cells: Mapping[tuple[str, str], Differences]) -> list[str]:
    """A footnote on the cells that carry the mark; none if there are none.

    Parameters
    ----------
    cells
        By row and column, as the table names them.
    """
    columns: dict[tuple[str, Differences], list[str]] = defaultdict(list)
    for (row, column), found in cells.items():
        if found:
            columns[row, found].append(column)
    rows: dict[tuple[Differences, str], list[str]] = defaultdict(list)
    for (row, found), names in columns.items():
        rows[found, ", ".join(names)].append(row)
    parts = [
        f"{', '.join(names)} on {where} ({', '.join(found)})"
        for (found, where), names in rows.items()
    ]
    if not parts:
        return []
    return [
        f"{MIXED} runs that were made on different devices or with different versions: "
        f"{'; '.join(parts)}."
    ]

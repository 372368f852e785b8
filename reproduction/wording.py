"""How numbers, differences and missing values are written in the cells of every table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from adasent.evaluation.significance import Comparison
from adasent.evaluation.summary import Summary
from reproduction.render import Cell, Table

MISSING = Cell("missing")
EMPTY = Cell("–")
BETTER, WORSE = "▲", "▼"
MARKS = (
    f"{WORSE} below AdaSent, {BETTER} above it: both McNemar's test pooled over the folds and the "
    "paired bootstrap support the difference at the 5 % level, each comparison on its own."
)


def cells(*values: object) -> tuple[Cell, ...]:
    """Plain cells of anything."""
    return tuple(Cell(str(value)) for value in values)


def columns(sets: Sequence[str]) -> tuple[str, ...]:
    """The head of a table with the paper's figure and ours for each set."""
    return ("Model", *(f"{data} {whose}" for data in sets for whose in ("paper", "ours")))


def mean_and_sd(summary: Summary, digits: int = 1) -> str:
    """``79.6 ± 1.1`` in percent; of a single score only the mean."""
    spread = "" if summary.sd is None else f" ± {100 * summary.sd:.{digits}f}"
    return f"{100 * summary.mean:.{digits}f}{spread}"


def mark(test: Comparison | None) -> str:
    """How a system stands to AdaSent, where both tests support it."""
    if test is None or not test.supported:
        return ""
    return WORSE if test.bootstrap.difference > 0 else BETTER


def interval(low: float | None, high: float | None) -> Cell:
    """``−0.12 to 1.30`` in percent."""
    if low is None or high is None:
        return EMPTY
    return Cell(minus(f"{100 * low:.2f} to {100 * high:.2f}"))


def signed(share: float) -> str:
    """A difference of shares in percent, with its sign."""
    return minus(f"{100 * share:+.2f}")


def minus(text: str) -> str:
    """With real minus signs for hyphens."""
    return text.replace("-", "−")


def p_value(p: float) -> str:
    """Four digits; below that only that it is."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def missing_note(n_missing: int, n: int, what: str) -> list[str]:
    """A sentence on what has no records, if anything."""
    return [f"{n_missing} of {n} {what} have no or not all records."] if n_missing else []


def dashed(table: Table) -> Table:
    """With a line in place of each figure that is missing."""
    rows = tuple(tuple(EMPTY if cell == MISSING else cell for cell in row) for row in table.rows)
    return replace(table, rows=rows)


def listed(words: Sequence[str]) -> str:
    """``a, b and c``; ``none`` of nothing."""
    if not words:
        return "none"
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def counted(n: int, noun: str) -> str:
    """``1 set``, ``2,000 sets``."""
    return f"{n:,} {noun}" + ("" if n == 1 else "s")

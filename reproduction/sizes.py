"""Counts the numbers that the networks of the plan learn."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from adasent.estimators import registry
from reproduction.cells import OURS
from reproduction.jobs import Jobs
from reproduction.render import Cell, Table
from reproduction.specs import SystemSpec
from reproduction.wording import MISSING

Sizes = dict[str, dict[str, Any]]
"""By the name of a system or of an ablation: numbers for each ``word``, and those of the
``network`` beside the words by the number of classes."""


def network_sizes(jobs: Jobs, n_classes: Collection[int]) -> Sizes:
    """Of every network of Table 2, and of the other systems among the ablations."""
    from adasent.estimators.neural import network_size

    plan = jobs.plan
    tables = ("table2", "ablations", "taught")
    any_run = {run.system: run for table in tables for run in plan.runs(table)}
    found: Sizes = {}
    for run in any_run.values():
        system = plan.row(run)
        if not system.vectors or (run.table == "ablations" and system.name == OURS):
            continue
        estimator = registry.make(system.registered, **system.base | plan.settings(run)[0])
        width = jobs.vector_size(run)
        counts = {n: network_size(estimator, width, n) for n in sorted(n_classes)}
        found[run.system] = {
            "word": max(size.word for size in counts.values()),
            "network": {str(n): size.network for n, size in counts.items()},
        }
    return found


def largest(sizes: Sizes, name: str) -> int | None:
    """Parameters beside the words, with as many classes as any set has; None if not counted."""
    return max(sizes[name]["network"].values()) if name in sizes else None


def size_table(sizes: Sizes, systems: Sequence[SystemSpec]) -> list[Table]:
    """Of the systems that have a network; nothing if none was counted."""
    rows = [system for system in systems if system.vectors]
    classes = sorted({n for size in sizes.values() for n in size["network"]}, key=int)
    if not sizes or not rows:
        return []
    table = Table(
        "sizes",
        "Size of the networks",
        ("Model", "a word", *(f"{n} classes" for n in classes)),
        tuple((Cell(row.title), *_cells(sizes.get(row.name), classes)) for row in rows),
        (
            "Numbers that are learnt, with the default settings and the vectors of the protocol: "
            "for each word, and beside the words.",
        ),
    )
    return [table]


def _cells(size: Mapping[str, Any] | None, classes: Sequence[str]) -> tuple[Cell, ...]:
    if size is None:
        return (MISSING,) * (1 + len(classes))
    counts = (size["word"], *(size["network"].get(n) for n in classes))
    return tuple(MISSING if n is None else Cell(f"{n:,}") for n in counts)

"""The CSV of the last run -> the tables of docs/speed.md; no figure there is typed.

python benchmarks/tables.py           # print them
python benchmarks/tables.py --write   # put them into the page, between their marks
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import Row, read_rows  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "speed.md"


class Target(NamedTuple):
    """A row that must lie in a range."""

    what: str
    name: str
    provider: str
    unit: str
    against: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def bound(self) -> str:
        """The range in words."""
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        return f"at least {self.low:g}" if self.low is not None else f"at most {self.high:g}"

    def met(self, value: float) -> bool:
        """Does it lie in the range?"""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


TARGETS = (
    Target("pyramid, share of its matrix products", "mr", "pyramid", "ratio", "product", 0.75),
    Target("prediction from strings, share of the same", "mr", "predict", "ratio", "product", 0.75),
    Target(
        "the same with 25 groups of gates", "groups", "predict, N = 25", "ratio", "product", 0.75
    ),
    Target("prediction from strings over padded pyramid", "mr", "predict", "ratio", "padded", 5),
    Target("prediction over MiniLM's", "peers", "adasent", "ratio", "MiniLM + LR", 20),
    Target("ONNX Runtime over numpy with numba", "onnx", "onnx, N = 100", "ratio", "numba", 0.5),
    Target("time in the sum of cells, exponent", "length", "pyramid", "exponent", "", 0.9, 1.1),
    Target("memory in T, exponent", "memory", "predict", "exponent", "", None, 1.1),
    Target("training step over padded", "training", "adasent", "ratio", "padded", 3),
    Target(
        "training memory, share of padded",
        "training",
        "adasent",
        "share of memory",
        "padded",
        None,
        0.25,
    ),
)


def number(value: float) -> str:
    """Three significant digits, thousands separated, no exponent."""
    if abs(value) >= 1000:
        return f"{float(f'{value:.3g}'):,.0f}"
    return f"{value:.3g}"


def spread(row: Row) -> str:
    """``median (p20 to p80)``, or the value alone where it was taken once."""
    if row.repeats == 1:
        return number(row.median)
    return f"{number(row.median)} ({number(row.p20)} to {number(row.p80)})"


def targets(rows: list[Row]) -> str:
    """What was promised beside what was measured."""
    body = []
    for target in TARGETS:
        key = (target.name, target.provider, target.unit, target.against)
        for row in rows:
            if (row.name, row.provider, row.unit, row.against) == key:
                met = "yes" if target.met(row.median) else "no"
                command = f"`python benchmarks/run.py cpu --only {target.name}`"
                body.append([target.what, spread(row), target.bound, met, command])
    return markdown(["on the CPU", "measured", "wanted", "met", "again"], body)


def peers(rows: list[Row]) -> str:
    """One line a system, most accurate first."""
    own = {(r.provider, r.unit): r for r in rows if r.name == "peers" and not r.against}
    names = list(dict.fromkeys(provider for provider, _ in own))
    names.sort(key=lambda name: -own[name, "accuracy %"].median)
    units = ("accuracy %", "sentences/s", "ms", "MB")
    body = [[name, *(spread(own[name, unit]) for unit in units)] for name in names]
    return markdown(["system", "accuracy, %", "sentences/s", "one sentence, ms", "MB"], body)


def versions(name: str) -> Callable[[list[Row]], str]:
    """A table of all figures of a benchmark: one line a provider, one column a quantity."""

    def table(rows: list[Row]) -> str:
        own = [row for row in rows if row.name == name]
        columns = list(dict.fromkeys(column(row) for row in own))
        found = {(row.provider, column(row)): spread(row) for row in own}
        body = [
            [provider, *(found.get((provider, title), "") for title in columns)]
            for provider in dict.fromkeys(row.provider for row in own)
        ]
        return markdown(["", *columns], body)

    return table


def column(row: Row) -> str:
    """The quantity of a row, as a heading."""
    if not row.against:
        return row.unit
    return f"times {row.against}" if row.unit == "ratio" else f"{row.unit}, {row.against}"


def sweep(name: str, axis: str, label: str, unit: str) -> Callable[[list[Row]], str]:
    """A table with one line for each value along an axis and one column a provider."""

    def table(rows: list[Row]) -> str:
        own = [row for row in rows if row.name == name and row.unit == unit]
        providers = list(dict.fromkeys(row.provider for row in own))
        found = {(getattr(row, axis), row.provider): spread(row) for row in own}
        body = [
            [str(value), *(found.get((value, provider), "") for provider in providers)]
            for value in sorted({getattr(row, axis) for row in own})
        ]
        return markdown([label, *(f"{provider}, {unit}" for provider in providers)], body)

    return table


def origin(rows: list[Row]) -> str:
    """Machine, versions, commit and day of the rows: one sentence for each combination."""
    kinds: dict[str, list[str]] = {}
    for row in rows:
        kind = (
            f"{row.device}; Python {row.python}, numpy {row.numpy}, torch {row.torch}, "
            f"numba {row.numba}, adasent {row.adasent} at {row.commit}, {row.date}"
        )
        names = kinds.setdefault(kind, [])
        if row.name not in names:
            names.append(row.name)
    if len(kinds) == 1:
        return f"Measured on {next(iter(kinds))}."
    return "\n".join(f"- {', '.join(names)}: measured on {kind}." for kind, names in kinds.items())


TABLES: dict[str, Callable[[list[Row]], str]] = {
    "targets": targets,
    "peers": peers,
    "mr": versions("mr"),
    "groups": versions("groups"),
    "stages": versions("stages"),
    "onnx": versions("onnx"),
    "onnx-levels": versions("onnx-levels"),
    "training": versions("training"),
    "roofline": versions("roofline"),
    "length": sweep("length", "longest", "T", "s"),
    "hidden": sweep("hidden", "hidden", "D", "sentences/s"),
    "batch": sweep("batch", "batch", "B", "sentences/s"),
    "memory": sweep("memory", "longest", "T", "MB"),
    "origin": origin,
}


def fill(page: str, rows: list[Row]) -> str:
    """Replace what stands between the marks of each table."""
    for name, make in TABLES.items():
        page = put_between_marks(page, name, "tables.py", make(rows))
    return page


if __name__ == "__main__":
    all_rows = read_rows(RESULTS / "cpu.csv")
    if sys.argv[1:] == ["--write"]:
        PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), all_rows), encoding="utf-8")
    else:
        print("\n\n".join(make(all_rows) for make in TABLES.values()))

"""What a benchmark yields, what a row of the CSV holds, and how rows get there and back."""

from __future__ import annotations

import csv
import importlib
import platform
import subprocess
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent


class Shape(NamedTuple):
    """What was worked on. ``None`` where it does not apply."""

    batch: int | None = None  # B, sentences of a batch
    longest: int | None = None  # T
    hidden: int | None = None  # D
    lengths: str = ""  # "MR", or "equal" where all sentences have T words
    cells: int | None = None  # sum of T(T+1)/2 over all sentences
    dtype: str = "float32"


class Result(NamedTuple):
    """All repeats of one quantity.

    Attributes
    ----------
    provider
        What was measured.
    unit
        ``s``, ``MB``, ``sentences/s``, ``ratio`` ...
    values
        One value a repeat.
    against
        For a ratio, what ``provider`` is compared with; above 1 ``provider`` is better.
    """

    provider: str
    unit: str
    values: Iterable[float]
    shape: Shape = Shape()
    against: str = ""


@dataclass(frozen=True)
class Row:
    """One line of the CSV."""

    name: str
    provider: str
    against: str
    unit: str
    median: float
    p20: float
    p80: float
    repeats: int
    batch: int | None
    longest: int | None
    hidden: int | None
    lengths: str
    cells: int | None
    dtype: str
    threads: int
    device: str
    python: str
    numpy: str
    torch: str
    numba: str
    adasent: str
    commit: str
    date: str


def row(name: str, result: Result, environment: dict[str, str | int]) -> Row:
    """Reduce the repeats to median and spread, and say where and with what they were measured."""
    values = np.array(list(result.values), dtype=float)
    low, median, high = np.quantile(values, [0.2, 0.5, 0.8])
    return Row(
        name=name,
        provider=result.provider,
        against=result.against,
        unit=result.unit,
        median=float(f"{median:.5g}"),
        p20=float(f"{low:.5g}"),
        p80=float(f"{high:.5g}"),
        repeats=len(values),
        **result.shape._asdict(),
        **environment,  # type: ignore[arg-type]
    )


def environment(threads: int, device: str | None = None) -> dict[str, str | int]:
    """Machine, versions, commit and day, as columns of a row."""
    versions = {name: _version(name) for name in ("numpy", "torch", "numba", "adasent")}
    return {
        "threads": threads,
        "device": device or _processor(),
        "python": platform.python_version(),
        **versions,
        "commit": commit(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def write_rows(path: Path, rows: list[Row]) -> None:
    """Add rows to a CSV; earlier rows of the same benchmarks are replaced, others stay."""
    renewed = {row.name for row in rows}
    kept = [row for row in read_rows(path) if row.name not in renewed] if path.exists() else []
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(Row)], lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in sorted([*kept, *rows], key=lambda row: row.name))


def read_rows(path: Path) -> list[Row]:
    """All rows of a CSV, in order."""
    types = {f.name: str(f.type) for f in fields(Row)}
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Row(**{name: _parse(value, types[name]) for name, value in line.items()})  # type: ignore[arg-type]
            for line in csv.DictReader(file)
        ]


def _parse(value: str, type_: str) -> str | int | float | None:
    if type_ == "str":
        return value
    if not value:
        return None
    return float(value) if type_ == "float" else int(value)


def _version(module: str) -> str:
    try:
        return str(importlib.import_module(module).__version__)
    except ImportError:
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def commit() -> str:
    """Short hash, with ``+`` when files differ from it."""

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(ROOT), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    # Results written during a run are no difference in what is measured.
    changed = git("status", "--porcelain", "--", "src", "benchmarks/*.py")
    return git("rev-parse", "--short", "HEAD") + ("+" if changed else "")

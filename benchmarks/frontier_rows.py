"""Rows of the frontier in a CSV -> its table and its picture."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.pages import markdown
from benchmarks.records import ROOT
from benchmarks.tables import number

CSV = ROOT / "benchmarks" / "results" / "frontier.csv"
SETS = ("MR", "CR", "SUBJ", "MPQA", "TREC")
#: Folds, or seeds, of a whole cell.
N_FOLDS = 10


@dataclass
class FrontierRow:
    """A system on a set; what is not known is None."""

    system: str
    data: str
    accuracy: float | None = None  # percent
    runs: int | None = None  # folds, or seeds of an official part, that it is the mean of
    source: str = ""  # of the accuracy: records, or measured here
    sentences: float | None = None  # a second, from strings to labels, on one core; the median
    low: float | None = None  # 20th percentile
    high: float | None = None
    mb: float | None = None  # of the files that predict
    train_s: float | None = None  # of one training with one setting
    trained_on: str = ""
    device: str = ""  # of the speed
    python: str = ""
    torch: str = ""
    numpy: str = ""
    adasent: str = ""
    commit: str = ""
    date: str = ""


def read_rows() -> list[FrontierRow]:
    """All rows of the CSV."""
    if not CSV.exists():
        return []
    numbers = {
        f.name for f in fields(FrontierRow) if "float" in str(f.type) or "int" in str(f.type)
    }
    with CSV.open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    values = [
        {k: (float(v) if v else None) if k in numbers else v for k, v in line.items()}
        for line in lines
    ]
    for one in values:
        one["runs"] = None if one["runs"] is None else int(one["runs"])  # type: ignore[arg-type]
    return [FrontierRow(**one) for one in values]  # type: ignore[arg-type]


def write_rows(new: Sequence[FrontierRow]) -> None:
    """Put rows in place of those of the same system and set."""
    places = {(row.system, row.data) for row in new}
    rows = [row for row in read_rows() if (row.system, row.data) not in places] + list(new)
    rows.sort(key=lambda row: (SETS.index(row.data), row.system))
    with CSV.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [f.name for f in fields(FrontierRow)], lineterminator="\n")
        writer.writeheader()
        for row in rows:
            short = {
                k: float(f"{v:.5g}") if isinstance(v, float) else v for k, v in vars(row).items()
            }
            writer.writerow(short)


def on_frontier(rows: Sequence[FrontierRow]) -> list[FrontierRow]:
    """Those that no other is both faster and more accurate than; the fastest first."""
    whole = [row for row in rows if row.accuracy is not None and row.sentences is not None]
    whole.sort(key=lambda row: -(row.sentences or 0))
    found: list[FrontierRow] = []
    for row in whole:
        if not found or (row.accuracy or 0) > (found[-1].accuracy or 0):
            found.append(row)
    return found


def titles() -> dict[str, str]:
    """How rows of the tables are called."""
    from reproduction.specs import experiments

    plan = experiments()
    return {row.name: row.title for row in (plan.systems | plan.taught).values()} | {
        "adasent": "AdaSent (default)",
        "nbsvm": "NB-SVM (ours)",
    }


def table(rows: Sequence[FrontierRow]) -> str:
    """A line for each system, speed, size and time those of MR; a dash for what is not known."""
    names, by_place = titles(), {(row.system, row.data): row for row in rows}
    best = {(row.system, data) for data in SETS for row in on_frontier(_of(rows, data))}
    every = dict.fromkeys([*(row.system for row in rows), *names])

    def rate(name: str) -> float:
        row = by_place.get((name, SETS[0]))
        return 0.0 if row is None or row.sentences is None else row.sentences

    body = []
    for name in sorted(every, key=rate, reverse=True):
        line = [names.get(name, name)]
        for data in SETS:
            row = by_place.get((name, data))
            if row is None or row.accuracy is None:
                line.append("–")
                continue
            n = "" if row.runs == N_FOLDS else f" ({row.runs})"
            text = f"**{row.accuracy:.1f}**" if (name, data) in best else f"{row.accuracy:.1f}"
            line.append(text + n)
        first = by_place.get((name, SETS[0]), FrontierRow(name, SETS[0]))
        for value in (first.sentences, first.mb, first.train_s):
            line.append("–" if value is None else number(value))
        line[-1] += f" ({first.trained_on})" if first.trained_on else ""
        body.append(line)
    head = ["system", *SETS, "sentences/s", "MB", "seconds to train"]
    return markdown(head, body)


def origin(rows: Sequence[FrontierRow]) -> str:
    """Where and when speed was measured."""
    kinds = {
        f"{row.device}; Python {row.python}, torch {row.torch}, numpy {row.numpy}, "
        f"adasent at {row.commit}, {row.date}"
        for row in rows
        if row.device
    }
    return "\n".join(f"- Speed measured on {kind}." for kind in sorted(kinds))


def _of(rows: Sequence[FrontierRow], data: str) -> list[FrontierRow]:
    return [row for row in rows if row.data == data]


def draw(rows: Sequence[FrontierRow], path: Path) -> None:
    """A panel a set: accuracy against speed, dots as large as the model, the frontier as a line."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    names = titles()
    with mpl.rc_context({"svg.hashsalt": "adasent", "svg.fonttype": "none", "font.size": 8}):
        figure = Figure(figsize=(11, 7.4), layout="constrained")
        panels = figure.subplots(2, 3).ravel()
        panels[-1].axis("off")
        for axes, data in zip(panels, SETS, strict=False):
            known = [
                r for r in _of(rows, data) if r.accuracy is not None and r.sentences is not None
            ]
            axes.set(title=data, xlabel="sentences/s", ylabel="accuracy, %")
            if not known:
                axes.text(0.5, 0.5, "not measured yet", ha="center", transform=axes.transAxes)
                axes.set(xticks=[], yticks=[])
                continue
            for row in known:
                own = row.system in names
                assert row.sentences is not None
                assert row.accuracy is not None
                student = row.system.endswith("-taught") or row.system.startswith("adasent")
                colour = "C1" if student else "C0" if own else "0.45"
                axes.scatter(
                    row.sentences, row.accuracy, s=6 + 3 * (row.mb or 0), color=colour, alpha=0.45,
                    linewidths=0,
                )  # fmt: skip
                axes.plot(row.sentences, row.accuracy, ".", color=colour, markersize=3)
            line = on_frontier(known)
            axes.step(
                [r.sentences for r in line], [r.accuracy for r in line], color="0.2", lw=0.8,
                where="post",
            )  # fmt: skip
            _name(axes, known, line, names)
            axes.set(xscale="log")
            axes.margins(x=0.15)
            axes.grid(visible=True, alpha=0.25)
        for megabytes, y in ((2, 0.85), (10, 0.72), (65, 0.55), (135, 0.3)):
            panels[-1].scatter(0.2, y, s=6 + 3 * megabytes, color="0.45", alpha=0.45, linewidths=0)
            panels[-1].text(0.4, y, f"{megabytes} MB", va="center")
        text = "orange: AdaSent and taught rows\nblue: other rows of the tables\ngrey: peers"
        panels[-1].text(0.05, 0.02, text)
        panels[-1].set(xlim=(0, 1), ylim=(0, 1))
        figure.savefig(path, metadata={"Date": None})


def _name(axes: Any, rows: Sequence[FrontierRow], line: Sequence[FrontierRow], names: Any) -> None:
    """Names beside the dots; of crowded ones those on the frontier, and AdaSent's, come first."""
    first = {row.system for row in line} | {"adasent", "adasent-taught", "gte-tuned"}
    taken: list[tuple[float, float]] = []
    values = [row.accuracy or 0.0 for row in rows]
    if not values:
        return
    height = max(max(values) - min(values), 1.0)
    for row in sorted(rows, key=lambda one: one.system not in first):
        assert row.sentences is not None
        assert row.accuracy is not None
        x, y = float(np.log10(row.sentences)), row.accuracy
        if any(abs(x - a) < 0.6 and abs(y - b) < 0.045 * height for a, b in taken):
            continue
        taken.append((x, y))
        axes.annotate(
            names.get(row.system, row.system), (row.sentences, y), xytext=(4, 2),
            textcoords="offset points", fontsize=6,
        )  # fmt: skip

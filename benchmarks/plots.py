"""The CSV of the last run -> pictures beside it; nothing else is read.

python benchmarks/plots.py [FOLDER]
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

import matplotlib as mpl  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402

from benchmarks.gpu_results import SINGLE, GpuRow, read_csv  # noqa: E402
from benchmarks.records import Row, read_rows  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
# Equal rows give equal files, byte for byte.
STYLE = {"svg.hashsalt": "adasent", "svg.fonttype": "none", "font.size": 9}


def lines(axes: Axes, rows: list[Row], x: str, unit: str) -> None:
    """One line a provider, with the spread from the 20th to the 80th percentile."""
    chosen = [row for row in rows if row.unit == unit]
    for provider in dict.fromkeys(row.provider for row in chosen):
        own = sorted(
            (row for row in chosen if row.provider == provider), key=lambda row: getattr(row, x)
        )
        places = [getattr(row, x) for row in own]
        axes.plot(places, [row.median for row in own], marker="o", markersize=3, label=provider)
        axes.fill_between(places, [row.p20 for row in own], [row.p80 for row in own], alpha=0.2)
    axes.grid(visible=True, which="major", alpha=0.3)
    axes.legend(frameon=False)


def doubling(axes: Axes, rows: list[Row], x: str) -> None:
    """A logarithmic axis that names the sizes that were measured."""
    sizes = sorted({getattr(row, x) for row in rows if getattr(row, x) is not None})
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, labels=[str(size) for size in sizes])


def length(axes: Axes, rows: list[Row]) -> None:
    """Seconds against the sum of cells."""
    lines(axes, rows, "cells", "s")
    slope = next(row.median for row in rows if row.unit == "exponent")
    axes.set(
        xscale="log",
        yscale="log",
        xlabel="cells, the sum of T(T+1)/2 over the sentences",
        ylabel="seconds",
        title=f"Time against cells: exponent {slope:.2f}",
    )


def hidden(axes: Axes, rows: list[Row]) -> None:
    """Sentences a second against D."""
    lines(axes, rows, "hidden", "sentences/s")
    doubling(axes, rows, "hidden")
    axes.set(yscale="log", xlabel="D", ylabel="sentences/s", title="MR against hidden size")


def batch(axes: Axes, rows: list[Row]) -> None:
    """Sentences a second against B."""
    lines(axes, rows, "batch", "sentences/s")
    doubling(axes, rows, "batch")
    axes.set(xlabel="B", ylabel="sentences/s", title="MR against batch size")
    axes.set_ylim(bottom=0)


def memory(axes: Axes, rows: list[Row]) -> None:
    """Peak megabytes against T."""
    lines(axes, rows, "longest", "MB")
    doubling(axes, rows, "longest")
    axes.set(
        yscale="log",
        xlabel="T, words of one text",
        ylabel="MB above a warm process",
        title="Peak memory of a prediction",
    )


def mr(axes: Axes, rows: list[Row]) -> None:
    """Sentences a second of each version of the pyramid."""
    own = sorted((row for row in rows if row.unit == "sentences/s"), key=lambda row: row.median)
    medians = [row.median for row in own]
    spread = [[row.median - row.p20 for row in own], [row.p80 - row.median for row in own]]
    axes.barh([row.provider for row in own], medians, xerr=spread)
    axes.set(xlabel="sentences/s", title="MR on one core, D = 100")


def peers(axes: Axes, rows: list[Row]) -> None:
    """Accuracy against sentences a second; the area of a dot is the megabytes shipped."""
    value = {(row.provider, row.unit): row.median for row in rows if row.batch != 1}
    for name in dict.fromkeys(row.provider for row in rows):
        x, y = value[name, "sentences/s"], value[name, "accuracy %"]
        axes.scatter(x, y, s=4 * value[name, "MB"] + 10, alpha=0.6)
        axes.annotate(name, (x, y), textcoords="offset points", xytext=(0, 9), ha="center")
    axes.set(
        xscale="log",
        xlabel="sentences/s on one core",
        ylabel="accuracy, %",
        title="MR, one fold; area: MB shipped",
    )
    axes.margins(0.15)
    axes.grid(visible=True, alpha=0.3)


def gpu_pyramid(axes: Axes, rows: list[GpuRow]) -> None:
    """Milliseconds of one model, forward and backward: eager, and by the kernels."""
    shown = ("eager", "both", "both, as a graph")
    own = [
        row
        for row in reversed(rows)
        if row["shape"] == SINGLE and row["variant"].split(": ")[1] in shown
    ]
    low, middle, high = ([float(row[key]) for row in own] for key in ("p20", "median", "p80"))
    spread = [np.subtract(middle, low), np.subtract(high, middle)]
    bars = axes.barh([row["variant"] for row in own], middle, xerr=spread)
    axes.bar_label(bars, [f"{value:.3g} ms" for value in middle], padding=6)
    axes.set(
        xlabel="ms, one model, 64 sentences of MR's lengths, D = 100",
        title=f"The pyramid forward and backward, {own[0]['device']}",
    )
    axes.margins(x=0.2)


def gpu_training(axes: Axes, rows: list[GpuRow]) -> None:
    """Sentence updates a second against the models of a stack."""
    own = [row for row in rows if row["what"] == "training"]
    sizes = sorted({_n_models(row) for row in own})
    for variant in dict.fromkeys(row["variant"] for row in own):
        line = sorted((row for row in own if row["variant"] == variant), key=_n_models)
        low, middle, high = ([float(row[key]) for row in line] for key in ("p20", "median", "p80"))
        places = [_n_models(row) for row in line]
        axes.plot(places, middle, marker="o", markersize=3, label=variant)
        axes.fill_between(places, low, high, alpha=0.2)
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes, labels=[str(size) for size in sizes])
    axes.set(
        xlabel="K, models trained as one",
        ylabel="sentence updates/s, all models",
        title=f"Training end to end, {own[0]['device']}",
    )
    axes.set_ylim(bottom=0)
    axes.grid(visible=True, alpha=0.3)
    axes.legend(frameon=False)


def _n_models(row: GpuRow) -> int:
    return int(row["shape"].split()[0].removeprefix("K="))


PLOTS: dict[str, Callable[[Axes, list[Row]], None]] = {
    "mr": mr,
    "length": length,
    "hidden": hidden,
    "batch": batch,
    "memory": memory,
    "peers": peers,
}

#: Name of the picture -> what its rows measure, and how it is drawn.
GPU_PLOTS: dict[str, tuple[str, Callable[[Axes, list[GpuRow]], None]]] = {
    "gpu_pyramid": ("pyramid", gpu_pyramid),
    "gpu_training": ("training", gpu_training),
}


def draw(folder: Path = RESULTS) -> list[Path]:
    """One SVG for each benchmark in ``cpu.csv`` and ``gpu.csv`` that has a picture."""
    drawn = []

    def save(name: str, plot: Callable[[Axes, Any], None], own: list[Any]) -> None:
        if own:
            figure = Figure(figsize=(5.5, 3.6), layout="constrained")
            plot(figure.subplots(), own)
            drawn.append(folder / f"{name}.svg")
            figure.savefig(drawn[-1], metadata={"Date": None})

    rows = read_rows(folder / "cpu.csv") if (folder / "cpu.csv").exists() else []
    gpu_rows = read_csv(folder / "gpu.csv") if (folder / "gpu.csv").exists() else []
    with mpl.rc_context(STYLE):
        for name, plot in PLOTS.items():
            save(name, plot, [row for row in rows if row.name == name])
        for name, (what, gpu_plot) in GPU_PLOTS.items():
            save(name, gpu_plot, [row for row in gpu_rows if row["what"] == what])
    return drawn


if __name__ == "__main__":
    for path in draw(Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS):
        print(path)

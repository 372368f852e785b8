"""The data of a figure in; a picture in the paper's form out, by matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from adasent.errors import require

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = ("o", "x", "^", "s", "+", "v")


def draw(data: Mapping[str, Any], path: Path) -> None:
    """Write the picture; the ending of the path (svg, png, pdf) decides how."""
    require("matplotlib", "plots", "drawing a figure")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    figure = Figure(layout="constrained")
    _DRAW[data["figure"]](figure, data)
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with fixed names inside, so that equal data gives equal files.
    with rc_context({"svg.hashsalt": "adasent", "svg.fonttype": "none"}):
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(path, dpi=150, metadata=metadata)


def _belief(figure: Any, data: Mapping[str, Any]) -> None:
    rows = data["rows"]
    n_levels = max(len(row["beliefs"]) for row in rows)
    matrix = np.full((len(rows), n_levels), np.nan)
    for i, row in enumerate(rows):
        matrix[i, : len(row["beliefs"])] = row["beliefs"]
    figure.set_size_inches(11, 0.4 * len(rows) + 1.2)
    axes = figure.subplots()
    image = axes.imshow(matrix, aspect="auto", cmap="viridis", vmin=0, vmax=np.nanmax(matrix))
    axes.set_yticks(range(len(rows)), [f"{row['text']}  [{row['data']}]" for row in rows])
    axes.set_xticks(range(n_levels), [str(level) for level in range(1, n_levels + 1)])
    axes.set_xlabel("level")
    figure.colorbar(image, ax=axes, label="belief")


def _example(figure: Any, data: Mapping[str, Any]) -> None:
    figure.set_size_inches(11, 2.6)
    rows = (("belief", data["beliefs"]), (f"p({data['positive']})", data["level_probabilities"]))
    levels = [str(level) for level in range(1, len(data["beliefs"]) + 1)]
    upper, lower = figure.subplots(2, sharex=True)
    for axes, (name, values) in zip((upper, lower), rows, strict=True):
        top = 1.0 if axes is lower else max(values)
        axes.imshow([values], aspect="auto", cmap="viridis", vmin=0, vmax=top)
        axes.set_yticks([0], [name])
        for i, value in enumerate(values):
            colour = "black" if value > 0.6 * top else "white"
            axes.text(i, 0, f"{value:.2f}", ha="center", va="center", fontsize=7, color=colour)
    lower.set_xticks(range(len(levels)), levels)
    lower.set_xlabel("level")
    upper.set_title(data["text"], fontsize=9)


def _pca(figure: Any, data: Mapping[str, Any]) -> None:
    sets = list(dict.fromkeys(panel["data"] for panel in data["panels"]))
    systems = list(dict.fromkeys(panel["system"] for panel in data["panels"]))
    figure.set_size_inches(4.2 * len(systems), 3.4 * len(sets))
    grid = figure.subplots(len(sets), len(systems), squeeze=False)
    for panel in data["panels"]:
        axes = grid[sets.index(panel["data"])][systems.index(panel["system"])]
        points = np.array(panel["points"])
        codes = np.array([int(code) for code in panel["codes"]])
        for i, label in enumerate(panel["classes"]):
            chosen = points[codes == i]
            style = {"c": _COLOURS[i % 6], "marker": _MARKERS[i % 6], "label": str(label)}
            # Thousands of points: as pixels, or an SVG of them takes megabytes.
            axes.scatter(*chosen.T, s=6, linewidths=0.6, alpha=0.5, rasterized=True, **style)
        axes.set_title(f"{panel['data']}, {panel['system']}", fontsize=10)
        axes.set_xticks([])
        axes.set_yticks([])
        axes.legend(fontsize=7, markerscale=2)


def _composition(figure: Any, data: Mapping[str, Any]) -> None:
    phrases = data["phrases"]
    heights = [len(phrase["tokens"]) for phrase in phrases]
    figure.set_size_inches(1.3 * max(heights), 0.75 * sum(heights) + len(heights))
    grid = figure.subplots(len(phrases), squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, phrase in zip(grid[:, 0], phrases, strict=True):
        n_words = len(phrase["tokens"])
        top = max(part["weight"] for part in phrase["parts"])
        for part in phrase["parts"]:
            # A cell stands above the middle of the words it covers, as in the pyramid.
            x, y = part["start"] + (part["length"] - 1) / 2, part["length"] - 1
            share = part["weight"] / top
            axes.scatter(x, y, s=1400, c=[share], cmap="viridis", vmin=0, vmax=1)
            colour = "black" if share > 0.6 else "white"
            label = f"{part['weight']:.3f}"
            axes.text(x, y, label, ha="center", va="center", fontsize=7, color=colour)
        axes.set_xticks(range(n_words), phrase["tokens"])
        axes.set_yticks(range(n_words), [str(level) for level in range(1, n_words + 1)])
        axes.set_xlim(-0.7, n_words - 0.3)
        axes.set_ylim(-0.7, n_words - 0.3)
        axes.set_ylabel("words covered")


_DRAW = {
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}

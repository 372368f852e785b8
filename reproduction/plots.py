"""Draws the data of a figure in the paper's form, with matplotlib."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from adasent.errors import require
from reproduction.cells import OURS, Place
from reproduction.paper import paper_accuracy
from reproduction.results import Results

_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_MARKERS = ("o", "x", "^", "s", "+", "v")


def draw(data: Mapping[str, Any], path: Path) -> None:
    """Write the picture; the ending of the path (svg, png, pdf) decides how."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        _save(data, file, path.suffix.removeprefix("."))


def svg(data: Mapping[str, Any]) -> str:
    """The picture as SVG."""
    buffer = io.BytesIO()
    _save(data, buffer, "svg")
    return buffer.getvalue().decode("utf-8")


def _save(data: Mapping[str, Any], file: BinaryIO, form: str) -> None:
    require("matplotlib", "plots", "drawing a figure")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    # Without a date and with fixed names inside, so that equal data gives equal files.
    with rc_context({"svg.hashsalt": "adasent", "svg.fonttype": "none"}):
        figure = Figure(layout="constrained")
        _DRAW[data["figure"]](figure, data)
        metadata = {"Date": None} if form == "svg" else None
        # An SVG has few pixels: only of clouds of points, and the report carries them along.
        figure.savefig(file, format=form, dpi=90 if form == "svg" else 150, metadata=metadata)


def accuracy_figure(results: Results) -> dict[str, Any]:
    """What is drawn of Table 2: a panel for each set with finished cells."""
    panels = []
    for data in results.sets:
        rows = []
        for system in results.systems:
            place = Place(system.name, data, "random")
            if results.is_complete(place):
                found = results.runs[place].summary()
                said = paper_accuracy(system.in_paper, data)
                figures = [
                    None if x is None else 100 * x for x in (found.mean, found.low, found.high)
                ]
                rows.append(
                    {
                        "title": system.title,
                        "is_ours": system.name == OURS,
                        "ours": figures,
                        "paper": said,
                    }
                )
        if rows:
            panels.append({"data": data, "rows": rows})
    titles = [system.title for system in results.systems]
    return {"figure": "fig-accuracy", "titles": titles, "panels": panels}


def _accuracy(figure: Any, data: Mapping[str, Any]) -> None:
    titles = data["titles"]
    figure.set_size_inches(2.3 * len(data["panels"]) + 1, 0.27 * len(titles) + 1)
    grid = figure.subplots(1, len(data["panels"]), sharey=True, squeeze=False)
    for axes, panel in zip(grid[0], data["panels"], strict=True):
        for row in panel["rows"]:
            y = titles.index(row["title"])
            mean, low, high = row["ours"]
            colour = _COLOURS[1] if row["is_ours"] else _COLOURS[0]
            if low is not None:
                axes.plot([low, high], [y, y], color=colour, linewidth=1.4)
            axes.plot(mean, y, "o", color=colour, markersize=5)
            if row["paper"] is not None:
                axes.plot(row["paper"], y, "x", color="#444444", markersize=5)
        axes.set_title(panel["data"], fontsize=10)
        axes.grid(axis="x", color="#dddddd", linewidth=0.6)
        axes.tick_params(axis="x", labelsize=8)
        axes.set_axisbelow(True)
        for side in ("top", "right", "left"):
            axes.spines[side].set_visible(False)
        axes.tick_params(axis="y", length=0)
    grid[0][0].set_yticks(range(len(titles)), titles)
    grid[0][0].set_ylim(len(titles) - 0.5, -0.5)


def _belief(figure: Any, data: Mapping[str, Any]) -> None:
    rows = data["rows"]
    n_levels = max(len(row["beliefs"]) for row in rows)
    matrix = np.full((len(rows), n_levels), np.nan)
    for i, row in enumerate(rows):
        matrix[i, : len(row["beliefs"])] = row["beliefs"]
    figure.set_size_inches(9, 0.32 * len(rows) + 1)
    axes = figure.subplots()
    image = axes.imshow(matrix, aspect="auto", cmap="viridis", vmin=0, vmax=np.nanmax(matrix))
    axes.set_yticks(
        range(len(rows)), [f"{row['data']}   {row['text']}" for row in rows], fontsize=8
    )
    axes.set_xticks(range(n_levels), [str(level) for level in range(1, n_levels + 1)])
    axes.set_xlabel("level")
    axes.tick_params(length=0)
    for i, (row, after) in enumerate(pairwise(rows)):
        if row["data"] != after["data"]:
            axes.axhline(i + 0.5, color="white", linewidth=2.5)
    for side in axes.spines.values():
        side.set_visible(False)
    figure.colorbar(image, ax=axes, label="belief")


def _example(figure: Any, data: Mapping[str, Any]) -> None:
    beliefs, votes = data["beliefs"], data["level_probabilities"]
    levels = range(1, len(beliefs) + 1)
    figure.set_size_inches(9, 3.6)
    upper, lower = figure.subplots(2, sharex=True)
    upper.bar(levels, beliefs, color=_COLOURS[0])
    upper.set_ylabel("belief")
    is_positive = data["label"] == data["positive"]
    right = [(vote > 0.5) == is_positive for vote in votes]
    # From the middle: what a level is for, and how much.
    heights = [vote - 0.5 for vote in votes]
    colours = [_COLOURS[2] if one else _COLOURS[1] for one in right]
    lower.bar(levels, heights, bottom=0.5, color=colours)
    lower.axhline(0.5, color="#444444", linewidth=0.8)
    lower.set_ylim(0, 1)
    lower.set_xlim(0.4, len(beliefs) + 0.6)
    lower.set_ylabel(f"p({data['positive']})")
    lower.set_xlabel("level; below: green right, orange wrong by itself")
    lower.set_xticks(list(levels), [str(level) for level in levels], fontsize=8)
    upper.set_title("\n".join(textwrap.wrap(data["text"], 110)), fontsize=9)
    for axes in (upper, lower):
        axes.spines[["top", "right"]].set_visible(False)


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
    width = max(6, *heights)
    figure.set_size_inches(1.15 * width, 0.52 * sum(heights) + 0.7 * len(heights))
    grid = figure.subplots(len(phrases), squeeze=False, gridspec_kw={"height_ratios": heights})
    for axes, phrase in zip(grid[:, 0], phrases, strict=True):
        n_words = len(phrase["tokens"])
        top = max(part["weight"] for part in phrase["parts"])
        for part in phrase["parts"]:
            # A cell stands above the middle of the words it covers, as in the pyramid.
            x, y = part["start"] + (part["length"] - 1) / 2, part["length"] - 1
            share = part["weight"] / top
            axes.scatter(x, y, s=620, c=[share], cmap="viridis", vmin=0, vmax=1, marker="s")
            colour = "black" if share > 0.6 else "white"
            label = f"{part['weight']:.3f}"
            axes.text(x, y, label, ha="center", va="center", fontsize=7, color=colour)
        axes.set_xticks(range(n_words), phrase["tokens"])
        axes.set_yticks(range(n_words), [str(level) for level in range(1, n_words + 1)])
        axes.tick_params(length=0)
        axes.set_xlim(-0.6, width - 0.4)
        axes.set_ylim(-0.6, n_words - 0.4)
        axes.set_ylabel("words covered")
        axes.spines[["top", "right", "bottom"]].set_visible(False)
        if "trees" in phrase:
            _list_trees(axes, phrase["trees"])


def _list_trees(axes: Any, trees: Sequence[Mapping[str, Any]], most: int = 8) -> None:
    """Beside the cells: what is inside them, the heaviest first."""
    lines = [f"{tree['weight']:.3f}  {tree['tree']}" for tree in trees[:most]]
    if len(trees) > most:
        rest = sum(tree["weight"] for tree in trees[most:])
        lines.append(f"{rest:.3f}  in {len(trees) - most} more")
    style = {"ha": "left", "va": "top", "fontsize": 7, "transform": axes.transAxes}
    axes.text(0.55, 1.0, "\n".join(["composed along the tree", *lines]), **style)


_DRAW = {
    "fig-accuracy": _accuracy,
    "fig-belief": _belief,
    "fig-example": _example,
    "fig-pca": _pca,
    "fig-composition": _composition,
}

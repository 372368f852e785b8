"""Draws explanations, histories and reports with matplotlib, for paper or for dark screens.

Every function returns a figure, which :func:`save` writes as SVG, PNG or PDF. A colour is a class
(:mod:`adasent.explain.reading`); shades of one colour are amounts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import DataError, require
from adasent.explain.colours import CLASS_COLOURS
from adasent.explain.composition import decompose_phrase
from adasent.explain.explainer import Model
from adasent.explain.explanation import Explanation
from adasent.explain.reading import Part, colour_of, read_for
from adasent.explain.spans import child_shares
from adasent.saving.whole import whole_file

#: Words of a text beyond which its pyramid cannot be read any more.
MAX_WORDS = 40

_LIGHT = {"ink": "#1b1b1b", "paper": "#ffffff", "line": "#b5b5b5", "none": "#f7f7f7"}
_DARK = {"ink": "#eeeeee", "paper": "#161616", "line": "#6a6a6a", "none": "#2a2a2a"}
_MIDDLE = "#0072b2"  # of shades of amounts
_MAX_KEYS = 8  # classes in a legend
_MARKERS = ("o", "s", "^", "D", "v", "x")


class Epochs(Protocol):
    """What :func:`training` reads of a history: a row for each epoch, and which was the best."""

    best_epoch: int | None

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        """The rows."""


class Confusion(Protocol):
    """What :func:`confusion` reads of a report: labels, counts, accuracy and texts."""

    @property
    def classes(self) -> Sequence[Any]:
        """Something with a ``label`` for each class."""

    @property
    def confusion(self) -> Sequence[Sequence[int]]:
        """A row for each true class."""

    accuracy: float
    n: int


class Stated(Protocol):
    """What :func:`reliability` reads: how stated probabilities compare with what is true."""

    @property
    def bins(self) -> Sequence[Any]:
        """Each with ``low``, ``high``, ``n`` texts, their ``confidence`` and ``accuracy``."""

    @property
    def n(self) -> int:
        """How many texts."""

    @property
    def calibration_error(self) -> float:
        """Expected calibration error."""

    @property
    def confidence(self) -> float:
        """Mean probability of the predicted class."""

    @property
    def accuracy(self) -> float:
        """Share of right answers."""


def pyramid(
    explanation: Explanation,
    a: Label | None = None,
    b: Label | None = None,
    *,
    dark: bool = False,
) -> Any:
    """The pyramid of a text: units in the colour of their class, gates as edges, beliefs as bars.

    An edge is as strong as the child's share in the unit, half of what they composed included. Read
    for class a, the predicted one if None, rather than b if there is one.
    """
    reading = read_for(explanation, a, b)
    n_words, n_levels = len(explanation.tokens), len(explanation.beliefs)
    if n_words > MAX_WORDS or not reading.units:
        raise DataError(
            f"expected an explanation of at most {MAX_WORDS} words with its pyramid to draw, got "
            f"{n_words} words; explain a part of the text"
        )
    width, height = max(6.0, 0.62 * n_words + 2.6), max(0.52 * n_levels, 1.0) + 1.4
    with _figure(dark, width, height) as (figure, theme):
        from matplotlib.collections import LineCollection

        shares = {"width_ratios": (1, max(2.0, 0.25 * n_words + 1))}
        bars, axes = figure.subplots(1, 2, sharey=True, gridspec_kw=shares)
        lines, strengths = [], []
        for t, level in enumerate(explanation.gates, start=1):
            left, right = child_shares(level[..., None])
            x = np.arange(len(level)) + t / 2
            for side, share in ((-0.5, left[:, 0]), (0.5, right[:, 0])):
                lines += [[(xi, t + 1), (xi + side, t)] for xi in x.tolist()]
                strengths.append(share)
        if lines:
            weights = np.concatenate(strengths)
            edges = LineCollection(lines, colors=theme["ink"], alpha=weights, zorder=1)
            edges.set_linewidth((0.3 + 2.2 * weights).tolist())
            axes.add_collection(edges)
        for t, units in enumerate(reading.units):
            axes.scatter(
                np.arange(len(units)) + t / 2,
                np.full(len(units), t + 1),
                s=160,
                c=[_over(theme, unit) for unit in units],
                edgecolors=theme["line"],
                linewidths=0.8,
                zorder=2,
            )
        axes.set_xticks(range(n_words), explanation.tokens, rotation=35, ha="right")
        axes.set_xlim(-0.7, n_words - 0.3)
        axes.set_ylim(0.4, n_levels + 0.6)
        axes.set_title(reading.title)
        axes.tick_params(left=False)
        _class_legend(axes, explanation)
        bars.barh(
            range(1, n_levels + 1),
            explanation.beliefs,
            color=[_over(theme, level) for level in reading.levels],
            edgecolor=theme["line"],
            height=0.6,
        )
        bars.invert_xaxis()
        bars.set_xlabel("how much it counts")
        bars.set_ylabel("words of a phrase")
        bars.set_yticks(_level_ticks(n_levels))
    return figure


def beliefs(explanations: Sequence[Explanation], *, dark: bool = False) -> Any:
    """The belief in each level, a row for each text."""
    if not explanations:
        raise DataError("expected at least one explanation to draw, got none")
    n_levels = max(len(one.beliefs) for one in explanations)
    matrix = np.full((len(explanations), n_levels), np.nan)
    for row, one in zip(matrix, explanations, strict=True):
        row[: len(one.beliefs)] = one.beliefs
    with _figure(dark, 9.0, 0.36 * len(explanations) + 1.4) as (figure, theme):
        axes = figure.subplots()
        image = axes.imshow(matrix, aspect="auto", cmap=_amounts(theme), vmin=0)
        names = [
            f"{_short(one.text)}  [{', '.join(map(str, one.answers))}]" for one in explanations
        ]
        axes.set_yticks(range(len(names)), names)
        ticks = np.array(_level_ticks(n_levels))
        axes.set_xticks(ticks - 1, [str(tick) for tick in ticks])
        axes.set_xlabel("level")
        figure.colorbar(image, ax=axes, label="belief", fraction=0.04, pad=0.02)
    return figure


def votes(explanation: Explanation, *, dark: bool = False) -> Any:
    """What each level says: its probabilities, and what of them its belief lets through."""
    shown = np.argsort(-explanation.probabilities, kind="stable")[: len(_MARKERS)].tolist()
    levels = np.arange(1, len(explanation.beliefs) + 1)
    with _figure(dark, 7.5, 4.6) as (figure, theme):
        upper, lower = figure.subplots(2, sharex=True)
        base = np.zeros(len(levels))
        for i, colour, marker in zip(shown, map(colour_of, shown), _MARKERS, strict=False):
            name = f"{explanation.classes[i]}, {explanation.probabilities[i]:.2f}"
            style = {"color": colour, "marker": marker, "markersize": 4, "label": name}
            upper.plot(levels, explanation.level_probabilities[:, i], **style)
            part = explanation.contributions[:, i]
            lower.bar(levels, part, bottom=base, color=colour, width=0.7)
            base += part
        upper.set_ylabel("vote of the level")
        upper.set_ylim(-0.03, 1.03)
        upper.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
        lower.set_ylabel("belief x vote")
        lower.set_xlabel("level")
        lower.set_xticks(_level_ticks(len(levels)))
        upper.set_title(_short(explanation.text, 70))
        for axes in (upper, lower):
            axes.grid(axis="y", color=theme["line"], linewidth=0.4)
            axes.set_axisbelow(True)
    return figure


def decomposition(model: Model, text: str, *, dark: bool = False) -> Any:
    """The unit of a whole phrase, taken apart: the exact weight of each word and composition."""
    tokens, found = decompose_phrase(model, text)
    n_words = len(tokens)
    if n_words > MAX_WORDS:
        raise DataError(f"expected a phrase of at most {MAX_WORDS} words, got {n_words}")
    top = max(part.weight for part in found.parts)
    with _figure(dark, max(4.0, 1.05 * n_words + 1.2), 0.7 * n_words + 1.1) as (figure, theme):
        axes = figure.subplots()
        for part in found.parts:
            x, y = part.start + (part.length - 1) / 2, part.length
            share = part.weight / top
            axes.scatter(
                x, y, s=1100, c=[share], cmap=_amounts(theme), vmin=0, vmax=1,
                edgecolors=theme["line"], linewidths=0.8,
            )  # fmt: skip
            colour = _on(theme, share)
            label = f"{part.weight:.3f}".removeprefix("0")
            axes.text(x, y, label, ha="center", va="center", fontsize=8, color=colour)
        axes.set_xticks(range(n_words), tokens)
        axes.set_yticks(range(1, n_words + 1))
        axes.set_xlim(-0.7, n_words - 0.3)
        axes.set_ylim(0.4, n_words + 0.6)
        axes.set_ylabel("words covered")
        axes.set_title("weight of words (row 1) and of compositions in the whole", fontsize=10)
    return figure


def training(history: Epochs, *, dark: bool = False) -> Any:
    """Loss, accuracy and the flow of gradients to each level over the epochs."""
    rows = list(history)
    if not rows:
        raise DataError("expected a history with at least one epoch to draw, got an empty one")
    epochs = np.arange(1, len(rows) + 1)
    names = list(rows[0])
    with _figure(dark, 10.5, 3.4) as (figure, theme):
        loss, accuracy, flow = figure.subplots(1, 3)
        for axes, word in ((loss, "loss"), (accuracy, "accuracy")):
            found = [name for name in names if name.endswith(word)]
            for name, colour, marker in zip(found, CLASS_COLOURS, _MARKERS, strict=False):
                values = [np.nan if row[name] is None else row[name] for row in rows]
                label = (
                    name.removesuffix(f"_{word}").replace("valid", "held back").replace("_", " ")
                )
                axes.plot(epochs, values, color=colour, marker=marker, markersize=3, label=label)
            axes.set_xlabel("epoch")
            axes.set_title(word)
            axes.legend(fontsize=8, frameon=False)
            if history.best_epoch is not None:
                axes.axvline(history.best_epoch + 1, color=theme["line"], linestyle=":")
        flows = [row.get("gradient_flow") for row in rows]
        norms = [row["root"] for row in flows if row]
        depth = max((len(row) for row in norms), default=0)
        matrix = np.full((depth, len(norms)), np.nan)
        for i, norm in enumerate(norms):
            matrix[: len(norm), i] = norm
        if depth:
            floor = np.log10(np.maximum(matrix, 1e-4))
            image = flow.imshow(
                floor, aspect="auto", cmap=_amounts(theme), extent=(0.5, len(norms) + 0.5, depth, 0)
            )
            figure.colorbar(image, ax=flow, label="log10 of the norm")
        flow.set_title("gradient below the root")
        flow.set_xlabel("epoch")
        flow.set_ylabel("steps below the root")
    return figure


def confusion(report: Confusion, *, dark: bool = False) -> Any:
    """Which classes are taken for which; a row for each true class, shaded by its share."""
    labels = [str(one.label) for one in report.classes]
    counts = np.array(report.confusion)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    size = 0.55 * len(labels) + 1.9
    with _figure(dark, size + 0.6, size) as (figure, theme):
        axes = figure.subplots()
        image = axes.imshow(shares, cmap=_amounts(theme), vmin=0, vmax=1)
        for i, row in enumerate(counts.tolist()):
            for j, n in enumerate(row):
                colour = _on(theme, shares[i, j])
                axes.text(j, i, str(n), ha="center", va="center", fontsize=8, color=colour)
        axes.set_xticks(range(len(labels)), labels, rotation=35, ha="right")
        axes.set_yticks(range(len(labels)), labels)
        axes.set_xlabel("predicted")
        axes.set_ylabel("true")
        axes.set_title(f"accuracy {report.accuracy:.4f} of {report.n} texts", fontsize=10)
        figure.colorbar(image, ax=axes, label="share of the true class", fraction=0.05, pad=0.03)
    return figure


def reliability(found: Stated, *, dark: bool = False) -> Any:
    """Share of right answers against the probability that was stated, and texts of each bin."""
    used = [(one.low, one.high, one.n, one.confidence, one.accuracy) for one in found.bins if one.n]
    low, high, counts, said, true = (np.array(column) for column in zip(*used, strict=True))
    with _figure(dark, 4.8, 5.6) as (figure, theme):
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        bar = {"width": high - low, "align": "edge", "edgecolor": theme["paper"]}
        above.bar(low, true, color=CLASS_COLOURS[1], label="share of right answers", **bar)
        above.vlines(said, true, said, color=CLASS_COLOURS[0], linewidth=2)
        above.plot(said, said, "o", color=CLASS_COLOURS[0], markersize=4, label="stated, mean")
        above.plot([0, 1], [0, 1], "--", color=theme["line"], linewidth=1)
        above.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="right answers")
        # Beneath all: in the picture it would lie over bars, wherever it is.
        figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)
        above.set_title(
            f"calibration error {found.calibration_error:.3f} of {found.n} texts\n"
            f"mean confidence {found.confidence:.3f}, accuracy {found.accuracy:.3f}",
            fontsize=10,
        )
        below.bar(low, counts, color=theme["line"], **bar)
        below.set(xlabel="probability of the predicted class", ylabel="texts")
    return figure


def save(figure: Any, path: Path) -> None:
    """Write a figure, whole or not at all; the ending of the path (svg, png, pdf) decides how."""
    from matplotlib import rc_context

    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with fixed names inside, so that equal data gives equal files.
    with rc_context({"svg.hashsalt": "adasent", "svg.fonttype": "none"}):
        kind = path.suffix.lower().removeprefix(".") or None
        metadata = {"Date": None} if kind == "svg" else None
        with whole_file(path) as stream:
            figure.savefig(stream, format=kind, dpi=150, metadata=metadata)


@contextmanager
def _figure(dark: bool, width: float, height: float) -> Iterator[tuple[Any, dict[str, str]]]:
    """A figure and the colours around it; what is drawn within the block is in that theme."""
    require("matplotlib", "plots", "drawing a picture")
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    theme = _DARK if dark else _LIGHT
    ink = ("text.color", "axes.labelcolor", "xtick.color", "ytick.color", "axes.titlecolor")
    settings: dict[Any, Any] = dict.fromkeys(ink, theme["ink"]) | {
        "figure.facecolor": theme["paper"],
        "axes.facecolor": theme["paper"],
        "savefig.facecolor": theme["paper"],
        "axes.edgecolor": theme["line"],
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 11,
        "text.parse_math": False,  # a dollar sign in a text is a dollar sign
    }
    with rc_context(settings):
        figure = Figure(figsize=(width, height), layout="constrained")
        yield figure, theme


def _over(theme: dict[str, str], part: Part) -> tuple[float, float, float]:
    """A part's colour, so strong over an empty mark."""
    from matplotlib.colors import to_rgb

    pairs = zip(to_rgb(theme["none"]), to_rgb(part.colour), strict=True)
    red, green, blue = (empty + part.strength * (full - empty) for empty, full in pairs)
    return red, green, blue


def _class_legend(axes: Any, explanation: Explanation) -> None:
    from matplotlib.patches import Patch

    keys = [
        Patch(color=colour_of(i), label=str(label))
        for i, label in enumerate(explanation.classes[:_MAX_KEYS])
    ]
    style = {"fontsize": 8, "frameon": False, "title": "adds to", "title_fontsize": 8}
    axes.legend(handles=keys, loc="upper left", bbox_to_anchor=(1.0, 1.0), **style)


def _amounts(theme: dict[str, str]) -> Any:
    from matplotlib.colors import LinearSegmentedColormap

    top = "#56b4e9" if theme is _DARK else "#08306b"
    return LinearSegmentedColormap.from_list("amounts", [theme["none"], _MIDDLE, top])


def _on(theme: dict[str, str], share: float) -> str:
    """A colour to write with on an amount from 0 to 1."""
    return theme["paper"] if share > (0.75 if theme is _DARK else 0.4) else theme["ink"]


def _level_ticks(n_levels: int) -> list[int]:
    """At most a dozen of the levels from 1 on."""
    return list(range(1, n_levels + 1, -(-n_levels // 12)))


def _short(text: str, length: int = 44) -> str:
    line = " ".join(text.split())
    return line if len(line) <= length else f"{line[: length - 1]}…"

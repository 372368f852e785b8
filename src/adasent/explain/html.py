"""Explanations as HTML that needs no script and no network, whatever the text contains."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from adasent.data.corpus import Label
from adasent.explain.explanation import Explanation
from adasent.explain.reading import (
    LEAST_SHOWN,
    MOST_ANSWERS,
    Part,
    Reading,
    colour_of,
    read_for,
)
from adasent.text.halves import writable

#: Longer texts get no drawing of their pyramid but a note: it would be wider than a screen.
MAX_DRAWN_WORDS = 60
_MAX_CLASSES = 12

_STYLE = """
.adasent{--ink:#1b1b1b;--paper:#fff;--line:#c9c9c9;
 color:var(--ink);background:var(--paper);font:15px/1.5 system-ui,sans-serif;padding:.8em;
 max-width:60em}
@media (prefers-color-scheme:dark){.adasent{--ink:#eee;--paper:#161616;--line:#555}}
.adasent h3,.adasent h4{margin:.9em 0 .3em;font-weight:600}.adasent h3{margin-top:0}
.adasent .text{font-size:1.25em;line-height:1.9;white-space:pre-wrap;overflow-wrap:anywhere}
.adasent .text span{padding:.1em .12em;border-radius:.2em}
.adasent .cut{opacity:.6}
.adasent table{border-collapse:collapse;font-size:.9em}
.adasent th,.adasent td{padding:.1em .6em .1em 0;text-align:right;font-variant-numeric:tabular-nums}
.adasent th{font-weight:500;text-align:left}
.adasent .bar{width:12em;text-align:left}
.adasent .bar i{display:inline-block;height:.75em;border-radius:.15em;outline:1px solid var(--line)}
.adasent .key{display:inline-block;width:.8em;height:.8em;border-radius:.2em;margin:0 .35em 0 .9em}
.adasent svg{max-width:100%;height:auto}.adasent rect{stroke:var(--line);stroke-width:.6}
.adasent svg text{fill:var(--ink);font-size:11px;text-anchor:end}
.adasent .note{font-size:.85em;opacity:.8}
"""


def fragment(explanation: Explanation, a: Label | None = None, b: Label | None = None) -> str:
    """An explanation as a piece of HTML, read for class a rather than b; see ``read_for``."""
    reading = read_for(explanation, a, b)
    each = [reading]
    if a is b is None and explanation.thresholds is not None:
        each = [read_for(explanation, label) for label in explanation.shown[:MOST_ANSWERS]]
    parts = [
        f"<h3>{escape(str(explanation.verdict if a is b is None else reading.title))}</h3>",
        _text(explanation, reading),
        "<h4>Classes, and what the model says of no words at all</h4>",
        _classes(explanation),
        *(part for one in each for part in _phrases_of(one, several=len(each) > 1)),
        "<h4>Phrase lengths: how much each counts, and what it adds</h4>",
        _levels(explanation, reading),
        _pyramid(explanation, reading),
        _legend(explanation),
    ]
    return f'<style>{_STYLE}</style><div class="adasent">{"".join(parts)}</div>'


def page(
    explanations: Sequence[Explanation],
    a: Label | None = None,
    b: Label | None = None,
    title: str = "Why did it say that?",
) -> str:
    """Explanations as a file of their own."""
    return document("<hr>".join(fragment(one, a, b) for one in explanations), title)


def document(body: str, title: str) -> str:
    """A whole page around a body; the browser is told to load nothing from anywhere."""
    title, body = writable(escape(title)), writable(body)
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{_STYLE}:root{{color-scheme:light dark}}</style>"
        f'</head><body class="adasent">{body}</body></html>\n'
    )


def _paint(part: Part) -> str:
    """A part's colour over whatever is behind it."""
    return f"{part.colour}{round(0.75 * 255 * part.strength):02x}"


def _text(explanation: Explanation, reading: Reading) -> str:
    """The text as it stands, words coloured by what they add."""
    text, done, parts = explanation.text, 0, []
    for (start, end), word in zip(explanation.offsets, reading.words, strict=True):
        parts.append(escape(text[done:start]))
        parts.append(
            f'<span style="background:{_paint(word)}" title="{word.value:+.3f}">'
            f"{escape(text[start:end])}</span>"
        )
        done = end
    rest = escape(text[done:])
    parts.append(f'<span class="cut">{rest}</span>' if explanation.truncated else rest)
    read = len(explanation.tokens)
    note = (
        f'<p class="note">Only the first {read} of {explanation.n_words} words were read.</p>'
        if explanation.truncated
        else ""
    )
    return f'<p class="text">{"".join(parts)}</p>{note}'


def _bar(share: float, colour: str) -> str:
    width = 12 * min(max(share, 0.0), 1.0)
    return f'<td class="bar"><i style="width:{width:.2f}em;background:{colour}"></i></td>'


def _classes(explanation: Explanation) -> str:
    p, base, least = explanation.probabilities, explanation.base, explanation.thresholds
    order = np.argsort(-p, kind="stable")[:_MAX_CLASSES]
    rows = [
        f"<tr><th>{escape(str(explanation.classes[i]))}</th>"
        f"<td>{p[i]:.4f}</td>{_bar(p[i], colour_of(i))}<td>{base[i]:.2f}</td>"
        f"{'' if least is None else f'<td>{least[i]:.2f}</td>'}</tr>"
        for i in order.tolist()
    ]
    takes = "" if least is None else "<td>it takes</td>"
    head = f"<tr><th></th><td>this text</td><td></td><td>no words</td>{takes}</tr>"
    more = len(explanation.classes) - len(rows)
    note = f'<p class="note">and {more} less probable</p>' if more else ""
    return f"<table>{head}{''.join(rows)}</table>{note}"


def _levels(explanation: Explanation, reading: Reading) -> str:
    top = float(explanation.beliefs.max())
    rows = [
        f"<tr><th>{n_words}</th><td>{belief:.3f}</td>{_bar(belief / top, _paint(part))}"
        f"<td>{part.value:+.3f}</td></tr>"
        for n_words, (belief, part) in enumerate(
            zip(explanation.beliefs.tolist(), reading.levels, strict=True), start=1
        )
    ]
    head = "<tr><th>words</th><td>counts</td><td></td><td>adds</td></tr>"
    return f"<table>{head}{''.join(reversed(rows))}</table>"


def _phrases_of(reading: Reading, *, several: bool) -> tuple[str, str]:
    """The phrases that add up to an answer, with a heading that names it beside others."""
    name = f" of {escape(reading.title.rpartition(',')[0])}" if several else ""
    title = f"Phrases{name}, from {reading.base:.2f} without a word to {reading.total:.2f}"
    return f"<h4>{title}</h4>", _phrases(reading)


def _phrases(reading: Reading) -> str:
    listed, rest = reading.listed
    if not listed:
        return '<p class="note">none stands out</p>'
    largest = max(abs(one.part.value) for one in listed)
    rows = [
        f"<tr><th>{escape(one.text)}</th><td>{one.part.value:+.2f}</td>"
        f"{_bar(abs(one.part.value) / largest, _paint(one.part))}<td>{one.beyond}</td></tr>"
        for one in listed
    ]
    if abs(rest) >= LEAST_SHOWN:
        rows.append(f"<tr><th>everything else</th><td>{rest:+.2f}</td><td></td><td></td></tr>")
    more = "beyond its words" if any(one.beyond for one in listed) else ""
    head = f"<tr><th></th><td>adds</td><td></td><td>{more}</td></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _legend(explanation: Explanation) -> str:
    keys = [
        f'<span class="key" style="background:{colour_of(i)}"></span>{escape(str(label))}'
        for i, label in enumerate(explanation.classes[:_MAX_CLASSES])
    ]
    return (
        f'<p class="note">A colour is a class:{"".join(keys)}. A part has the colour of the class '
        "that it adds most to, and is the stronger the more it adds. Words, phrases and phrase "
        "lengths each add up from what the model says of no words to its answer. Beyond its words: "
        "what a phrase says and its words, one by one, do not. Words: "
        f"{escape(explanation.method)}.</p>"
    )


def _pyramid(explanation: Explanation, reading: Reading) -> str:
    """The pyramid as SVG: a cell for each phrase, words at the bottom, beliefs as bars."""
    n_words = len(explanation.tokens)
    if not reading.units:
        return ""
    if n_words > MAX_DRAWN_WORDS:
        return f'<p class="note">Pyramids of more than {MAX_DRAWN_WORDS} words are not drawn.</p>'
    cell, row = max(16, min(64, 900 // n_words)), 20
    side = 150
    width, height = side + n_words * cell + 4, (len(reading.units) + 1) * row + 4
    top = float(explanation.beliefs.max())
    shapes = []
    for t, (units, level) in enumerate(zip(reading.units, reading.levels, strict=True)):
        y = height - 2 - (t + 2) * row
        belief = float(explanation.beliefs[t])
        length = (side - 60) * belief / top
        shapes.append(
            f'<text x="52" y="{y + 14}">{t + 1}: {belief:.2f}</text>'
            f'<rect x="56" y="{y + 4}" width="{length:.1f}" height="{row - 8}" '
            f'style="fill:{_paint(level)}"/>'
        )
        for j, unit in enumerate(units):
            x = side + (j + t / 2) * cell
            label = escape("\n".join(_about(explanation, t, j, unit)))
            shapes.append(
                f'<rect x="{x + 1:.1f}" y="{y + 1}" width="{cell - 2}" height="{row - 2}" '
                f'style="fill:{_paint(unit)}"><title>{label}</title></rect>'
            )
    for i, token in enumerate(explanation.tokens):
        short = token if len(token) <= cell // 7 else f"{token[: max(1, cell // 7 - 1)]}…"
        x = side + (i + 0.5) * cell
        shapes.append(
            f'<text x="{x:.1f}" y="{height - 8}" style="text-anchor:middle">{escape(short)}</text>'
        )
    return (
        "<h4>Pyramid: a cell for each phrase; its length in words, and how much that counts, on "
        "the left</h4>"
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="pyramid of {n_words} words">{"".join(shapes)}</svg>'
    )


def _about(explanation: Explanation, t: int, j: int, unit: Part) -> list[str]:
    """Lines on a unit."""
    votes, weights = explanation.unit_probabilities[t][j], explanation.spans[t][j]
    lines = [explanation.characters(j, j + t + 1), f"adds {unit.value:+.3f}"]
    if t:
        left, right, composed = explanation.gates[t - 1][j].tolist()
        lines.append(f"kept left {left:.2f}, kept right {right:.2f}, combined {composed:.2f}")
        heavy = int(weights.argmax())
        lines.append(f"rests mostly on {explanation.tokens[j + heavy]} ({weights[heavy]:.0%})")
    best = int(votes.argmax())
    return [*lines, f"by itself: {explanation.classes[best]} {votes[best]:.2f}"]

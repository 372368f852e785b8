"""Explanations as HTML that needs no script and no network, whatever the text contains."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from adasent.data.corpus import Label
from adasent.explain.explanation import Explanation
from adasent.explain.reading import Reading, read_for, relative

#: Longer texts get no drawing of their pyramid but a note: it would be wider than a screen.
MAX_DRAWN_WORDS = 60
_MAX_FOR, _MAX_AGAINST = 7, 4
_MAX_CLASSES = 12

# Blue speaks for, orange against: told apart by all kinds of colour vision.
_STYLE = """
.adasent{--ink:#1b1b1b;--paper:#fff;--line:#c9c9c9;--for:0,114,178;--against:213,94,0;
 color:var(--ink);background:var(--paper);font:15px/1.5 system-ui,sans-serif;padding:.8em;
 max-width:60em}
@media (prefers-color-scheme:dark){.adasent{--ink:#eee;--paper:#161616;--line:#555;
 --for:86,180,233;--against:230,159,0}}
.adasent h3,.adasent h4{margin:.9em 0 .3em;font-weight:600}.adasent h3{margin-top:0}
.adasent .text{font-size:1.25em;line-height:1.9;white-space:pre-wrap;overflow-wrap:anywhere}
.adasent .text span{padding:.1em .12em;border-radius:.2em}
.adasent .cut{opacity:.6}
.adasent table{border-collapse:collapse;font-size:.9em}
.adasent th,.adasent td{padding:.1em .6em .1em 0;text-align:right;font-variant-numeric:tabular-nums}
.adasent th{font-weight:500;text-align:left}
.adasent .bar{width:12em;text-align:left}
.adasent .bar i{display:inline-block;height:.75em;border-radius:.15em;background:rgb(var(--for))}
.adasent .bar i.against{background:rgb(var(--against))}
.adasent svg{max-width:100%;height:auto}.adasent rect{stroke:var(--line);stroke-width:.6}
.adasent svg text{fill:var(--ink);font-size:11px;text-anchor:end}
.adasent .note{font-size:.85em;opacity:.8}
"""


def fragment(explanation: Explanation, a: Label | None = None, b: Label | None = None) -> str:
    """An explanation as a piece of HTML, read for class a rather than b; see ``read_for``."""
    reading = read_for(explanation, a, b)
    parts = [
        f"<h3>{escape(str(reading.title))}</h3>",
        _text(explanation, reading),
        "<h4>Classes</h4>",
        _classes(explanation),
        "<h4>Levels: words a phrase has, belief, and what the level contributed</h4>",
        _levels(explanation, reading),
        _pyramid(explanation, reading),
        "<h4>Phrases</h4>",
        _phrases(reading),
        f'<p class="note">Blue speaks for, orange against. Levels add up to {reading.total:.4f} '
        "exactly; scores of words, units and phrases are estimates "
        f"({escape(explanation.method)}).</p>",
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
    # What UTF-8 cannot write, such as half of a surrogate pair, becomes a question mark.
    body = body.encode("utf-8", "replace").decode()
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{_STYLE}:root{{color-scheme:light dark}}</style>"
        f'</head><body class="adasent">{body}</body></html>\n'
    )


def _colour(part: float) -> str:
    """A background for a score from -1 to 1."""
    return f"rgba(var(--{'for' if part >= 0 else 'against'}),{0.75 * abs(part):.3f})"


def _text(explanation: Explanation, reading: Reading) -> str:
    """The text as it stands, words coloured by their score."""
    text, done, parts = explanation.text, 0, []
    shares = relative(reading.words)
    for (start, end), score, share in zip(explanation.offsets, reading.words, shares, strict=True):
        parts.append(escape(text[done:start]))
        parts.append(
            f'<span style="background:{_colour(share)}" title="{score:+.3f}">'
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


def _bar(share: float, against: bool = False) -> str:
    width = 12 * min(max(share, 0.0), 1.0)
    name = ' class="against"' if against else ""
    return f'<td class="bar"><i{name} style="width:{width:.2f}em"></i></td>'


def _classes(explanation: Explanation) -> str:
    order = np.argsort(-explanation.probabilities, kind="stable")[:_MAX_CLASSES]
    rows = [
        f"<tr><th>{escape(str(explanation.classes[i]))}</th>"
        f"<td>{explanation.probabilities[i]:.4f}</td>{_bar(explanation.probabilities[i])}</tr>"
        for i in order.tolist()
    ]
    more = len(explanation.classes) - len(rows)
    note = f'<p class="note">and {more} less probable</p>' if more else ""
    return f"<table>{''.join(rows)}</table>{note}"


def _levels(explanation: Explanation, reading: Reading) -> str:
    shares = relative(reading.levels)
    rows = [
        f"<tr><th>{level}</th><td>{belief:.3f}</td><td>{part:+.4f}</td>"
        f"{_bar(abs(share), share < 0)}</tr>"
        for level, (belief, part, share) in enumerate(
            zip(explanation.beliefs, reading.levels, shares, strict=True), start=1
        )
    ]
    head = "<tr><th>level</th><td>belief</td><td>contributed</td><td></td></tr>"
    return f"<table>{head}{''.join(reversed(rows))}</table>"


def _phrases(reading: Reading) -> str:
    speak_for = [phrase for phrase in reading.phrases if phrase.score[0] > 0][:_MAX_FOR]
    against = [phrase for phrase in reading.phrases if phrase.score[0] < 0][-_MAX_AGAINST:]
    chosen = [*speak_for, *against]
    if not chosen:
        return '<p class="note">none stands out</p>'
    largest = max(abs(phrase.score[0]) for phrase in chosen)
    rows = [
        f"<tr><th>{escape(phrase.text)}</th><td>{phrase.score[0]:+.3f}</td>"
        f"{_bar(abs(phrase.score[0]) / largest, phrase.score[0] < 0)}</tr>"
        for phrase in chosen
    ]
    return f"<table>{''.join(rows)}</table>"


def _pyramid(explanation: Explanation, reading: Reading) -> str:
    """The pyramid as SVG: a cell for each unit, coloured by its score, beliefs as bars."""
    n_words = len(explanation.tokens)
    if not reading.units:
        return ""
    if n_words > MAX_DRAWN_WORDS:
        return f'<p class="note">Pyramids of more than {MAX_DRAWN_WORDS} words are not drawn.</p>'
    cell, row = max(16, min(64, 900 // n_words)), 20
    side = 150
    width, height = side + n_words * cell + 4, (len(reading.units) + 1) * row + 4
    largest = max(float(np.abs(level).max()) for level in reading.units) or 1.0
    top = float(explanation.beliefs.max())
    shapes = []
    for t, scores in enumerate(reading.units):
        y = height - 2 - (t + 2) * row
        belief = float(explanation.beliefs[t])
        length = (side - 60) * belief / top
        shapes.append(
            f'<text x="52" y="{y + 14}">{t + 1}: {belief:.2f}</text>'
            f'<rect x="56" y="{y + 4}" width="{length:.1f}" height="{row - 8}" '
            'style="fill:rgb(var(--for));stroke:none"/>'
        )
        votes, spans = explanation.unit_probabilities[t], explanation.spans[t]
        gates = explanation.gates[t - 1] if t else None
        for j, score in enumerate(scores.tolist()):
            x = side + (j + t / 2) * cell
            lines = [explanation.characters(j, j + t + 1), f"score {score:+.4f}"]
            if gates is not None:
                left, right, composed = gates[j].tolist()
                lines.append(f"left {left:.2f}, right {right:.2f}, composed {composed:.2f}")
                heavy = int(spans[j].argmax())
                lines.append(f"mostly {explanation.tokens[j + heavy]} ({spans[j, heavy]:.0%})")
            best = int(votes[j].argmax())
            lines.append(f"alone: {explanation.classes[best]} {votes[j, best]:.2f}")
            label = escape("\n".join(lines))
            shapes.append(
                f'<rect x="{x + 1:.1f}" y="{y + 1}" width="{cell - 2}" height="{row - 2}" '
                f'style="fill:{_colour(score / largest)}"><title>{label}</title></rect>'
            )
    for i, token in enumerate(explanation.tokens):
        short = token if len(token) <= cell // 7 else f"{token[: max(1, cell // 7 - 1)]}…"
        x = side + (i + 0.5) * cell
        shapes.append(
            f'<text x="{x:.1f}" y="{height - 8}" style="text-anchor:middle">{escape(short)}</text>'
        )
    return (
        "<h4>Pyramid: a cell for each unit, level and belief on the left</h4>"
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="pyramid of {n_words} words">{"".join(shapes)}</svg>'
    )

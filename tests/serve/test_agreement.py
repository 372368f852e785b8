"""A word, a unit, a level and a phrase look the same wherever a text is explained.

Each renderer is read back from what it made: bytes of a terminal, HTML, SVG, pixels of a PNG, the
page in Chromium. What it shows has to have the colours of ``read_for`` and the signs of its values.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

import adasent
from adasent.explain import Explanation, explain, plots
from adasent.explain.colours import CLASS_COLOURS
from adasent.explain.html import page
from adasent.explain.reading import Part, Reading, read_for

#: Random models with parts of several colours and both signs, and a phrase of several words.
CASES = {
    "two": (["negative", "positive"], 51, "the plot was bad and I am not happy"),
    "six": (
        ["name", "reason", "thing", "person", "place", "number"],
        33,
        "I am happy and the film was good",
    ),
}
WHITE = (255, 255, 255)
VISIBLE = 0.35  # of a part's strength; what is weaker may be left without a colour

Seen = dict[str, list[Any]]


class Painted(NamedTuple):
    """A colour that was read back, and the sign that stands beside it, if one does."""

    colour: str
    sign: int | None = None


def class_of(seen: tuple[int, ...], behind: tuple[int, ...] = WHITE) -> str:
    """Which of the colours was painted over another, more or less strongly."""
    away = np.subtract(seen, behind)

    def cosine(colour: str) -> float:
        towards = np.subtract(rgb(colour), behind)
        return float(away @ towards / np.linalg.norm(towards))

    return max(CLASS_COLOURS, key=cosine)


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))


def sign_of(value: str) -> int:
    return -1 if value.startswith(("-", "−")) else 1


def in_terminal(explanation: Explanation, folder: Path, model: Path) -> Seen:
    code = "from adasent.cli import main; main()"
    command = [sys.executable, "-c", code, "explain", str(model), explanation.text]
    colours = {"FORCE_COLOR": "1", "COLORTERM": "truecolor", "TERM": "xterm", "COLUMNS": "200"}
    shown = subprocess.run(
        command, check=True, capture_output=True, encoding="utf-8", env=_environment(colours)
    ).stdout
    _, _, words, *rest = shown.splitlines()
    seen: Seen = {"words": [], "levels": [], "phrases": []}
    for code, word in re.findall(r"\x1b\[([\d;]+)m([^\x1b]+)\x1b", words):
        red, green, blue = map(int, code.split("48;2;")[1].split(";"))
        seen["words"].append((word, Painted(class_of((red, green, blue)))))
    for line in rest:
        plain = re.sub(r"\x1b\[[\d;]*m", "", line)
        bar = re.search(r"\x1b\[38;2;(\d+);(\d+);(\d+)m█", line)
        if level := re.match(r"\s*(\d+)\s+[\d.]+\s+([+-][\d.]+)", plain):
            colour = class_of(tuple(map(int, bar.groups()))) if bar else None
            painted = colour and Painted(colour, sign_of(level[2]))
            seen["levels"].insert(0, painted)
        elif phrase := re.match(r"\s*([+-][\d.]+)  ([^\s(].*?)(  |$)", plain):
            seen["phrases"].append((phrase[2], Painted("", sign_of(phrase[1]))))
    return seen


def _environment(more: dict[str, str]) -> dict[str, str]:
    return {k: v for k, v in os.environ.items() if k != "NO_COLOR"} | more


def in_html(explanation: Explanation, folder: Path, model: Path) -> Seen:
    return read_html(page([explanation]))


def in_notebook(explanation: Explanation, folder: Path, model: Path) -> Seen:
    return read_html(explanation._repr_html_())


def read_html(shown: str) -> Seen:
    body = shown[shown.index('<p class="text">') :]
    colour, value = r"background:(#\w{6})\w\w", r"([+-][\d.]+)"
    words = re.findall(rf'<span style="{colour}" title="{value}">([^<]+)</span>', body)
    rows = re.findall(rf"<tr><th>(\D[^<]*)</th><td>{value}</td><td[^>]*><i[^>]*{colour}", body)
    levels = re.findall(rf"<tr><th>\d+</th><td>[\d.]+</td>.*?{colour}.*?<td>{value}</td>", body)
    units = re.findall(r'style="fill:(#\w{6})\w\w"><title>([^<]+)</title>', body)
    by_length: dict[int, list[Painted]] = {}
    for fill, title in units:
        text, adds, *_ = title.split("\n")
        here = by_length.setdefault(len(text.split()), [])
        here.append(Painted(fill, sign_of(adds.removeprefix("adds "))))
    return {
        "words": [(word, Painted(fill, sign_of(number))) for fill, number, word in words],
        "phrases": [(text, Painted(fill, sign_of(number))) for text, number, fill in rows],
        "levels": [Painted(fill, sign_of(number)) for fill, number in reversed(levels)],
        "units": [by_length[n] for n in sorted(by_length)],
    }


def in_svg(explanation: Explanation, folder: Path, model: Path) -> Seen:
    path = folder / "why.svg"
    plots.save(plots.pyramid(explanation), path)
    levels, units = [], []
    for group in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}g"):
        fills = [re.search(r"fill: (#\w{6})", use.get("style", "")) for use in group.iter()]
        found = [class_of(rgb(fill[1]), (0xF7, 0xF7, 0xF7)) for fill in fills if fill]
        if group.get("id", "").startswith("PathCollection"):
            units.append([Painted(colour) for colour in found])
        elif re.fullmatch(r"patch_\d+", group.get("id", "")) and found:
            levels.append(Painted(found[0]))
    n = len(explanation.beliefs)
    # After the figure's and the axes' backgrounds come the bars.
    return {"units": units, "levels": levels[2 : 2 + n]}


def in_png(explanation: Explanation, folder: Path, model: Path) -> Seen:
    from matplotlib.image import imread

    path, figure = folder / "why.png", plots.pyramid(explanation)
    plots.save(figure, path)
    pixels = (imread(path)[:, :, :3] * 255).round().astype(int)
    figure.set_dpi(150)
    figure.draw_without_rendering()
    bars, axes = figure.axes[:2]

    def at(axes: Any, x: float, y: float) -> Painted:
        column, row = axes.transData.transform((x, y))
        pixel = pixels[len(pixels) - 1 - round(row), round(column)]
        return Painted(class_of(tuple(pixel.tolist()), (0xF7, 0xF7, 0xF7)))

    n = len(explanation.tokens)
    units = [[at(axes, j + t / 2, t + 1) for j in range(n - t)] for t in range(n)]
    levels = [at(bars, belief / 2, t) for t, belief in enumerate(explanation.beliefs, start=1)]
    return {"units": units, "levels": levels}


RENDERERS = {
    "terminal": in_terminal,
    "html": in_html,
    "notebook": in_notebook,
    "svg": in_svg,
    "png": in_png,
}


def compare(seen: Seen, reading: Reading, explanation: Explanation) -> None:
    """What a renderer shows is what was read; what is too weak for a colour is passed over."""

    def same(painted: Painted, part: Part) -> None:
        if part.strength >= VISIBLE:
            assert painted.colour == part.colour
        if painted.sign is not None and abs(part.value) >= 0.005:
            assert painted.sign == np.sign(part.value)

    compared = 0
    texts = [explanation.characters(i, i + 1) for i in range(len(explanation.tokens))]
    shown = iter(seen.get("words", []))
    for text, part in zip(texts, reading.words, strict=True):
        if "words" in seen and part.strength >= VISIBLE:
            painted = next(painted for word, painted in shown if word == text)
            same(painted, part)
            compared += 1
    if "phrases" in seen:
        phrases = {one.text: one.part for one in reading.phrases}
        for text, painted in seen["phrases"]:
            assert painted.sign == np.sign(phrases[text].value)
            if painted.colour:
                same(painted, phrases[text])
            compared += 1
        ends = {reading.phrases[0].text, reading.phrases[-1].text}  # the most for and against
        assert ends <= {text for text, _ in seen["phrases"]}
    if "levels" in seen:
        for painted, part in zip(seen["levels"], reading.levels, strict=True):
            if painted is not None:
                same(painted, part)
                compared += 1
    if "units" in seen:
        for units, parts in zip(seen["units"], reading.units, strict=True):
            for painted, part in zip(units, parts, strict=True):
                same(painted, part)
                compared += 1
    assert compared > len(explanation.tokens)
    if "words" in seen and "units" in seen:  # the bottom row agrees with the strip
        strong = [part.strength >= VISIBLE for part in reading.words]
        strip = [painted.colour for _, painted in seen["words"]]
        bottom = [painted.colour for painted in seen["units"][0]]
        assert [c for c, s in zip(strip, strong, strict=True) if s] == [
            c for c, s in zip(bottom, strong, strict=True) if s
        ]


@pytest.fixture(scope="module", params=list(CASES))
def case(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    write_model_of: Callable[..., None],
) -> tuple[Path, Explanation]:
    classes, seed, text = CASES[request.param]
    folder = tmp_path_factory.mktemp("agreement") / request.param
    write_model_of(folder, 40, None, classes, None, seed)
    return folder, explain(adasent.load(folder), text)


def test_the_cases_have_something_to_show(case: tuple[Path, Explanation]) -> None:
    reading = read_for(case[1])
    parts = [*reading.words, *(unit for level in reading.units[1:] for unit in level)]
    assert len({part.colour for part in parts if part.strength >= VISIBLE}) > 1
    assert {np.sign(part.value) for part in reading.words if abs(part.value) > 0.1} == {-1, 1}
    assert any(one.n_words > 1 for one in reading.phrases)


@pytest.mark.parametrize("renderer", [*RENDERERS, "page"])
def test_all_show_the_same(
    renderer: str,
    case: tuple[Path, Explanation],
    tmp_path: Path,
    request: pytest.FixtureRequest,
    make_running: Callable[..., Any],
) -> None:
    folder, explanation = case
    if renderer == "page":
        browser = request.getfixturevalue("browser")
        seen = in_page(explanation, browser, make_running(other=adasent.load(folder)).url)
    else:
        if renderer in ("svg", "png"):
            pytest.importorskip("matplotlib")
        seen = RENDERERS[renderer](explanation, tmp_path, folder)
    compare(seen, read_for(explanation), explanation)


def in_page(explanation: Explanation, browser: Any, url: str) -> Seen:
    """The words, phrases, levels and units of the page in Chromium."""
    opened = browser.new_page()
    try:
        opened.goto(f"{url}/#a={explanation.text.replace(' ', '+')}")
        n = len(explanation.tokens)
        opened.locator(".unit[data-level]").nth(n * (n + 1) // 2 - 1).wait_for()

        def painted(selector: str) -> list[tuple[str, str, str]]:
            script = """nodes => nodes.map(node => [
                node.textContent, getComputedStyle(node).getPropertyValue("--colour").trim(),
                node.parentElement.querySelector(".value")?.textContent ?? ""])"""
            found: list[tuple[str, str, str]] = opened.locator(selector).evaluate_all(script)
            return found

        units = [
            [Painted(colour) for _, colour, _ in painted(f".unit[data-level='{t}']")]
            for t in range(n)
        ]
        phrases = painted(".reasons li .token")
        return {
            "phrases": [(text, Painted(colour, sign_of(v))) for text, colour, v in phrases],
            "words": [(w, Painted(colour)) for w, colour, _ in painted(".words .token")],
            "levels": [Painted(colour) for _, colour, _ in painted(".levels .belief span")][::-1],
            "units": units,
        }
    finally:
        opened.close()

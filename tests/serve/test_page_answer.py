"""What the page says of an answer: its reasons add up, and a colour is a class."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adasent
import adasent.data
from adasent.estimators.predictor import Predictor
from adasent.explain.colours import CLASS_COLOURS
from page_cases import (
    SENTENCE,
    Visit,
    adds_most_to,
    colours,
    number,
    playwright,
    strengths,
)


@pytest.mark.parametrize("kind", ["binary", "six"])
def test_reasons_add_up_from_no_words_to_the_answer(
    visit: Callable[..., Visit],
    make_running: Callable[..., Any],
    request: pytest.FixtureRequest,
    kind: str,
) -> None:
    url = make_running(other=request.getfixturevalue(f"{kind}_predictor")).url
    page = visit(url=url)
    for n_words in (1, 3, 12, 20):
        text = " ".join(("good bad not film was plot happy the and a " * 2).split()[:n_words])
        page.type(text)
        found = page.explanation(text)
        best = found["classes"].index(found["predicted"])
        reasons = page.card().locator(".reasons")
        playwright.expect(page.card().locator(".verdict")).to_have_text(found["verdict"])
        start, *rest, total = reasons.locator(".line .value").all_inner_texts()
        assert start.endswith(f"% {found['predicted']}")
        assert number(start.split("%")[0]) == pytest.approx(100 * found["base"][best], abs=0.06)
        shown = reasons.locator(".sides .value").all_inner_texts()
        assert len(shown) <= 10
        assert not {"0.0", "+0.0", "−0.0"} & {*shown, *rest}
        figures = [number(one) for one in [start.split("%")[0], *shown, *rest]]
        assert sum(figures) == pytest.approx(number(total.split("%")[0]), abs=1e-6)
        assert number(total.split("%")[0]) == pytest.approx(
            100 * found["probabilities"][best], abs=0.06
        )
        sides = reasons.locator(".sides section")
        for side, sign in ((0, 1), (1, -1)):
            points = [number(one) for one in sides.nth(side).locator(".value").all_inner_texts()]
            assert all(sign * one > 0 for one in points)
            assert points == sorted(points, key=abs, reverse=True)


def test_a_phrase_says_what_its_words_add_together(
    visit: Callable[..., Visit],
    make_running: Callable[..., Any],
    write_model_of: Callable[..., None],
    tmp_path: Path,
) -> None:
    write_model_of(tmp_path / "joining", 40, seed=4)  # one whose words act together
    page = visit(url=make_running(other=adasent.load(tmp_path / "joining")).url)
    text = "not good film was not bad"
    page.type(text)
    found = page.explanation(text)
    best = found["classes"].index(found["predicted"])
    joint = [
        phrase
        for phrase in found["phrases"]
        if phrase["end"] - phrase["start"] > 1 and abs(phrase["score"][best]) > 0.001
    ]
    assert joint  # or this model shows nothing
    for phrase in joint:
        item = page.card().locator(".sides li").filter(has_text=phrase["text"]).first
        points = f"{abs(100 * phrase['interaction'][best]):.1f}"
        note = item.locator(".note")
        playwright.expect(note).to_contain_text(re.compile(rf"by standing together .?{points}"))
        parts = re.findall(r"[+−]?[\d.]+", note.inner_text().split(";")[0])
        total = number(item.locator(".value").inner_text())
        assert sum(map(number, parts)) == pytest.approx(total, abs=1e-6)


def test_a_colour_is_the_class_that_a_part_adds_most_to(
    visit: Callable[..., Visit], make_running: Callable[..., Any], six_predictor: Predictor
) -> None:
    text = "the plot was not good and I am not happy"
    page = visit(url=make_running(other=six_predictor).url)
    page.type(text)
    found = page.explanation(text)
    card = page.card()
    by_word = [adds_most_to(score) for score in found["words"]]
    assert len(set(by_word)) > 1  # or a constant would do
    assert colours(card.locator(".words .token")) == by_word
    bottom = card.locator(".unit[data-level='0']")
    assert colours(bottom) == by_word
    assert strengths(bottom) == strengths(card.locator(".words .token"))
    for t, level in enumerate(found["units"]):
        units = card.locator(f".unit[data-level='{t}']")
        assert colours(units) == [adds_most_to(unit["score"]) for unit in level]
    levels = colours(card.locator(".belief > span"))
    assert levels == [adds_most_to(score) for score in reversed(found["level_scores"])]
    by_text = {phrase["text"]: adds_most_to(phrase["score"]) for phrase in found["phrases"]}
    tokens = card.locator(".sides .token")
    names = tokens.all_inner_texts()
    assert colours(tokens) == [by_text[name] for name in names]
    best = found["classes"].index(found["predicted"])
    assert colours(card.locator(".verdict strong")) == [CLASS_COLOURS[best]]
    for legend in card.locator(".legend").all():
        assert colours(legend.locator("li")) == list(CLASS_COLOURS[:6])
    assert colours(card.locator(".classes .name")) == list(CLASS_COLOURS[:6])
    widths = card.locator(".belief > span").evaluate_all("nodes => nodes.map((n) => n.clientWidth)")
    most = max(found["beliefs"])
    for width, belief in zip(widths, reversed(found["beliefs"]), strict=True):
        assert width == pytest.approx(max(widths) * belief / most, abs=2.5)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_word_is_painted_alike_in_sentence_phrase_and_bottom_row(
    visit: Callable[..., Visit],
    make_running: Callable[..., Any],
    six_predictor: Predictor,
    scheme: str,
) -> None:
    page = visit(
        url=make_running(other=six_predictor).url, color_scheme=scheme, reduced_motion="reduce"
    )
    page.type("the plot was not good and I am not happy")

    def painted(nodes: Any, style: str) -> list[str]:
        found: list[str] = nodes.evaluate_all(
            f"nodes => nodes.map((node) => getComputedStyle(node).{style})"
        )
        return found

    words = painted(page.card().locator(".words .token"), "backgroundColor")
    assert len(set(words)) > 3
    assert painted(page.card().locator(".unit[data-level='0']"), "fill") == words


def test_where_the_answer_starts_is_marked(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    found = page.explanation(SENTENCE)
    bars = page.card().locator(".classes li")
    for c, label in enumerate(found["classes"]):
        bar = bars.nth(c)
        track, mark = (bar.locator(part).bounding_box() for part in (".track", ".origin"))
        place = (mark["x"] + mark["width"] / 2 - track["x"]) / track["width"]
        assert place == pytest.approx(found["base"][c], abs=0.02)
        assert f"{label}" in bar.inner_text()
        playwright.expect(bar.locator(".unseen")).to_contain_text("from")
    playwright.expect(page.card().locator(".starts")).to_contain_text("no words at all")


def test_many_classes_share_colours_and_the_legend_says_so(
    visit: Callable[..., Visit], make_running: Callable[..., Any], many_predictor: Predictor
) -> None:
    page = visit(url=make_running(other=many_predictor).url)
    page.type("the plot was not good and I am not happy")
    found = page.explanation("the plot was not good and I am not happy")
    legend = page.card().locator(".legend").first
    playwright.expect(legend).to_contain_text("30 classes share 8 colours")
    by_word = {score.index(max(score)) for score in found["words"]}
    entries = legend.locator("li")
    assert len(by_word) > 1
    assert colours(entries) == list(dict.fromkeys(CLASS_COLOURS[c % 8] for c in sorted(by_word)))
    for c in by_word:
        playwright.expect(legend).to_contain_text(found["classes"][c])

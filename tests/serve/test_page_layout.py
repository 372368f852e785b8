"""The page at every size and in every light: nothing is cut off, and all of it can be read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adasent.explain.colours import CLASS_COLOURS
from adasent.serve.feedback import FeedbackFile
from page_cases import (
    SENTENCE,
    Visit,
    classify,
    open_many,
    playwright,
)

PHONE = {"width": 360, "height": 740}


def test_on_a_phone(visit: Callable[..., Visit]) -> None:
    page = visit(viewport=PHONE, has_touch=True, is_mobile=True)
    page.type(" ".join(["happy"] * 20))
    assert page.wide() == (360, 360)
    drawing = page.page.locator(".pyramid").bounding_box()
    assert drawing["x"] + drawing["width"] <= 360
    page.unit(3, 2).tap()
    playwright.expect(page.page.locator(".details .unit")).to_contain_text(
        "4 words, phrase 3 of 17"
    )
    page.page.get_by_role("button", name="Compare with").tap()
    page.type("happy", card=1)
    assert page.wide() == (360, 360)
    boxes = [page.card(i).bounding_box() for i in (0, 1)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


@pytest.mark.parametrize(
    ("kind", "width", "scheme"),
    [
        ("binary", 1280, "dark"),
        ("binary", 360, "light"),
        ("six", 1280, "light"),
        ("six", 360, "dark"),
        ("many", 320, "light"),
    ],
)
def test_all_of_it_can_be_read(
    visit: Callable[..., Visit],
    make_running: Callable[..., Any],
    request: pytest.FixtureRequest,
    tmp_path: Path,
    kind: str,
    width: int,
    scheme: str,
) -> None:
    predictor = request.getfixturevalue(f"{kind}_predictor")
    feedback = FeedbackFile(tmp_path / "wrong.csv")
    url = make_running(other=predictor, name=kind, feedback=feedback).url
    phone = {"has_touch": True, "is_mobile": True} if width < 400 else {}
    viewport = {"width": width, "height": 800}
    page = visit(url=url, viewport=viewport, color_scheme=scheme, reduced_motion="reduce", **phone)
    page.page.locator("#more-help summary").click()
    words = ["internationalisation", "not", "a", "good", "film", "was", "bad", "שלום"]
    for n_words in (4, 60 if kind == "six" else 38):
        page.type(" ".join((words * 9)[:n_words]))
        page.card().locator(".levels button").last.click()
        page.unit(2, 1).click()
        playwright.expect(page.page.locator(".details .unit")).to_contain_text("phrase 2 of")
        assert page.wide() == (width, width)
        assert page.clipped() == []
    assert page.low_contrast() == []
    assert page.nameless() == []
    box = page.page.locator(".pyramid").evaluate("node => node.getBoundingClientRect().toJSON()")
    for word in page.page.locator(".pyramid .word").all():
        place = word.bounding_box()
        assert box["left"] <= place["x"] + 0.5
        assert place["x"] + place["width"] <= box["right"] + 0.5
        assert place["y"] + place["height"] <= box["bottom"] + 0.5
    open_many(page)
    lines = "good film\n\n" + "internationalisation" * 9 + "\nnot; good\nbad " * 45
    page.page.locator("#lines").fill(lines)
    classify(page, 92)
    page.page.locator(".card textarea").first.fill("good " * 101)
    playwright.expect(page.card().locator(".message")).to_contain_text("The answer alone")
    assert page.wide() == (width, width)
    assert page.clipped() == []
    assert page.low_contrast() == []
    assert page.nameless() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_on_every_colour(visit: Callable[..., Visit], scheme: str) -> None:
    page = visit(color_scheme=scheme, reduced_motion="reduce")
    page.type(" ".join(["good"] * 8))
    page.page.evaluate(
        """colours => document.querySelectorAll(".words .token").forEach((token, i) => {
          token.style.setProperty("--colour", colours[i]);
          token.style.setProperty("--strength", 1);
        })""",
        list(CLASS_COLOURS),
    )
    assert page.low_contrast() == []


def test_text_from_right_to_left(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type("שלום not good")
    direction = "node => getComputedStyle(node).direction"
    for part in (".card textarea", ".words"):
        assert page.page.locator(part).first.evaluate(direction) == "rtl"
    first, last = (page.card().locator(".words .token").nth(i).bounding_box() for i in (0, 2))
    assert first["x"] > last["x"]
    page.type("good שלום")
    assert page.page.locator(".words").evaluate(direction) == "ltr"


def test_a_long_text_of_a_model_with_a_height(
    visit: Callable[..., Visit], make_running: Callable[..., Any], flat_predictor: Any
) -> None:
    n_words, height = 250, 4
    page = visit(url=make_running(other=flat_predictor).url)
    page.page.locator(".card textarea").fill("good film and bad plot " * (n_words // 5))
    units = page.card().locator(".unit[data-level]")
    playwright.expect(units).to_have_count(n_words * height - 6)
    assert page.wide()[0] == page.wide()[1]  # it scrolls inside its card
    sideways = page.page.locator(".sideways")
    playwright.expect(sideways).to_be_visible()
    levels, drawing = page.page.locator(".levels"), page.page.locator(".pyramid")
    assert levels.locator("button").count() == height
    # Each level stands beside its row: the top of both is the top level.
    tops = [levels.locator("button").nth(0), page.unit(height - 1, 0)]
    places = [one.bounding_box()["y"] for one in tops]
    assert abs(places[0] - places[1]) < 6
    assert drawing.bounding_box()["height"] < 250
    page.page.get_by_role("button", name="phrases of 4 words: count").click()
    playwright.expect(page.page.locator(".details .level")).to_contain_text("Phrases of 4 words")
    page.unit(0, 249).click()
    page.page.keyboard.press("PageUp")
    focused = "document.activeElement.getAttribute('aria-label')"
    label = page.page.evaluate(focused)
    assert label.startswith("film and bad plot. 4 words, phrase 247 of 247.")
    page.page.keyboard.press("ArrowUp")  # there is none: stay
    assert page.page.evaluate(focused) == label
    page.type("I am not")
    playwright.expect(page.page.locator(".details .level")).to_contain_text("Choose a row")
    playwright.expect(sideways).to_be_hidden()
    page.page.get_by_role("button", name="the whole text: count").click()
    playwright.expect(page.page.locator(".details .level")).to_contain_text("The whole text")


def test_dark_and_without_motion(visit: Callable[..., Visit]) -> None:
    style = "getComputedStyle(document.documentElement).backgroundColor"
    motion = "getComputedStyle(document.querySelector('.pyramid .unit')).transitionDuration"
    light, dark = visit(), visit(color_scheme="dark", reduced_motion="reduce")
    for page in (light, dark):
        page.type(SENTENCE)
    assert light.page.evaluate(style) == "rgb(251, 251, 249)"
    assert dark.page.evaluate(style) == "rgb(20, 23, 27)"
    assert light.page.evaluate(motion) != "0s"
    assert dark.page.evaluate(motion) == "0s"


def test_the_page_of_the_api(
    visit: Callable[..., Visit], make_running: Callable[..., Any], tmp_path: Path
) -> None:
    feedback = FeedbackFile(tmp_path / "wrong.csv")
    opened = visit("/docs", url=make_running(feedback=feedback).url, viewport=PHONE)
    page = opened.page
    playwright.expect(page.locator("h2").nth(1)).to_have_text("POST /v1/explain")
    page.get_by_role("button", name="Try /v1/predict").click()
    answer = page.locator(".operation").first.locator("pre").last
    playwright.expect(answer).to_contain_text('"label"')
    page.get_by_label("Body for /v1/predict").fill("{")
    page.get_by_role("button", name="Try /v1/predict").click()
    playwright.expect(answer).to_contain_text("the body is not JSON")
    page.get_by_role("button", name="Try /v1/feedback").click()
    playwright.expect(page.locator(".operation").nth(2)).to_contain_text('"predicted"')
    page.get_by_role("button", name="Try /metrics").click()
    playwright.expect(page.locator(".operation").last).to_contain_text("adasent_requests_total")
    assert opened.wide() == (PHONE["width"], PHONE["width"])
    assert opened.nameless() == []
    assert opened.low_contrast() == []

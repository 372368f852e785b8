"""The page in a real browser, headless Chromium: what a user types, points at, and is told.

Set ``ADASENT_SCREENSHOTS`` to a folder to get a picture of every test's last state.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from adasent.serve.limits import Limits

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright: pip install 'adasent[page]'"
)

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs a browser: apt install chromium")

MAX_WORDS = 30
EXAMPLE_WORDS = 14
SENTENCE = "I am not happy"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as driver:
        # Chromium refuses to sandbox for root, as whom containers run.
        args = ["--no-sandbox"] if os.name == "posix" and os.geteuid() == 0 else []
        found = driver.chromium.launch(executable_path=CHROMIUM, args=args)
        yield found
        found.close()


@pytest.fixture(scope="module")
def service(make_running: Callable[..., Any]) -> Any:
    return make_running(Limits(max_explained_words=MAX_WORDS))


class Visit:
    """A page that is open, and what the browser complained of meanwhile."""

    def __init__(self, page: Any, url: str) -> None:
        self.page = page
        self.url = url
        self.complaints: list[str] = []
        self.requests: list[str] = []
        page.on("console", lambda message: self._console(message))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self.requests.append(request.url))

    def _console(self, message: Any) -> None:
        # The browser itself notes each answer that is not a success; tests of errors want those.
        if message.type in ("error", "warning") and "Failed to load" not in message.text:
            self.complaints.append(message.text)

    def open(self, path: str = "/") -> Visit:
        self.page.goto(self.url + path)
        return self

    def type(self, text: str, card: int = 0) -> None:
        """Replace the sentence of a card, of plain words, and wait until it is drawn."""
        self.page.locator("textarea").nth(card).fill(text)
        self.drawn(len(text.split()), card)

    def drawn(self, n_words: int, card: int = 0) -> None:
        units = self.card(card).locator(".unit[data-level]")
        playwright.expect(units).to_have_count(n_words * (n_words + 1) // 2)

    def card(self, which: int = 0) -> Any:
        return self.page.locator(".card").nth(which)

    def unit(self, level: int, index: int, card: int = 0) -> Any:
        return self.card(card).locator(f".unit[data-level='{level}'][data-index='{index}']")

    def wide(self) -> tuple[int, int]:
        """Width of the document and of the window."""
        width, window = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return width, window


@pytest.fixture
def visit(
    browser: Any, service: Any, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Visit]]:
    """Open a page; at the end there must be no error and no request to elsewhere."""
    visits: list[Visit] = []

    def make(path: str = "/", url: str | None = None, **context: Any) -> Visit:
        page = browser.new_context(**context).new_page()
        page.set_default_timeout(15_000)
        visits.append(Visit(page, url or service.url))
        return visits[-1].open(path)

    yield make
    for each in visits:
        if folder := os.environ.get("ADASENT_SCREENSHOTS"):
            path = Path(folder) / f"{request.node.name}.png"
            each.page.screenshot(path=path, full_page=True)
        each.page.context.close()
        assert each.complaints == []
        assert [url for url in each.requests if not url.startswith(each.url)] == []


def test_the_pyramid_redraws_while_typing(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.drawn(EXAMPLE_WORDS)
    box = page.page.locator("textarea")
    box.fill("")
    playwright.expect(page.page.locator(".message")).to_have_text("Type a sentence.")
    box.press_sequentially("I am")
    page.drawn(2)
    box.press_sequentially(" not happy")
    page.drawn(4)
    verdict = page.page.locator(".verdict").inner_text().split()
    assert verdict[0] in {"negative", "positive", "neither"}
    assert page.page.locator(".levels button").count() == 4
    assert page.page.title() == "reviews – adasent"
    assert page.page.locator("#legend li").all_inner_texts() == ["negative", "positive", "neither"]


def test_time_from_the_answer_to_the_drawing(
    visit: Callable[..., Visit], record_property: Callable[[str, object], None]
) -> None:
    page = visit("/#a=" + "+".join(["happy"] * 25))
    page.drawn(25)
    page.page.wait_for_function("performance.getEntriesByName('adasent:draw').length > 0")
    milliseconds = page.page.evaluate("performance.getEntriesByName('adasent:draw')[0].duration")
    record_property("first_drawing_ms", milliseconds)
    print(f"first drawing of 25 words: {milliseconds:.0f} ms after the answer")


def test_pointing_at_a_unit_tells_of_it(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    details = page.page.locator(".details .unit")
    page.unit(1, 2).hover()
    playwright.expect(details).to_contain_text("“not happy”")
    for part in ("level 2, unit 3 of 3", "Says alone", "Gates", "left", "Effective span"):
        playwright.expect(details).to_contain_text(part)
    assert details.locator(".span li .name").all_inner_texts() == ["not", "happy"]
    assert page.page.locator(".word.spanned").all_text_contents() == ["not", "happy"]
    page.unit(0, 3).hover()
    playwright.expect(details).to_contain_text("“happy”")
    playwright.expect(details).not_to_contain_text("Gates")
    page.page.locator("h1").hover()
    playwright.expect(details).to_contain_text("Point at a unit")


def test_choosing_a_level_shows_its_vote(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    button = page.page.get_by_role("button", name="Level 2, belief")
    vote = page.page.locator(".details .level")
    button.click()
    playwright.expect(vote).to_contain_text("Level 2: phrases of 2 words")
    playwright.expect(vote).to_contain_text("Its vote")
    playwright.expect(button).to_have_attribute("aria-pressed", "true")
    assert page.page.locator(".pyramid .unit:not(.faded)").count() == 3
    button.click()
    playwright.expect(vote).to_contain_text("Choose a level")


def test_all_of_it_by_keyboard(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    keyboard = page.page.keyboard
    page.page.locator("textarea").focus()
    focused = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    )
    stops = []
    for _ in range(9):
        keyboard.press("Tab")
        stops.append(page.page.evaluate(focused))
    assert stops[:4] == ["I", "am", "not", "happy"]
    assert [stop.split(",")[0] for stop in stops[4:8]] == [
        "Level 4",
        "Level 3",
        "Level 2",
        "Level 1",
    ]
    assert stops[8].startswith("i. Level 1, unit 1 of 4. Alone it says ")
    keyboard.press("ArrowRight")
    keyboard.press("ArrowUp")
    assert page.page.evaluate(focused).startswith("am not. Level 2, unit 2 of 3.")
    keyboard.press("End")
    keyboard.press("ArrowRight")  # there is none: stay
    assert page.page.evaluate(focused).startswith("not happy. Level 2, unit 3 of 3.")
    keyboard.press("Enter")
    playwright.expect(page.unit(1, 2)).to_have_attribute("aria-pressed", "true")
    keyboard.press("PageUp")
    assert page.page.evaluate(focused).startswith("i am not happy. Level 4")
    keyboard.press("Tab")  # out of the pyramid: what was kept is shown again
    playwright.expect(page.page.locator(".details .unit")).to_contain_text("“not happy”")
    keyboard.press("Shift+Tab")
    keyboard.press("Escape")
    playwright.expect(page.unit(1, 2)).to_have_attribute("aria-pressed", "false")


def test_two_sentences_side_by_side(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type("I am happy")
    page.page.get_by_role("button", name="Compare with a second sentence").click()
    page.type("I am not happy", card=1)
    playwright.expect(page.page.locator("#difference-levels tbody tr")).to_have_count(4)
    boxes = [page.card(i).bounding_box() for i in (0, 1)]
    assert boxes[0]["y"] == boxes[1]["y"]
    assert boxes[0]["x"] + boxes[0]["width"] <= boxes[1]["x"]
    assert page.card(0).locator(".unit.changed").count() == 0
    assert page.card(1).locator(".token.changed").all_inner_texts() == ["not"]
    assert page.card(1).locator("rect.changed").count() == 6  # of 10: all that hold "not"

    def number(text: str) -> float:
        return float(text.replace("−", "-"))

    changes = page.page.locator("#difference-levels .amount").all_inner_texts()
    total = page.page.locator("#difference-levels tfoot td").last.inner_text()
    assert sum(map(number, changes)) == pytest.approx(number(total), abs=0.21)
    verdict = page.page.locator("#difference-verdict").inner_text()
    assert verdict.startswith(("The same class", "Another class"))
    page.page.get_by_role("button", name="Back to one sentence").click()
    playwright.expect(page.page.locator(".card")).to_have_count(1)
    playwright.expect(page.page.locator("#difference")).to_be_hidden()


def test_editing_one_word_shows_the_difference(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type("😀 I am not HAPPY today")
    page.page.get_by_role("button", name="HAPPY", exact=True).click()
    word = page.page.get_by_label("Replace “HAPPY” by")
    playwright.expect(word).to_be_focused()
    word.fill("sad 😀")
    second = page.page.locator("textarea").nth(1)
    playwright.expect(second).to_have_value("😀 I am not sad 😀 today")
    page.drawn(7, card=1)
    playwright.expect(page.page.locator("#difference")).to_be_visible()
    page.page.get_by_role("button", name="Leave it out").click()
    playwright.expect(second).to_have_value("😀 I am not today")
    page.card(0).get_by_role("button", name="not", exact=True).click()
    page.page.keyboard.press("Escape")
    playwright.expect(page.page.locator(".card")).to_have_count(1)


def test_an_address_brings_the_sentences_back(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.page.locator("textarea").fill("good & <bad>")
    page.drawn(5)
    page.page.get_by_role("button", name="Compare with").click()
    page.page.locator("textarea").nth(1).fill("a + b")
    page.page.wait_for_function("location.hash.includes('b=a+%2B+b')")
    page.page.reload()
    values = [page.page.locator("textarea").nth(i).input_value() for i in (0, 1)]
    assert values == ["good & <bad>", "a + b"]


def test_markup_in_a_sentence_stays_text(visit: Callable[..., Visit]) -> None:
    page = visit()
    text = "<img src=x onerror=alert(1)> <script>document.title='x'</script>"
    page.page.locator("textarea").fill(text)
    playwright.expect(page.page.locator(".words")).to_have_text(text)
    assert page.page.locator(".card img, .card script").count() == 0
    assert page.page.title() == "reviews – adasent"


def test_a_sentence_that_is_too_long(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    message = page.page.get_by_role("alert")
    page.page.locator("textarea").fill("good " * (MAX_WORDS + 1))
    playwright.expect(message).to_contain_text(
        f"Not drawn: expected at most {MAX_WORDS} words to explain, got {MAX_WORDS + 1}"
    )
    playwright.expect(page.card()).to_have_class("card stale")
    page.type("good")
    playwright.expect(message).to_be_hidden()
    playwright.expect(page.card()).to_have_class("card")


def test_a_failure_is_of_its_own_sentence(visit: Callable[..., Visit]) -> None:
    page = visit("/#a=I+am+happy&b=I+am+not+happy")
    playwright.expect(page.page.locator("#difference")).to_be_visible()
    page.page.locator("textarea").nth(1).fill("good " * (MAX_WORDS + 1))
    playwright.expect(page.card(1)).to_have_class("card stale")
    playwright.expect(page.card(0)).to_have_class("card")
    playwright.expect(page.page.locator("#difference")).to_be_hidden()
    page.type("I am sad", card=1)
    playwright.expect(page.page.locator("#difference")).to_be_visible()


def test_a_busy_service_is_asked_again(visit: Callable[..., Visit], service: Any) -> None:
    page = visit()
    page.type(SENTENCE)
    gate = service.server._service.gate
    gate.n_requests += gate.limits.max_pending
    page.page.locator("textarea").fill("good film")
    playwright.expect(page.page.get_by_role("alert")).to_contain_text("the service is busy")
    gate.n_requests -= gate.limits.max_pending
    page.drawn(2)
    playwright.expect(page.page.get_by_role("alert")).to_be_hidden()


def test_a_service_that_went_away_and_came_back(
    visit: Callable[..., Visit], make_running: Callable[..., Any]
) -> None:
    first = make_running()
    port = first.socket.getsockname()[1]
    page = visit(url=first.url)
    page.type(SENTENCE)
    first.stop()
    page.page.locator("textarea").fill("good film")
    playwright.expect(page.page.get_by_role("alert")).to_contain_text(
        "The service does not answer. Is adasent serve still running?"
    )
    make_running(port=port)
    page.drawn(2)
    playwright.expect(page.page.get_by_role("alert")).to_be_hidden()


def test_on_a_phone(visit: Callable[..., Visit]) -> None:
    size = {"width": 360, "height": 740}
    page = visit(viewport=size, has_touch=True, is_mobile=True)
    page.type(" ".join(["happy"] * 20))
    assert page.wide() == (360, 360)
    drawing = page.page.locator(".pyramid").bounding_box()
    assert drawing["x"] + drawing["width"] <= 360
    page.unit(3, 2).tap()
    playwright.expect(page.page.locator(".details .unit")).to_contain_text("level 4, unit 3 of 17")
    page.page.get_by_role("button", name="Compare with").tap()
    page.type("happy", card=1)
    assert page.wide() == (360, 360)
    boxes = [page.card(i).bounding_box() for i in (0, 1)]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]


def test_a_long_sentence_scrolls_inside_its_card(visit: Callable[..., Visit]) -> None:
    page = visit(viewport={"width": 320, "height": 640})
    page.type(" ".join(["happy"] * MAX_WORDS))
    assert page.wide() == (320, 320)


def test_a_long_text_of_a_model_with_a_height(
    visit: Callable[..., Visit], make_running: Callable[..., Any], flat_predictor: Any
) -> None:
    n_words, height = 250, 4
    page = visit(url=make_running(other=flat_predictor).url)
    page.page.locator("textarea").fill("good film and bad plot " * (n_words // 5))
    units = page.card().locator(".unit[data-level]")
    playwright.expect(units).to_have_count(n_words * height - 6)
    assert page.wide()[0] == page.wide()[1]  # it scrolls inside its card
    levels, drawing = page.page.locator(".levels"), page.page.locator(".pyramid")
    assert levels.locator("button").count() == height
    # Each level stands beside its row: the top of both is the top level.
    tops = [levels.locator("button").nth(0), page.unit(height - 1, 0)]
    places = [one.bounding_box()["y"] for one in tops]
    assert abs(places[0] - places[1]) < 6
    assert drawing.bounding_box()["height"] < 250
    page.page.get_by_role("button", name="Level 4, belief").click()
    playwright.expect(page.page.locator(".details .level")).to_contain_text("phrases of 4 words")
    page.unit(0, 249).click()
    page.page.keyboard.press("PageUp")
    focused = "document.activeElement.getAttribute('aria-label')"
    label = page.page.evaluate(focused)
    assert label.startswith("film and bad plot. Level 4, unit 247 of 247.")
    page.page.keyboard.press("ArrowUp")  # there is none: stay
    assert page.page.evaluate(focused) == label
    page.type("I am not")
    playwright.expect(page.page.locator(".details .level")).to_contain_text("Choose a level")
    page.page.get_by_role("button", name="Level 3, belief").click()
    playwright.expect(page.page.locator(".details .level")).to_contain_text("the whole sentence")


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


def test_the_page_of_the_api(visit: Callable[..., Visit]) -> None:
    page = visit("/docs").page
    playwright.expect(page.locator("h2").nth(1)).to_have_text("POST /v1/explain")
    page.get_by_role("button", name="Try /v1/predict").click()
    answer = page.locator(".operation").first.locator("pre").last
    playwright.expect(answer).to_contain_text('"label"')
    page.get_by_label("Body for /v1/predict").fill("{")
    page.get_by_role("button", name="Try /v1/predict").click()
    playwright.expect(answer).to_contain_text("the body is not JSON")
    page.get_by_role("button", name="Try /metrics").click()
    playwright.expect(page.locator(".operation").last).to_contain_text("adasent_requests_total")

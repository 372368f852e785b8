"""The page in a real browser, headless Chromium: what a user types, points at, and is told.

Set ``ADASENT_SCREENSHOTS`` to a folder to get a picture of every test's last state.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import adasent
import adasent.data
from adasent.estimators.predictor import Predictor
from adasent.serve.feedback import FeedbackFile
from page_cases import (
    MAX_WORDS,
    NEUTRAL_WORDS,
    SENTENCE,
    Visit,
    number,
    playwright,
)


def test_the_api_is_a_link_away(visit: Callable[..., Visit]) -> None:
    page = visit().page
    page.get_by_role("link", name="API").click()
    playwright.expect(page.locator("#operations")).to_contain_text("/v1/predict")


def test_the_pyramid_redraws_while_typing(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.drawn(NEUTRAL_WORDS)
    box = page.page.locator(".card textarea")
    box.fill("")
    playwright.expect(page.card().locator(".message")).to_have_text("Type a sentence.")
    box.press_sequentially("I am")
    page.drawn(2)
    box.press_sequentially(" not happy")
    page.drawn(4)
    assert page.page.locator(".levels button").count() == 4
    assert page.page.title() == "reviews – adasent"
    for legend in page.page.locator(".legend").all():
        assert legend.locator("li").all_inner_texts() == ["negative", "positive", "neither"]


def test_pointing_at_a_unit_tells_of_it(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    details = page.page.locator(".details .unit")
    page.unit(1, 2).hover()
    playwright.expect(details).to_contain_text("“not happy”")
    parts = ("2 words, phrase 3 of 3", "Says by itself", "kept left: “not”", "kept right: “happy”")
    for part in (*parts, "combined", "Which words it rests on"):
        playwright.expect(details).to_contain_text(part)
    assert details.locator(".rests li .name").all_inner_texts() == ["not", "happy"]
    assert page.page.locator(".word.spanned").all_text_contents() == ["not", "happy"]
    page.unit(0, 3).hover()
    playwright.expect(details).to_contain_text("“happy”")
    playwright.expect(details).to_contain_text("word 4 of 4")
    playwright.expect(details).not_to_contain_text("kept")
    page.page.locator("h1").hover()
    playwright.expect(details).to_contain_text("Point at a box")


def test_choosing_a_level_shows_its_vote(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    button = page.page.get_by_role("button", name="phrases of 2 words: count")
    vote = page.page.locator(".details .level")
    button.click()
    playwright.expect(vote).to_contain_text("Phrases of 2 words")
    playwright.expect(vote).to_contain_text("Say by themselves")
    playwright.expect(button).to_have_attribute("aria-pressed", "true")
    assert page.page.locator(".pyramid .unit:not(.faded)").count() == 3
    button.click()
    playwright.expect(vote).to_contain_text("Choose a row")


def test_all_of_it_by_keyboard(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    keyboard = page.page.keyboard
    page.page.locator(".card textarea").focus()
    focused = (
        "document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent"
    )
    stops = []
    for _ in range(9):
        keyboard.press("Tab")
        stops.append(page.page.evaluate(focused))
    assert stops[:4] == ["I", "am", "not", "happy"]
    assert [stop.split(":")[0] for stop in stops[4:8]] == [
        "the whole text",
        "phrases of 3 words",
        "phrases of 2 words",
        "single words",
    ]
    assert stops[8].startswith("i. Word 1 of 4. By itself it says ")
    keyboard.press("ArrowRight")
    keyboard.press("ArrowUp")
    assert page.page.evaluate(focused).startswith("am not. 2 words, phrase 2 of 3.")
    keyboard.press("End")
    keyboard.press("ArrowRight")  # there is none: stay
    assert page.page.evaluate(focused).startswith("not happy. 2 words, phrase 3 of 3.")
    keyboard.press("Enter")
    playwright.expect(page.unit(1, 2)).to_have_attribute("aria-pressed", "true")
    keyboard.press("PageUp")
    assert page.page.evaluate(focused).startswith("i am not happy. 4 words, phrase 1 of 1.")
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
    second = page.page.locator(".card textarea").nth(1)
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
    page.page.locator(".card textarea").fill("good & <bad>")
    page.drawn(5)
    page.page.get_by_role("button", name="Compare with").click()
    page.page.locator(".card textarea").nth(1).fill("a + b")
    playwright.expect(page.page).to_have_url(re.compile(re.escape("b=a+%2B+b")))
    page.page.reload()
    values = [page.page.locator(".card textarea").nth(i).input_value() for i in (0, 1)]
    assert values == ["good & <bad>", "a + b"]


def test_markup_in_a_sentence_stays_text(visit: Callable[..., Visit]) -> None:
    page = visit()
    text = "<img src=x onerror=alert(1)> <script>document.title='x'</script>"
    page.page.locator(".card textarea").fill(text)
    playwright.expect(page.page.locator(".words")).to_have_text(text)
    assert page.page.locator(".card img, .card script").count() == 0
    assert page.page.title() == "reviews – adasent"


def test_a_text_that_is_too_long_to_explain_is_answered(
    visit: Callable[..., Visit], predictor: Predictor
) -> None:
    page = visit()
    page.type(SENTENCE)
    card = page.card()
    text = "good " * (MAX_WORDS + 1)
    page.page.locator(".card textarea").fill(text)
    playwright.expect(card.locator(".message")).to_have_text(
        f"The answer alone: this text has {MAX_WORDS + 1} words, and reasons are given for up to "
        f"{MAX_WORDS}."
    )
    (label,) = predictor.predict([text])
    playwright.expect(card.locator(".verdict")).to_contain_text(label)
    assert card.locator(".classes li").count() == 3
    for part in (".words", ".reasons", ".pyramid", ".legend >> nth=0", ".starts"):
        playwright.expect(card.locator(part)).to_be_hidden()
    page.page.locator(".card textarea").fill("good " * 60)  # the model itself reads 40 words
    playwright.expect(card.locator(".verdict")).to_contain_text(
        "Only the first 40 of 60 words were read."
    )
    page.type("good")
    playwright.expect(card.locator(".message")).to_be_hidden()
    for part in (".words", ".reasons", ".pyramid", ".legend >> nth=0", ".starts"):
        playwright.expect(card.locator(part)).to_be_visible()


def test_a_text_that_the_service_does_not_take(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    page.page.locator(".card textarea").fill("good " * 4001)
    playwright.expect(page.page.get_by_role("alert")).to_have_text(
        "Not done: this text has 20,005 characters; at most 20,000 are read."
    )
    playwright.expect(page.card()).to_have_class("card stale")
    page.type("good")
    playwright.expect(page.page.get_by_role("alert")).to_be_hidden()
    playwright.expect(page.card()).to_have_class("card")


def test_words_that_the_model_does_not_know(visit: Callable[..., Visit]) -> None:
    page = visit()
    note = page.card().locator(".unknown")
    page.type("good film")
    playwright.expect(note).to_be_hidden()
    page.type("good xyzzy film")
    playwright.expect(note).to_have_text("Underlined: a word that the model does not know.")
    assert page.card().locator(".words .new").all_inner_texts() == ["xyzzy"]
    page.type("good xyzzy blorp")
    playwright.expect(note).to_have_text("Underlined: 2 words that the model does not know.")
    page.type("xyzzy blorp")
    playwright.expect(note).to_contain_text("The model knows none of these words")
    page.page.locator(".card textarea").first.fill("\x1f")  # no word at all
    playwright.expect(note).to_contain_text("The model found no word here")


def test_a_failure_is_of_its_own_sentence(visit: Callable[..., Visit]) -> None:
    page = visit("/#a=I+am+happy&b=I+am+not+happy")
    playwright.expect(page.page.locator("#difference")).to_be_visible()
    page.page.locator(".card textarea").nth(1).fill("good " * 4001)
    playwright.expect(page.card(1)).to_have_class("card stale")
    playwright.expect(page.card(0)).to_have_class("card")
    playwright.expect(page.page.locator("#difference")).to_be_hidden()
    page.type("I am sad", card=1)
    playwright.expect(page.page.locator("#difference")).to_be_visible()


def test_a_busy_service_is_asked_again(visit: Callable[..., Visit], page_service: Any) -> None:
    page = visit()
    page.type(SENTENCE)
    gate = page_service.server._service.gate
    gate.n_requests += gate.limits.max_pending
    page.page.locator(".card textarea").fill("good film")
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
    page.page.locator(".card textarea").fill("good film")
    playwright.expect(page.page.get_by_role("alert")).to_contain_text(
        "The service does not answer. Is adasent serve still running?"
    )
    make_running(port=port)
    page.drawn(2)
    playwright.expect(page.page.get_by_role("alert")).to_be_hidden()


# -- help, examples, links, feedback ---------------------------------------------------------------


def test_help_is_open_on_the_first_visit(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.drawn(NEUTRAL_WORDS)
    assistance = page.page.locator("#help")
    playwright.expect(assistance).to_have_attribute("open", "")
    found = page.explanation("good")
    base = max(zip(found["base"], found["classes"], strict=True))
    playwright.expect(page.page.locator("#start-from")).to_have_text(
        f"of no words at all this model says {base[1]} ({100 * base[0]:.0f} %)."
    )
    page.page.reload()
    page.drawn(NEUTRAL_WORDS)
    playwright.expect(assistance).not_to_have_attribute("open", "")
    assistance.locator("summary").first.click()
    playwright.expect(page.page.locator("#start-from")).to_be_visible()


def test_what_the_model_says_of_next_to_nothing(
    visit: Callable[..., Visit], predictor: Predictor
) -> None:
    page = visit()
    page.type(SENTENCE)
    page.page.locator("#more-help summary").click()
    table = page.page.locator("#prior")
    found = page.explanation(SENTENCE)
    strongest = found["tokens"][max(range(4), key=lambda j: max(found["words"][j]))]
    playwright.expect(table.locator("thead th")).to_have_text(
        ["class", "no words", "a word it does not know", f"“{strongest}” alone"]
    )
    said = [found["base"], *predictor.predict_proba(["xyzzy", strongest]).tolist()]
    rows = table.locator("tbody tr").all()
    assert len(rows) == 3
    for c, row in enumerate(rows):
        assert row.locator("th").inner_text() == predictor.classes_[c]
        shares = [number(cell) for cell in row.locator("td").all_inner_texts()]
        assert shares == pytest.approx([100 * shares[c] for shares in said], abs=0.51)


def test_a_browser_that_remembers_nothing(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no'); }})"
    )
    page.page.reload()
    page.drawn(NEUTRAL_WORDS)
    page.page.locator("#help summary").first.click()
    playwright.expect(page.page.locator("#help")).not_to_have_attribute("open", "")
    page.type(SENTENCE)


def test_examples_of_the_model(
    visit: Callable[..., Visit], make_running: Callable[..., Any], binary_predictor: Predictor
) -> None:
    page = visit(url=make_running(other=binary_predictor).url)
    texts = ["the plot was bad and bad", "I am happy: a good film!"]
    playwright.expect(page.page.locator(".card textarea").first).to_have_value(texts[0])
    page.drawn(6)
    examples = page.page.locator(".examples button")
    assert examples.all_inner_texts() == texts
    examples.nth(1).click()
    page.drawn(8)
    playwright.expect(page.page.locator(".card textarea").first).to_have_value(texts[1])


def test_a_model_without_examples(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.drawn(NEUTRAL_WORDS)
    playwright.expect(page.page.locator(".examples").first).to_be_hidden()


@pytest.mark.parametrize(
    "text",
    [
        "good & <bad> 50% #1 + \"two\" 'three' ?a=b\nbad 😀 👩‍👧 שלום\\",
        "good bad not film " * 500,
    ],
    ids=["odd", "2,000 words"],
)
def test_a_link_to_a_sentence(visit: Callable[..., Visit], text: str) -> None:
    page = visit(permissions=["clipboard-read", "clipboard-write"])
    page.drawn(NEUTRAL_WORDS)
    page.page.locator(".card textarea").first.fill(text)
    page.page.get_by_role("button", name="Copy link").click()  # at once, while it is typed
    playwright.expect(page.page.locator("#copied")).to_have_text("Copied.")
    link = page.page.evaluate("navigator.clipboard.readText()")
    answers = []
    tab = Visit(page.page.context.new_page(), page.url)
    tab.page.goto(link)
    for one in (page, tab):
        playwright.expect(one.page.locator(".card textarea").first).to_have_value(text)
        words = one.card().locator(".words" if len(text) < 100 else ".message")
        playwright.expect(words).to_contain_text(text if len(text) < 100 else "2,000 words")
        answers.append(one.card().locator(".verdict").inner_text())
    assert answers[0] == answers[1]
    assert tab.complaints == []


def test_a_link_into_a_page_that_is_open(visit: Callable[..., Visit]) -> None:
    page = visit("/#a=bad")
    page.drawn(1)
    page.page.evaluate("location.hash = 'a=I+am&b=I+am+not'")
    playwright.expect(page.page.locator(".card textarea").first).to_have_value("I am")
    page.drawn(3, card=1)
    page.page.evaluate("location.hash = 'a=happy'")
    page.drawn(1)
    playwright.expect(page.page.locator(".card")).to_have_count(1)


def test_a_link_where_the_clipboard_is_refused(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.page.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.type(SENTENCE)
    page.page.get_by_role("button", name="Copy link").click()
    link = page.page.get_by_label("Link to this sentence")
    playwright.expect(link).to_be_focused()
    playwright.expect(link).to_have_value(f"{page.url}/#a=I+am+not+happy")
    page.type("good film")
    playwright.expect(link).to_be_hidden()


def test_a_wrong_label_is_put_right(
    visit: Callable[..., Visit],
    make_running: Callable[..., Any],
    predictor: Predictor,
    tmp_path: Path,
) -> None:
    path = tmp_path / "wrong.csv"
    service = make_running(feedback=FeedbackFile(path))
    page = visit(url=service.url)
    page.type(SENTENCE)
    form = page.card().locator(".feedback")
    select, send = form.locator("select"), form.get_by_role("button", name="Send")
    (predicted,) = predictor.predict([SENTENCE])
    others = [label for label in predictor.classes_.tolist() if label != predicted]
    assert select.locator("option").all_inner_texts() == ["…", *others]
    playwright.expect(send).to_be_disabled()
    select.select_option(others[1])
    gate = service.server._service.gate
    gate.n_requests += gate.limits.max_pending
    send.click()
    playwright.expect(form.get_by_role("status")).to_contain_text("the service is busy")
    gate.n_requests -= gate.limits.max_pending
    send.click()
    playwright.expect(form.get_by_role("status")).to_contain_text(f"training: {others[1]}.")
    playwright.expect(send).to_be_disabled()
    page.type("good film")
    playwright.expect(form.get_by_role("status")).to_be_empty()
    corpus = adasent.data.load(path)
    assert (corpus.texts, corpus.labels) == ([SENTENCE], [others[1]])


def test_without_a_file_nobody_is_asked(visit: Callable[..., Visit]) -> None:
    page = visit()
    page.type(SENTENCE)
    playwright.expect(page.card().locator(".feedback")).to_be_hidden()

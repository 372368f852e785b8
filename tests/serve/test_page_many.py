"""A table of many texts on the page: pasted, chosen or dropped, answered, sorted, downloaded."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from typing import Any

import pytest

from adasent.estimators.predictor import Predictor
from adasent.serve.limits import Limits
from page_cases import (
    NEUTRAL_WORDS,
    Visit,
    cells,
    classify,
    downloaded,
    give,
    number,
    open_many,
    playwright,
)


def test_pasted_texts_get_their_answers(visit: Callable[..., Visit], predictor: Predictor) -> None:
    page = visit()
    open_many(page)
    texts = ["I am happy", "not good <b>film</b>", "bad, bad plot"]
    page.page.locator("#lines").fill(f"{texts[0]}\n\n{texts[1]}\r\n   \n{texts[2]}\n")
    playwright.expect(page.page.locator("#remarks")).to_have_text("Left out: 2 blank lines.")
    classify(page, 3)
    playwright.expect(page.page.locator("#state")).to_have_text("3 of 3 texts answered")
    probabilities = predictor.predict_proba(texts)
    labels = predictor.predict(texts).tolist()
    shares = probabilities.max(axis=1)
    found = cells(page)
    assert [row[:3] for row in found] == [
        [str(i + 1), text, label] for i, (text, label) in enumerate(zip(texts, labels, strict=True))
    ]
    for row, share in zip(found, shares, strict=True):
        assert number(row[3]) == pytest.approx(100 * share, abs=0.51)
    counts = page.page.locator("#counts li").all_inner_texts()
    assert sorted(counts) == sorted({f"{label} {labels.count(label)}" for label in labels})

    heading = page.page.locator("#answers th").filter(has_text="Confidence")
    page.page.get_by_role("button", name="Confidence").click()
    playwright.expect(heading).to_have_attribute("aria-sort", "ascending")
    order = shares.argsort().tolist()
    assert [row[0] for row in cells(page)] == [str(i + 1) for i in order]
    page.page.get_by_role("button", name="Confidence").press("Enter")
    playwright.expect(heading).to_have_attribute("aria-sort", "descending")
    assert [row[0] for row in cells(page)] == [str(i + 1) for i in reversed(order)]

    page.page.get_by_role("button", name=texts[1]).click()
    playwright.expect(page.page.locator(".card textarea").first).to_have_value(texts[1])
    playwright.expect(page.card().locator(".words")).to_have_text(texts[1])
    head, *rows = downloaded(page)
    assert head == ["text", "predicted", "confidence", "note"]
    assert [row[:2] for row in rows] == [list(pair) for pair in zip(texts, labels, strict=True)]
    assert [float(row[2]) for row in rows] == pytest.approx(shares.tolist(), abs=1e-5)


TABLE = [
    ["id", "review", "predicted", "stars"],
    ["1", 'so; "good"\nand good', "x", "=1+1"],
    ["2", "-not bad", "", "-3.5"],
    ["3", "  café 😀", "", "@me"],
]


@pytest.mark.parametrize(("separator", "end"), [(";", "\r\n"), (",", "\n"), ("\t", "\r")])
def test_a_csv_file_keeps_its_columns(
    visit: Callable[..., Visit], predictor: Predictor, separator: str, end: str
) -> None:
    page = visit()
    open_many(page)
    written = io.StringIO()
    csv.writer(written, delimiter=separator, lineterminator=end).writerows(TABLE)
    give(page, "reviews.csv", "\ufeff" + written.getvalue())
    playwright.expect(page.page.locator("#header")).to_be_checked()
    column = page.page.get_by_label("Texts are in")
    playwright.expect(column.locator("option:checked")).to_have_text("review")
    assert column.locator("option").all_inner_texts() == TABLE[0]
    playwright.expect(page.page.locator("#remarks")).to_be_hidden()
    classify(page, 3)
    texts = [row[1] for row in TABLE[1:]]
    labels = predictor.predict(texts).tolist()
    assert [row[2] for row in cells(page)] == labels
    head, *rows = downloaded(page, separator)
    assert head == [*TABLE[0], "predicted 2", "confidence", "note"]
    assert [row[4] for row in rows] == labels
    # What a spreadsheet would compute is marked as text; numbers are left alone.
    safe = [[re.sub(r"^(?=[=@]|-n)", "'", cell) for cell in row] for row in TABLE[1:]]
    assert [row[:4] for row in rows] == safe
    assert safe != TABLE[1:]
    page.page.get_by_label("safe for spreadsheets").uncheck()
    assert [row[:4] for row in downloaded(page, separator)] == TABLE

    page.page.locator("#header").uncheck()
    assert column.locator("option").all_inner_texts() == [f"column {i}" for i in range(1, 5)]
    column.select_option("column 1")
    classify(page, 4)
    assert [row[1] for row in cells(page)] == ["id", "1", "2", "3"]


def test_a_page_that_waits_for_the_model_takes_no_click_and_keeps_what_is_pasted(
    visit: Callable[..., Visit],
) -> None:
    page = visit("/docs")
    held: list[Any] = []
    page.page.route("**/v1/model", lambda route: held.append(route))
    page.open()
    open_many(page)
    page.page.locator("#lines").fill("good\nbad")
    buttons = [page.page.locator(name) for name in ("#start", "#compare", "#copy")]
    for button in buttons:
        playwright.expect(button).to_be_disabled()
    playwright.expect(page.page.locator("#model")).not_to_contain_text("words")
    assert held
    for route in held:
        route.continue_()
    for button in buttons:
        playwright.expect(button).to_be_enabled()
    classify(page, 2)
    playwright.expect(page.page.locator("#state")).to_have_text("2 of 2 texts answered")


def test_a_file_that_is_dropped(visit: Callable[..., Visit]) -> None:
    page = visit()
    open_many(page)
    transfer = page.page.evaluate_handle(
        """() => {
          const transfer = new DataTransfer();
          transfer.items.add(new File(["text\\ngood\\nbad\\n"], "dropped.csv"));
          return transfer;
        }"""
    )
    page.page.locator("#many .drop").dispatch_event("drop", {"dataTransfer": transfer})
    playwright.expect(page.page.locator("#table legend")).to_have_text("dropped.csv")
    classify(page, 2)


@pytest.mark.parametrize(
    ("content", "remark"),
    [
        (b"text\ncaf\xe9\n", "not UTF-8"),
        ("text,stars\ngood, bad film,3\n", "Not as many cells as the first row: 1 row."),
        ('text\nfine\n"never closed\nfilm\n', "opens in row 3 is never closed"),
        ("text\n\ngood\n", "Left out: 1 blank row."),
    ],
)
def test_what_is_odd_in_a_file_is_said(
    visit: Callable[..., Visit], content: str | bytes, remark: str
) -> None:
    page = visit()
    open_many(page)
    give(page, "odd.csv", content)
    playwright.expect(page.page.locator("#remarks")).to_contain_text(remark)


def test_an_empty_file(visit: Callable[..., Visit]) -> None:
    page = visit()
    open_many(page)
    empty = {"name": "empty.csv", "mimeType": "text/csv", "buffer": b""}
    page.page.locator("#file").set_input_files(empty)
    playwright.expect(page.page.locator("#remarks")).to_have_text("The table is empty.")
    page.page.get_by_role("button", name="Classify them").click()
    playwright.expect(page.page.locator("#state")).to_have_text("There are no texts yet.")


def test_requests_stay_within_the_limits_and_no_text_is_lost(
    visit: Callable[..., Visit], make_running: Callable[..., Any], predictor: Predictor
) -> None:
    limits = Limits(max_texts=3, max_chars=50, max_body_bytes=260)
    page = visit(url=make_running(limits).url)
    open_many(page)
    # White space for the service alone: it refuses what the page takes for a text.
    texts = ["good", "\x85", "bad film", "é" * 45, "x" * 51, "not bad", "é" * 40, "happy", "plot"]
    page.page.locator("#lines").fill("\n".join(texts))
    sent = []
    page.page.on("request", lambda one: sent.append(one) if "predict" in one.url else None)
    classify(page, 9)
    found = cells(page)
    assert [row[1].strip() for row in found] == [text.strip() for text in texts]
    answered = [i for i, row in enumerate(found) if row[2] != "–"]
    assert answered == [0, 2, 3, 5, 6, 7, 8]
    assert [found[i][2] for i in answered] == predictor.predict(
        [texts[i] for i in answered]
    ).tolist()
    assert found[4][4] == "not asked: too long"
    assert found[1][4] == "Not done: texts[0] is blank; expected a text."
    playwright.expect(page.page.locator("#state")).to_have_text("7 of 9 texts answered")
    bodies = [one.post_data_json["texts"] for one in sent]
    assert all(len(one.post_data_buffer) <= 260 for one in sent)
    assert max(map(len, bodies)) == 3
    assert [row[3] for row in downloaded(page)[1:]].count("") == 7


def test_many_texts_wait_for_a_busy_service_and_can_be_stopped(
    visit: Callable[..., Visit], make_running: Callable[..., Any]
) -> None:
    service = make_running(Limits(max_texts=2))
    page = visit(url=service.url)
    page.drawn(NEUTRAL_WORDS)
    open_many(page)
    page.page.locator("#lines").fill("good\nbad\nfilm")
    gate = service.server._service.gate
    gate.n_requests += gate.limits.max_pending
    page.page.get_by_role("button", name="Classify them").click()
    trouble = page.page.locator("#trouble")
    playwright.expect(trouble).to_contain_text("the service is busy")
    playwright.expect(page.page.locator("#lines")).to_be_disabled()
    gate.n_requests -= gate.limits.max_pending
    playwright.expect(page.page.locator("#state")).to_have_text("3 of 3 texts answered")
    playwright.expect(trouble).to_be_hidden()
    gate.n_requests += gate.limits.max_pending
    page.page.get_by_role("button", name="Classify them").click()
    playwright.expect(trouble).to_contain_text("the service is busy")
    page.page.get_by_role("button", name="Stop").click()
    playwright.expect(page.page.locator("#state")).to_have_text("0 of 3 texts answered")
    gate.n_requests -= gate.limits.max_pending
    assert [row[4] for row in cells(page)] == ["not asked: stopped"] * 3


def test_a_long_table_is_shown_in_parts(visit: Callable[..., Visit]) -> None:
    page = visit()
    open_many(page)
    give(page, "long.csv", "text;n\n" + "".join(f"good film {i};{i}\n" for i in range(5000)))
    classify(page, 5000)
    playwright.expect(page.page.locator("#state")).to_have_text("5,000 of 5,000 texts answered")
    rows = page.page.locator("#answers tbody tr")
    playwright.expect(rows).to_have_count(100)
    page.page.get_by_role("button", name="Show more: 100 of 5,000 are shown").click()
    playwright.expect(rows).to_have_count(200)
    head, *found = downloaded(page, ";")
    assert head == ["text", "n", "predicted", "confidence", "note"]
    assert [row[1] for row in found] == [str(i) for i in range(5000)]
    assert all(row[2] and 0 < float(row[3]) <= 1 for row in found)


def test_a_table_without_names(visit: Callable[..., Visit]) -> None:
    page = visit()
    open_many(page)
    give(page, "plain.csv", "good film,yes\nbad film,no\n,\nfine film,yes\n")
    playwright.expect(page.page.locator("#header")).not_to_be_checked()
    classify(page, 4)
    assert [row[1] for row in cells(page)] == ["good film", "bad film", "", "fine film"]
    assert downloaded(page)[0] == ["column 1", "column 2", "predicted", "confidence", "note"]


def test_a_pasted_table_is_seen_to_be_one(visit: Callable[..., Visit]) -> None:
    page = visit()
    open_many(page)
    lines, table = page.page.locator("#lines"), page.page.get_by_label("it is a table")
    column = page.page.get_by_label("Texts are in").locator("option:checked")

    def classified(*texts: str) -> None:
        """Wait until these are the texts with answers; white space counts as one blank."""
        page.page.get_by_role("button", name="Classify them").click()
        found = page.page.locator("#answers tbody tr td:nth-child(2)")
        playwright.expect(found).to_have_text([" ".join(text.split()) for text in texts])

    def pasted(text: str, *texts: str) -> None:
        lines.fill(text)
        classified(*texts)

    # What is clearly a table: a usual name above, or as many cells in each line.
    pasted('id,text\n1,"so, ""good""\nand bad"\n\n2,bad\n', 'so, "good"\nand bad', "bad")
    playwright.expect(table).to_be_checked()
    playwright.expect(column).to_have_text("text")
    pasted("good film;1\nbad film;2", "good film", "bad film")
    pasted("1\tgood film\n2\tbad film", "good film", "bad film")
    pasted("text\ngood\nbad", "good", "bad")
    pasted('"good\nfilm",1\n"bad",2', "good\nfilm", "bad")
    # What is not, or may be either: lines, until somebody says otherwise.
    pasted("good, bad\nfilm, plot", "good, bad", "film, plot")
    playwright.expect(table).not_to_be_checked()
    table.check()
    page.page.locator("#header").uncheck()
    page.page.get_by_label("Texts are in").select_option("1")
    classified("bad", "plot")
    pasted('"good film\nbad', '"good film', "bad")  # a quote that is never closed
    pasted("good\nbad", "good", "bad")
    playwright.expect(table).to_be_hidden()

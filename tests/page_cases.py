"""A page of the service that is open in a browser, and what is read off it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from adasent.explain.colours import CLASS_COLOURS

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright: pip install 'adasent[page]'"
)
playwright.expect.set_options(timeout=20_000)  # a machine may be busy with other tests

MAX_WORDS = 30  # that the usual service explains
NEUTRAL_WORDS = 12  # of the sentence of a model without examples
SENTENCE = "I am not happy"

# does not fit, or inside of the content of what scrolls.
CLIPPED = """() => [...document.querySelectorAll("body *")].filter((node) => {
  const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
  if (!own || !node.getClientRects().length || node.closest(".skip, .unseen, option")) return false;
  const range = document.createRange();
  range.selectNodeContents(node);
  let { left, right, top, bottom } = range.getBoundingClientRect();
  for (let around = node; around; around = around.parentElement) {
    const { overflowX, overflowY } = getComputedStyle(around);
    const box = around.getBoundingClientRect();
    const scrolls = overflowX === "auto" || overflowX === "scroll";
    const start = box.left - (scrolls ? around.scrollLeft : 0);
    const end = scrolls ? start + around.scrollWidth : box.right;
    if (overflowX !== "visible" && (left < start - 1 || right > end + 1)) return true;
    if (overflowY === "hidden" && (top < box.top - 1 || bottom > box.bottom + 1)) return true;
    if (scrolls) left = right = box.left;
  }
  return left < -1 || right > innerWidth + 1;
}).map((node) => node.textContent)"""

# Of every text that is shown: that its contrast with what is painted behind it is what WCAG asks
# for (AA: 4.5, or 3 where it is large). What is disabled or a picture is left out.
CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = ([r, g, b, a], below) => [r, g, b].map((one, i) => a * one + (1 - a) * below[i]);
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) {
      layers.push(rgba(getComputedStyle(at).backgroundColor));
    }
    return layers.reverse().reduce((below, layer) => over(layer, below), [255, 255, 255]);
  };
  const light = (colour) => colour.map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + [0.2126, 0.7152, 0.0722][i] * one, 0);
  let n = 0;
  const low = [...document.querySelectorAll("body *")].map((node) => {
    const own = [...node.childNodes].some((child) => child.nodeType === 3 && child.data.trim());
    if (!own || !node.getClientRects().length || node.disabled) return null;
    if (node.closest(".unseen, .skip, option, svg")) return null;
    n++;
    const style = getComputedStyle(node);
    const below = behind(node);
    const both = [light(over(rgba(style.color), below)), light(below)];
    const [dark, bright] = both.sort((a, b) => a - b);
    const contrast = (bright + 0.05) / (dark + 0.05);
    const size = parseFloat(style.fontSize);
    const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    return contrast < least ? `${contrast.toFixed(2)}: ${node.textContent}` : null;
  }).filter(Boolean);
  return [n, low];
}"""

# Controls that a screen reader would have nothing to say of.
NAMELESS = """() => [...document.querySelectorAll(
  "a, button, input, select, textarea, summary, [role=button]")]
  .filter((node) => node.getClientRects().length)
  .filter((node) => !(node.getAttribute("aria-label") ?? "").trim() && !node.textContent.trim()
    && ![...(node.labels ?? [])].some((label) => label.textContent.trim()))
  .map((node) => node.outerHTML)"""


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
        self.page.locator(".card textarea").nth(card).fill(text)
        self.drawn(len(text.split()), card)

    def drawn(self, n_words: int, card: int = 0) -> None:
        units = self.card(card).locator(".unit[data-level]")
        playwright.expect(units).to_have_count(n_words * (n_words + 1) // 2)

    def explanation(self, text: str) -> dict[str, Any]:
        """What the service says of a text, asked from outside the page."""
        answer = self.page.request.post(f"{self.url}/v1/explain", data={"texts": [text]})
        found: dict[str, Any] = answer.json()["explanations"][0]
        return found

    def card(self, which: int = 0) -> Any:
        return self.page.locator(".card").nth(which)

    def unit(self, level: int, index: int, card: int = 0) -> Any:
        return self.card(card).locator(f".unit[data-level='{level}'][data-index='{index}']")

    def wide(self) -> tuple[int, int]:
        """Width of the document and of the window."""
        width, window = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        return width, window

    def clipped(self) -> list[str]:
        """Texts that cannot be read to their end, nor be scrolled to."""
        found: list[str] = self.page.evaluate(CLIPPED)
        return found

    def low_contrast(self) -> list[str]:
        """Texts that are hard to read, with their contrast."""
        n_texts, found = self.page.evaluate(CONTRAST)
        assert n_texts > 20  # or nothing was looked at
        return list(found)

    def nameless(self) -> list[str]:
        """Controls without a name."""
        found: list[str] = self.page.evaluate(NAMELESS)
        return found


def number(text: str) -> float:
    """A figure of the page as a number."""
    return float(re.sub(r"[+ %,]", "", text.replace("−", "-")))


def colours(nodes: Any) -> list[str]:
    """The colours that elements are painted in."""
    found: list[str] = nodes.evaluate_all(
        "nodes => nodes.map((node) => getComputedStyle(node).getPropertyValue('--colour'))"
    )
    return found


def strengths(nodes: Any) -> list[str]:
    found: list[str] = nodes.evaluate_all(
        "nodes => nodes.map((node) => getComputedStyle(node).getPropertyValue('--strength'))"
    )
    return found


def adds_most_to(score: list[float]) -> str:
    return CLASS_COLOURS[score.index(max(score))]


def open_many(page: Visit) -> None:
    page.page.locator("#many > summary").click()


def classify(page: Visit, n_texts: int) -> None:
    page.page.get_by_role("button", name="Classify them").click()
    playwright.expect(page.page.locator("#state")).to_contain_text(f"of {n_texts:,} text")
    playwright.expect(page.page.locator("#answers")).to_be_visible()


def cells(page: Visit) -> list[list[str]]:
    rows = page.page.locator("#answers tbody tr")
    return [row.locator("td").all_inner_texts() for row in rows.all()]


def give(page: Visit, name: str, content: str | bytes) -> None:
    """Choose a file."""
    data = content.encode() if isinstance(content, str) else content
    page.page.locator("#file").set_input_files({"name": name, "mimeType": "", "buffer": data})
    playwright.expect(page.page.locator("#table legend")).to_have_text(name)


def downloaded(page: Visit, separator: str = ",") -> list[list[str]]:
    with page.page.expect_download() as waiting:
        page.page.get_by_role("button", name="Download as CSV").click()
    text = Path(waiting.value.path()).read_bytes().decode("utf-8")
    assert text.startswith("\ufeff")
    assert waiting.value.suggested_filename == "answers.csv"
    return list(csv.reader(io.StringIO(text[1:], newline=""), delimiter=separator))

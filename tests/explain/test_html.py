"""HTML that shows a text whatever is in it, and loads nothing."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from adasent import Predictor
from adasent.explain import Explanation, explain
from adasent.explain.html import MAX_DRAWN_WORDS, fragment, page

HOSTILE = '<script>alert("1")</script> <img src=x onerror=y> good & \U0001f600 "bad\' \ud800'


class Tags(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def test_markup_in_the_text_stays_text(predictor: Predictor) -> None:
    whole = page([explain(predictor, HOSTILE)])
    found = Tags(whole)
    assert not {"script", "img", "link", "iframe"} & set(found.tags)
    assert not {"onerror", "src", "href"} & set(found.attributes)
    assert HOSTILE.replace("\ud800", "\\ud800") in found.text
    assert "http" not in whole.replace("http-equiv", "")
    assert "default-src 'none'" in whole
    whole.encode("utf-8")


def test_labels_are_escaped(predictor: Predictor) -> None:
    values = explain(predictor, "good film").to_dict()
    values["classes"] = ["<b>neg</b>", "<b>pos</b>"]
    assert "<b>" not in fragment(Explanation.from_dict(values))


def test_notebooks_show_the_same(explanation: Explanation) -> None:
    shown = explanation._repr_html_()
    assert shown == fragment(explanation)
    found = Tags(shown)
    n = len(explanation.tokens)
    # A cell for each unit, and a bar for each belief.
    assert found.tags.count("rect") == n * (n + 1) // 2 + n
    assert explanation.verdict in found.text


def test_contrast_is_named(explanation: Explanation) -> None:
    assert "pos rather than neg" in Tags(fragment(explanation, "pos", "neg")).text


def test_a_cut_text_says_so(predictor: Predictor) -> None:
    with pytest.warns(UserWarning, match="cut there"):
        one = explain(predictor, "good film " * 20)
    assert "Only the first 30 of 40 words were read." in Tags(fragment(one)).text


def test_no_drawing_without_a_pyramid_or_of_a_long_text(explanation: Explanation) -> None:
    values = explanation.to_dict(pyramid=False)
    assert "svg" not in Tags(fragment(Explanation.from_dict(values))).tags
    assert len(explanation.tokens) < MAX_DRAWN_WORDS


def test_many_classes_and_no_phrase(explanation: Explanation) -> None:
    values = explanation.to_dict(pyramid=False)
    n = 15
    values["classes"] = [f"c{i}" for i in range(n)]
    for name in ("probabilities", "base"):
        values[name] += [0.0] * (n - 2)
    for name in ("level_probabilities", "words", "errors"):
        values[name] = [row + [0.0] * (n - 2) for row in values[name]]
    values["phrases"] = []
    found = Tags(fragment(Explanation.from_dict(values)))
    assert "and 3 less probable" in found.text
    assert "none stands out" in found.text

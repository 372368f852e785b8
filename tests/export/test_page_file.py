"""What is written as a page in one file, and what is refused; without a browser."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import adasent
from adasent.errors import ConfigError
from adasent.estimators.counts import MNBClassifier
from adasent.export import page_file
from adasent.export.page_file import export_page
from adasent.saving.word_table import WordTable
from adasent.text.encoder import TextEncoder
from adasent.text.vocabulary import Vocabulary
from network_pairs import WORDS, Pair


class Scripts(HTMLParser):
    """The scripts and styles of a page as a browser finds them, and every address in it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[dict[str, str | None], str]] = []
        self.addresses: list[str] = []
        self._open: dict[str, str | None] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [value or "" for name, value in attrs if name in ("src", "href")]
        if tag in ("script", "style"):
            self.found.append((dict(attrs) | {"tag": tag}, ""))
            self._open = self.found[-1][0]

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.found[-1] = (self._open, self.found[-1][1] + data)

    def held(self, name: str) -> str:
        return next(content for attributes, content in self.found if attributes.get("id") == name)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Pair().save(tmp_path_factory.mktemp("page") / "reviews")


def test_the_same_model_gives_the_same_bytes(folder: Path, tmp_path: Path) -> None:
    one = export_page(folder, tmp_path / "one.html")
    other = export_page(adasent.load(folder), tmp_path / "other.html", name="reviews")
    assert one.read_bytes() == other.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"one.html", "other.html"}


def test_the_policy_names_the_script_and_the_style_of_the_page(
    folder: Path, tmp_path: Path
) -> None:
    html = export_page(folder, tmp_path / "page.html").read_text("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="(.*?)">', html)[1]  # type: ignore[index]
    page = Scripts(html)
    run = [
        content
        for attributes, content in page.found
        if attributes.get("type") == "module" or attributes["tag"] == "style"
    ]
    assert len(run) == 2
    for content in run:
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe" not in policy
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    assert html.index("Content-Security-Policy") < html.index("<title>")


def test_strings_of_the_model_cannot_end_a_script(tmp_path: Path) -> None:
    folder = Pair().save(tmp_path / "model")
    words = json.loads((folder / "vocabulary.json").read_text())
    words[3] = "</script><!--"
    (folder / "vocabulary.json").write_text(json.dumps(words))
    page = Scripts(export_page(folder, tmp_path / "page.html").read_text("utf-8"))
    assert json.loads(page.held("held-model"))["vocabulary"] == words


def test_the_first_words_alone(folder: Path, tmp_path: Path) -> None:
    whole = export_page(folder, tmp_path / "whole.html")
    for n, expected in {3: WORDS[:3], 8: WORDS[:8], 1000: WORDS}.items():
        path = export_page(folder, tmp_path / f"{n}.html", words=n)
        page = Scripts(path.read_text("utf-8"))
        assert json.loads(page.held("held-model"))["vocabulary"][2:] == expected
        assert json.loads(page.held("held-known"))["n_vocabulary"] == len(expected) + 2
    assert path.read_bytes() == whole.read_bytes()
    with pytest.raises(ConfigError, match="words: expected 1 or more, got 0"):
        export_page(folder, tmp_path / "none.html", words=0)


def test_a_model_that_is_too_large_is_refused_with_what_would_fit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "page.html"
    fits = export_page(folder, path, words=4).stat().st_size
    monkeypatch.setattr(page_file, "MOST_BYTES", fits)
    with pytest.raises(ConfigError, match=r"at most 0 MB.* with --words 4 or words=4"):
        export_page(folder, path)
    assert path.stat().st_size == fits
    # A table that cannot fit is not written to see that.
    wide = np.zeros((30_000, 60), dtype=np.float32)
    model = adasent.load(folder)
    model.network.table = WordTable.wide(wide, wide[:0])
    vocabulary = Vocabulary(f"word{i}" for i in range(len(wide) - 2))
    model.encoder = TextEncoder(model.encoder.tokenizer, vocabulary, 30)
    monkeypatch.setattr(page_file, "MOST_BYTES", 2 * fits)
    with pytest.raises(ConfigError, match=r"takes at least 4\.8 MB: .*--words \d+ or"):
        export_page(model, path)
    monkeypatch.setattr(page_file, "MOST_BYTES", 1000)
    with pytest.raises(ConfigError, match="train it smaller: hidden_size, gate_groups"):
        export_page(folder, path)


def test_other_models_are_refused(
    folder: Path, tmp_path: Path, reviews: tuple[list[str], list[str]]
) -> None:
    path = tmp_path / "page.html"
    MNBClassifier().fit(*reviews).save(tmp_path / "mnb")
    with pytest.raises(ConfigError, match="holds one of mnb"):
        export_page(tmp_path / "mnb", path)
    own = Pair().save(tmp_path / "own", "custom")
    for model in (own, adasent.load(own, tokenizer=str.split)):
        with pytest.raises(ConfigError, match="a tokenizer of its own, which a page cannot run"):
            export_page(model, path)
    on_encoder = adasent.load(folder)
    on_encoder.encoder = SimpleNamespace(contextual=True)  # type: ignore[assignment]
    with pytest.raises(ConfigError, match="stands on an encoder, which is not exported"):
        export_page(on_encoder, path)
    assert not path.exists()

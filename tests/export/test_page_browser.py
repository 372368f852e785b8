"""A page in one file says in Chromium, without a network, what Python says."""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import adasent
from adasent.errors import AdaSentError
from adasent.estimators.predictor import Predictor
from adasent.export import page_file
from adasent.export.bundle import bundle
from adasent.export.page_file import export_page
from adasent.saving.word_table import WordTable
from adasent.text.offsets import token_offsets
from adasent.text.tokenize import TOKENIZERS
from network_pairs import WORDS, Pair

playwright = pytest.importorskip(
    "playwright.sync_api", reason="needs Playwright: pip install 'adasent[page]'"
)
from page_file_cases import OpenFile, check_explanation, check_predictions  # noqa: E402

PAGE = Path(page_file.__file__).parent / "page"

pytestmark = pytest.mark.filterwarnings("ignore:of .* text")

ODD = [
    "", " \t\n", "\x00", "a\x00good", "bad\x1cfilm\x85the\u2028plot\ufeffcast",
    "I'M NOT; don't can’t 'S n't N'T 'twas rock'n'roll the'",
    "Ⓐⓐ …… ... --- !!! ((a))", "Ⅷ ①② ٣ ½", "İstanbul ΟΔΟΣ ΑΣΑ ſ'ſ don'ſ",
    "e\u0301\u0302 a\u0345 \u0301a",
    "क्षि ক্ষ না\u200dম",
    "日本語のテスト。カタ・カナ", "👍🏽👨‍👩‍👧 🇩🇪🇫 ❤️ ©️ 🏴\U000e0067\U000e007f ☺",
    "\ufffd \U0001f1e6",
    "a_b __ ___ snake_case", "<pad> <unk> good", "<b>bad</b> & \"film\"", "the plot was " * 20,
    "x" * 3000, "`a` 'b' it's they'll GOOD'VE",
]  # fmt: skip


@pytest.fixture
def open_file(browser: Any) -> Iterator[Callable[..., OpenFile]]:
    opened: list[OpenFile] = []

    def make(path: Path, **context: Any) -> OpenFile:
        opened.append(OpenFile(browser, path, **context))
        return opened[-1]

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def open_model(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> Callable[..., tuple[OpenFile, Predictor]]:
    """A random model, exported and open; and the same in Python."""

    def make(tokenizer: str = "words", **settings: Any) -> tuple[OpenFile, Predictor]:
        folder = Pair(**settings).save(tmp_path / "model", tokenizer)
        return open_file(export_page(folder, tmp_path / "page.html")), adasent.load(folder)

    return make


def some_texts(n: int, most: int = 12) -> list[str]:
    """Of known and unknown words; some are cut at 30 words."""
    rng = random.Random(n)
    words = [*WORDS, "zzz", "don't", "(good)", "BAD"]
    lengths = [*range(1, most + 1), 29, 30, 31, 45]
    return [" ".join(rng.choices(words, k=rng.choice(lengths))) for _ in range(n)]


def test_two_hundred_texts_of_the_starter(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> None:
    model = adasent.load("starter")
    path = export_page("starter", tmp_path / "starter.html")
    assert path.stat().st_size < 12e6
    opened = open_file(path)
    rng = random.Random(0)
    words = [word for word in model.encoder.vocabulary.words[2:] if word.isalpha()]
    texts = [" ".join(rng.choices(words, k=rng.randint(1, 30))) for _ in range(200 - len(ODD))]
    check_predictions(opened, model, ODD + texts)
    for found in opened.explain(
        ["a film that is not bad at all .", " ".join(words[:12]), *ODD[4:6]]
    ):
        check_explanation(found, model)
    kept = [one["text"] for one in model.training_["examples"]]
    expected = [one.verdict for one in model.explain(kept)]
    assert [one["verdict"] for one in opened.explain(kept)] == expected
    for said in ("speaks against", "speak against", "mostly because", "no phrase speaks clearly"):
        assert any(said in verdict for verdict in expected)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pooling": "mean", "activation": "relu", "hidden_size": 6, "gate_groups": 2},
        {"local_gate": "mlp", "level_gate": "mlp", "hidden_size": 6, "gate_groups": 3},
        {"level_norm": False, "classifier_size": 0, "hidden_size": 6, "gate_groups": 6},
        {"max_height": 3, "multilabel": True, "n_classes": 6},
        {"max_height": 1, "n_classes": 1},
        {"multilabel": True, "classifier_size": 0, "activation": "relu"},
    ],
    ids=str,
)
def test_every_option_of_a_network(
    open_model: Callable[..., tuple[OpenFile, Predictor]], settings: dict[str, Any]
) -> None:
    opened, model = open_model(**settings)
    check_predictions(opened, model, [*some_texts(60), *ODD])
    long = [" ".join(random.Random(n).choices(WORDS, k=n)) for n in (11, 20, 34, 60)]
    for found in opened.explain(["zzz", "good", "not a bad film", *some_texts(4, 10), *long]):
        check_explanation(found, model)


def test_the_page_finds_the_tokens_of_python(
    open_model: Callable[..., tuple[OpenFile, Predictor]],
) -> None:
    rng = random.Random(1)
    pieces = [*"aNnTtsSdKé'’`(!,.ſİΣ\u0301\u0345\u200c\u200d\U0001f1e6👍🏽ー漢\x1c\x85 _1Ⅷ½"]
    pieces += ["n't", "'re", "'LL"]
    texts = ["".join(rng.choices(pieces, k=12)) for _ in range(800)]
    # Any character, with something that it may cling to; what is none to Python's Unicode may be a
    # capital letter to the browser's.
    points = [one for one in range(0x110000) if unicodedata.category(chr(one)) not in ("Cn", "Cs")]
    texts += [f"a{''.join(f'{chr(one)}b' for one in rng.sample(points, 9))}'s" for _ in range(800)]
    opened, _ = open_model()
    script = bundle("tokens.js", [PAGE], module=False)
    for name, tokenize in TOKENIZERS.items():
        found = opened.page.evaluate(
            f"""([name, texts]) => {{
              {script}
              const model = JSON.parse(document.getElementById("held-model").textContent);
              const tokenizer = module_tokens.tokenizer(name, model.unicode);
              const found = texts.map((text) => tokenizer.read(text));
              return JSON.stringify(found.map(({{ tokens, spans }}) => [tokens, spans]));
            }}""",
            [name, [*ODD, *texts]],
        )
        for text, (tokens, spans) in zip([*ODD, *texts], json.loads(found), strict=True):
            assert tokens == tokenize(text), ascii(text)
            offsets = token_offsets(text, tokens, tokenize)
            assert [tuple(span) for span in spans] == [*offsets], ascii(text)


def test_word_vectors_are_read_as_they_are_saved(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> None:
    pair = Pair()
    # From the smallest halves up to the largest that is finite.
    bits = np.append([0, 1, 2, 511, 1023], np.linspace(0x400, 0x7BFF, 15)).astype(np.uint16)
    halves = np.concatenate([bits, bits | 0x8000]).view(np.float16).astype(np.float32)
    fixed = pair.table.fixed * np.float32(3)
    pair.table = WordTable.wide(halves.reshape(8, 5), fixed)
    folder = pair.save(tmp_path / "model")
    opened = open_file(export_page(folder, tmp_path / "page.html"))
    rows = opened.page.evaluate(
        f"""() => {{
          {bundle("weights.js", [PAGE], module=False)}
          const held = document.getElementById("held-weights").textContent;
          const table = new module_weights.WordTable(module_weights.readTensors(held));
          return [...Array(12).keys()].map((id) => Array.from(table.row(id)));
        }}"""
    )
    table = adasent.load(folder).network.table
    assert isinstance(table, WordTable)
    assert table.trained.dtype == np.float16
    np.testing.assert_array_equal(np.array(rows, dtype=np.float32), table.rows(np.arange(12)))


def test_a_long_text_is_predicted_and_not_explained(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> None:
    folder = Pair(gate_groups=7).save(tmp_path / "model")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"max_words": 130}))
    model = adasent.load(folder)
    opened = open_file(export_page(folder, tmp_path / "page.html"))
    text = " ".join(random.Random(0).choices(WORDS, k=150))
    check_predictions(opened, model, [text])
    (refused,) = opened.explain([text])
    assert refused["status"] == 413
    opened.page.locator(".card textarea").fill(text)
    hint = "The answer alone: this text has 150 words, and reasons are given for up to 100."
    playwright.expect(opened.page.locator(".card .message")).to_have_text(hint)


def test_a_network_that_overflows_says_so(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> None:
    pair = Pair()
    for name in ("classifier.hidden.weight", "classifier.out.weight"):
        pair.tensors[name] = pair.tensors[name] * np.float32(1e37)
    folder = pair.save(tmp_path / "model")
    with pytest.raises(AdaSentError, match="the network overflows on these texts"):
        adasent.load(folder).predict(["a good film"])
    opened = open_file(export_page(folder, tmp_path / "page.html"))
    for kind, value in (("predict", ["a good film"]), ("explain", "a good film")):
        (refused,) = opened.ask(kind, [value])
        assert "the network overflows on this text" in refused["message"]
    note = "Not done: the network overflows on this text: its weights are too large."
    playwright.expect(opened.page.locator(".card .message")).to_have_text(note)


def test_the_page_is_that_of_the_service(
    open_model: Callable[..., tuple[OpenFile, Predictor]],
) -> None:
    opened, model = open_model()
    page = opened.page
    page.locator(".card textarea").fill("a dull film and the plot was bad")
    playwright.expect(page.locator(".unit[data-level]")).to_have_count(36)
    explained = model.explain("a dull film and the plot was bad")
    playwright.expect(page.locator(".verdict")).to_have_text(explained.verdict)
    # What a service alone can do is not offered.
    assert page.locator("nav a").count() == 0
    assert not page.locator(".feedback").is_visible()
    # The sentence is in the address, and a reload brings it back.
    playwright.expect(page).to_have_url(re.compile("#a=a\\+dull"))
    page.reload()
    playwright.expect(page.locator(".verdict")).to_have_text(explained.verdict)
    page.get_by_role("button", name="Compare with a second sentence").click()
    playwright.expect(page.locator("#difference")).to_be_visible()
    page.locator("#help > summary").click()
    page.locator("#more-help > summary").click()
    playwright.expect(page.locator("#prior tbody tr")).to_have_count(3)


def test_many_texts_at_once(
    open_model: Callable[..., tuple[OpenFile, Predictor]], tmp_path: Path
) -> None:
    opened, model = open_model()
    texts = [text for text in some_texts(250) if text.strip()]
    page = opened.page
    page.locator("#many > summary").click()
    page.locator("#lines").fill("\n".join(texts))
    page.get_by_role("button", name="Classify them").click()
    playwright.expect(page.locator("#state")).to_have_text("250 of 250 texts answered")
    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    path = tmp_path / "answers.csv"
    download.value.save_as(path)
    rows = path.read_text("utf-8-sig").splitlines()[1:]
    assert [row.split(",")[-3] for row in rows if row.count(",") == 3] == [
        label
        for label, text in zip(model.predict(texts).tolist(), texts, strict=True)
        if "," not in text
    ]


def test_what_a_model_brings_is_text(open_file: Callable[..., OpenFile], tmp_path: Path) -> None:
    evil = [
        "</script><script>document.title = 1</script>",
        "<!-- <script>",
        "<img src=x onerror=1>",
    ]
    folder = Pair().save(tmp_path / "model")
    config, words, training = (
        json.loads((folder / name).read_text())
        for name in ("config.json", "vocabulary.json", "training.json")
    )
    config["labels"]["values"] = evil
    words[2:5] = [*evil[:2], "\ud800"]
    training["examples"] = [{"text": f"good {evil[0]}", "label": evil[0]}]
    for name, value in {
        "config.json": config, "vocabulary.json": words, "training.json": training
    }.items():  # fmt: skip
        (folder / name).write_text(json.dumps(value))
    path = export_page(folder, tmp_path / "page.html", name=evil[2])
    opened = open_file(path)
    playwright.expect(opened.page.locator(".verdict strong")).to_have_count(1)
    assert opened.page.locator("#model").inner_text().startswith(evil[2])
    assert opened.page.title() == f"{evil[2]} – adasent"
    names = opened.page.locator(".card .classes .name").all_inner_texts()
    assert names == evil
    assert opened.page.locator("img").count() == 1  # the page's own
    check_predictions(opened, adasent.load(folder), [f"a {evil[0]} film", evil[1]])


def test_nothing_leaves_the_page(open_model: Callable[..., tuple[OpenFile, Predictor]]) -> None:
    opened, _ = open_model()
    policy = opened.page.locator("meta[http-equiv]").get_attribute("content")
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    tried = opened.page.evaluate(
        """async () => {
          const blocked = [];
          const listen = ({ effectiveDirective: one }) => blocked.push(one);
          document.addEventListener("securitypolicyviolation", listen);
          await fetch("https://example.org/").catch(() => null);
          const image = document.createElement("img");
          image.src = "https://example.org/x.png";
          document.body.append(image);
          const script = document.createElement("script");
          script.textContent = "window.ran = true";
          document.body.append(script);
          await new Promise((resolve) => setTimeout(resolve, 50));
          return [blocked.sort(), window.ran ?? false];
        }"""
    )
    assert tried == [["connect-src", "img-src", "script-src-elem"], False]
    assert len(opened.complaints) >= 3  # which the browser also says of each
    opened.complaints.clear()
    opened.requests[:] = [url for url in opened.requests if "example.org" not in url]
    assert np.isfinite(opened.predict(["a good film"])[0]["probabilities"]).all()


def test_work_that_nobody_waits_for_is_given_up(
    open_file: Callable[..., OpenFile], tmp_path: Path
) -> None:
    opened = open_file(export_page("starter", tmp_path / "starter.html"))
    answered = opened.page.evaluate(
        """async () => {
          const held = (id) => document.getElementById(id).textContent;
          const worker = new Worker(URL.createObjectURL(new Blob([held("held-worker")])));
          worker.postMessage({ model: held("held-model"), weights: held("held-weights") });
          const order = [];
          const last = new Promise((resolve) => {
            worker.onmessage = ({ data }) => {
              order.push(data.id);
              if (data.id === 3) resolve();
            };
          });
          // The first takes many slices; what comes after the second asks no less.
          const value = "a film that is good and bad , ".repeat(4);
          worker.postMessage({ id: 1, kind: "explain", value });
          worker.postMessage({ cancel: 1 });
          worker.postMessage({ id: 2, kind: "explain", value: "good" });
          worker.postMessage({ id: 3, kind: "explain", value: value.replaceAll("film", "plot") });
          await last;
          return order;
        }"""
    )
    assert answered == [2, 3]

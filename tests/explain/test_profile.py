"""The profile of a corpus: sums, tables, files, and the answer about word order."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from adasent import Predictor
from adasent.errors import DataError
from adasent.explain import profile as profiles
from adasent.explain.profile import BANDS, Order, Profile, profile, word_order

N_BANDS = len(BANDS)


@pytest.fixture(scope="module")
def found(predictor: Predictor) -> Profile:
    texts = ["the film was good", "a dull plot", "a fine cast and the plot", "the cast was awful"]
    labels = ["pos", "neg", "pos", "neg"]
    return profile(predictor, [*texts * 10, "film"], [*labels * 10, "unheard of"], "reviews")


def test_every_text_is_counted_once(found: Profile) -> None:
    columns, rows = found.tables["scales"]
    assert rows[-1][0] == "all"
    assert rows[-1][columns.index("texts")] == found.n == 41
    assert sum(row[1] for row in rows[:-1]) == 41
    assert sum(row[1] for row in found.tables["lengths"][1]) == 41
    outcomes = {row[0]: row for row in found.tables["outcomes"][1]}
    assert outcomes["right"][1] + outcomes["wrong"][1] == 41
    assert (outcomes["right"][2], outcomes["wrong"][2]) == (1.0, 0.0)


def test_shares_sum_to_one(found: Profile) -> None:
    for name in ("scales", "outcomes"):
        for row in found.tables[name][1]:
            assert sum(row[5 : 5 + N_BANDS]) == pytest.approx(1)
            assert sum(row[5 + N_BANDS :]) == pytest.approx(1)
            assert row[5 + N_BANDS] > 0  # some texts are decided by a single word
    for row in found.tables["lengths"][1]:
        assert sum(row[4:]) == pytest.approx(1)


def test_deciding_phrases_are_those_that_tell_the_classes_apart(found: Profile) -> None:
    columns, rows = found.tables["phrases"]
    assert columns[:4] == ("words", "class", "phrase", "texts")
    assert rows[0][1:3] in (("neg", "awful"), ("neg", "dull"), ("pos", "good"), ("pos", "fine"))
    assert all(len(row[2].split()) == row[0] for row in rows)
    assert sum(row[3] for row in rows) <= found.n


def test_phrases_of_one_text_fill_up_a_short_list_only(predictor: Predictor) -> None:
    found = profile(predictor, ["good"] * 2 + ["fine", "awful", "dull", "film"], ["pos"] * 6)
    rows = found.tables["phrases"][1]
    assert [row[3] for row in rows] == [2, 1, 1]


def test_chunks_change_nothing(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = ["a good film", "the plot was awful", "dull", "a fine cast and the plot", "a film"]
    labels = ["pos", "neg", "neg", "pos", "pos"]
    whole = profile(predictor, texts, labels)
    monkeypatch.setattr(profiles, "CHUNK_TEXTS", 3)
    for name, (_, rows) in profile(predictor, texts, labels).tables.items():
        for row, other in zip(rows, whole.tables[name][1], strict=True):
            if name == "phrases":
                assert row[:4] == other[:4]
                continue
            # Units are float32, and rows of a product are rounded by their position.
            numbers = [value for value in other if not isinstance(value, str)]
            found = [value for value in row if not isinstance(value, str)]
            assert found == pytest.approx(numbers, rel=1e-4, abs=1e-5)


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.02, 0.05, "Yes"),
        (-0.01, 0.005, "Hardly"),
        (0.005, 0.03, "A little; how much"),
        (0, 0.03, "These texts do not settle it"),
    ],
)
def test_the_answer_about_word_order(low: float, high: float, verdict: str) -> None:
    answer = Order(0.8, 0.8 - (low + high) / 2, low, high, 0.1).answer
    assert answer.startswith(f"Does the task need word order? {verdict}")
    assert "accuracy goes from 80.0%" in answer
    assert f"interval {0 - 100 * high:+.1f} to {0 - 100 * low:+.1f})" in answer
    assert "10.0% of the labels change" in answer


def test_texts_of_one_word_lose_nothing_when_shuffled(predictor: Predictor) -> None:
    order = word_order(predictor, ["good", "awful"], ["pos", "neg"])
    assert (order.shuffled, order.low, order.high, order.changed) == (order.accuracy, 0, 0, 0)
    assert word_order(predictor, ["good"], ["pos"]).high == float("inf")


def test_files(found: Profile, tmp_path: Path) -> None:
    written = found.write(tmp_path / "new")
    names = [
        "profile.html",
        "scales.csv",
        "outcomes.csv",
        "lengths.csv",
        "phrases.csv",
        "order.csv",
    ]
    assert [path.name for path in written] == names
    with (tmp_path / "new" / "scales.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0][:3] == ["class", "texts", "accuracy"]
    assert rows[-1][:2] == ["all", "41"]
    page = written[0].read_text(encoding="utf-8")
    assert "Does the task need word order?" in page
    assert page.count("<table>") == 4


def test_markup_in_names_and_phrases_stays_text(found: Profile) -> None:
    row = (1, "<i>", "<script>", 1, 0.5)
    phrases = (found.tables["phrases"][0], [row])
    shown = Profile("<b>", 1, found.order, {"phrases": phrases}).to_html()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert "<i>" not in shown


def test_nothing_to_profile_is_refused(predictor: Predictor) -> None:
    with pytest.raises(DataError, match="at least one text"):
        profile(predictor, [], [])
    with pytest.raises(DataError, match="a label for each, got 1 and 2"):
        profile(predictor, ["a"], ["pos", "neg"])

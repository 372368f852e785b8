"""Each note comes where its rule holds, and not a step before."""

from __future__ import annotations

from typing import Any

from adasent.evaluation import advice
from adasent.evaluation.metrics import Report, score_predictions
from adasent.text.cutting import Cut

PLAIN: dict[str, Any] = {"class_weight": None, "metric": "accuracy"}


def report(true: str, predicted: str) -> Report:
    return score_predictions(list(true), list(predicted), list("abc"))


def test_never_predicted() -> None:
    (note,) = advice.never_predicted(report("aabc", "aaaa"), PLAIN)
    assert note.title == "never predicted"
    assert note.text.startswith("b (1 text), c (1 text); --set class_weight=balanced")
    assert "--set metric=macro_f1" in note.text
    assert advice.never_predicted(report("aab", "aab"), PLAIN) == []  # no text of c either
    assert advice.never_predicted(report("aab", "aac"), PLAIN) != []


def test_many_never_predicted_are_counted() -> None:
    labels = [f"class {i}" for i in range(9)]
    (note,) = advice.never_predicted(score_predictions(labels, ["class 0"] * 9))
    assert "class 1 (1 text), class 2 (1 text), class 3 (1 text) and 5 more" in note.text
    assert "--set" not in note.text  # nothing is known of how it was trained


def test_what_was_done_is_not_advised() -> None:
    done = {"class_weight": "balanced", "metric": "macro_f1"}
    (note,) = advice.never_predicted(report("aab", "aaa"), done)
    assert note.text == "b (1 text); more texts of the small ones would help"
    half = {"class_weight": "balanced", "metric": "accuracy"}
    (note,) = advice.never_predicted(report("aab", "aaa"), half)
    assert "class_weight" not in note.text
    assert "macro_f1" in note.text


def test_imbalance_from_ten_to_one() -> None:
    (note,) = advice.imbalance("a" * 10 + "b", PLAIN)
    assert note.text.startswith("10 texts of a, 1 of b; ")
    assert advice.imbalance("a" * 19 + "bb", PLAIN) == []
    assert advice.imbalance("a" * 10 + "b", PLAIN | {"class_weight": "balanced"}) == []
    assert advice.imbalance("aaaa", PLAIN) == []
    (note,) = advice.imbalance("a" * 10 + "b", PLAIN, remedy=False)
    assert note.text.endswith("macro F1 more")


def test_too_few_to_trust() -> None:
    """Wilson's interval of 90 % right: 100 texts tell it to 6 points, 200 to 4."""
    few = score_predictions(["a"] * 100, ["a"] * 90 + ["b"] * 10)
    (note,) = advice.too_few(few, "validation", "do this")
    assert note.text == (
        "100 texts in the validation part: the accuracy of such texts is somewhere from 0.83 to "
        "0.94; do this"
    )
    assert advice.too_few(score_predictions(["a"] * 200, ["a"] * 180 + ["b"] * 20), "", "") == []


def test_long_texts() -> None:
    def said(**more: Any) -> list[advice.Note]:
        cut = Cut(2000, 0, 1000, 0, 0.4, 500)._replace(**more)
        return advice.long_texts({"cut": cut._asdict(), "n_texts": 50}, has_height=True)

    assert said() == []
    (note,) = said(share=0.7)
    assert note.text == (
        "the longest 5% take 70% of the work; --set max_words=N cuts them, --set max_height=N "
        "bounds the phrases"
    )
    assert said(share=0.7, longest=100) == []  # a quick training all the same
    (note,) = said(n_texts=2, n_lost=100)
    assert note.text.startswith("2 of 50 cut after 2,000 words, 10.0% of all words not read")

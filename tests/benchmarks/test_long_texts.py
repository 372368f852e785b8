"""Tables of long texts from made-up rows, and the work that is timed."""

from __future__ import annotations

import pytest

from benchmarks.long_texts import WORK, Texts, length_table, reviews_table
from benchmarks.records import Result, Row, Shape, environment, row


def made(name: str, *results: Result) -> list[Row]:
    where = environment(1)
    return [row(name, result, where) for result in results]


def test_a_line_for_each_training() -> None:
    values = {"accuracy %": 81.25, "training, s": 1234.0, "texts/s": 567.0, "MB": 89.0}
    rows = made("reviews", *(Result("height 8", unit, [v]) for unit, v in values.items()))
    assert reviews_table(rows).splitlines()[2] == "| height 8 | 81.2 | 1,230 | 567 | 89 |"


def test_the_exponent_is_judged() -> None:
    rows = made(
        "length",
        Result("prediction, height 8", "s", [0.001], Shape(longest=100)),
        Result("prediction, height 8", "s", [0.002], Shape(longest=200)),
        Result("prediction, height 8", "exponent", [1.0, 1.0, 1.2]),
        Result("training step, height 8", "s", [0.01], Shape(longest=100)),
        Result("training step, height 8", "s", [0.04], Shape(longest=200)),
        Result("training step, height 8", "exponent", [2.0]),
        Result("a step", "MB", [7.0], Shape(longest=200)),
    )
    head, _, first, second, third = length_table(rows).splitlines()
    assert head == "|  | 100 words | 200 words | exponent | at most 1.1 |"
    assert first == "| prediction, height 8, ms | 1 | 2 | 1 (1 to 1.12) | yes |"
    assert second == "| training step, height 8, ms | 10 | 40 | 2 | no |"
    assert third == "| a step, MB |  | 7 |  |  |"


@pytest.mark.parametrize("what", WORK)
def test_the_work_runs(what: str) -> None:
    texts = Texts(30, 4, 60)
    assert (texts.n_texts, texts.count(what)) == (2, 1 if what.endswith("JSON") else 2)
    texts.run(what)

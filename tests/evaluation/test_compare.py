"""Two and three models on the same texts."""

from __future__ import annotations

import json

import pytest

from adasent.errors import DataError
from adasent.evaluation.compare import side_by_side
from adasent.evaluation.significance import compare


def test_by_hand() -> None:
    labels = list("aabb")
    found = side_by_side(labels, {"one": list("aabb"), "two": list("abba"), "three": list("bbbb")})
    assert {name: report.accuracy for name, report in found.reports.items()} == {
        "one": 1.0,
        "two": 0.5,
        "three": 0.5,
    }
    assert found.alone == {"one": [1], "two": [], "three": []}
    assert (found.n_all_right, found.n_none_right) == (1, 0)
    first = found.pairs[0]
    assert (first.first, first.second, first.agreement) == ("one", "two", 0.5)
    assert first.tests == compare([True] * 4, [True, False, True, False])
    assert [(pair.first, pair.second) for pair in found.pairs[1:]] == [
        ("one", "three"),
        ("two", "three"),
    ]
    values = json.loads(json.dumps(first.to_dict()))
    assert values["tests"]["mcnemar"]["n_first"] == 2
    assert values["supported"] is False


def test_a_clear_difference_is_supported() -> None:
    labels = ["a"] * 100
    found = side_by_side(labels, {"good": ["a"] * 100, "bad": ["a"] * 60 + ["b"] * 40})
    assert found.pairs[0].tests.supported


def test_one_model_is_not_compared() -> None:
    with pytest.raises(DataError, match="at least two"):
        side_by_side(["a"], {"one": ["a"]})

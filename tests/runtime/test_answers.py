"""Probabilities become the most probable label, or all labels that reach their thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError
from adasent.runtime.answers import exactly_right, labels_of

CLASSES = np.array(["joy", "sad", "😡"])
FOUND = np.array([[0.9, 0.5, 0.1], [0.2, 0.3, 0.1]])
OWN = np.array([0.5, 0.5, 0.05])


def test_one_label_a_text_is_the_most_probable() -> None:
    assert labels_of(FOUND, CLASSES, None).tolist() == ["joy", "sad"]
    with pytest.raises(ConfigError, match="one label"):
        labels_of(FOUND, CLASSES, None, 0.5)


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        (None, [("joy", "sad", "😡"), ("😡",)]),  # a probability that is the threshold reaches it
        (0.3, [("joy", "sad"), ("sad",)]),
        ({"😡": 0.5}, [("joy", "sad"), ()]),
        ([1, 0.2, 1], [("sad",), ("sad",)]),
    ],
)
def test_several_labels_are_those_that_reach_their_thresholds(chosen: Any, expected: Any) -> None:
    found = labels_of(FOUND, CLASSES, OWN, chosen)
    assert found.tolist() == expected
    assert found.shape == (2,)
    assert OWN.tolist() == [0.5, 0.5, 0.05]  # not changed by what was chosen


@pytest.mark.parametrize("chosen", [{"glad": 0.5}, 1.5, [0.5, 0.5], float("nan")])
def test_other_thresholds_are_refused(chosen: Any) -> None:
    with pytest.raises(ConfigError, match="thresholds"):
        labels_of(FOUND, CLASSES, OWN, chosen)


def test_a_text_is_right_if_all_its_labels_are() -> None:
    found = labels_of(FOUND, CLASSES, OWN)
    assert exactly_right(found, [["😡", "sad", "joy"], ["sad"]], CLASSES).tolist() == [True, False]
    matrix = np.array([[1, 1, 0], [0, 0, 1]])
    assert exactly_right(found, matrix, CLASSES).tolist() == [False, True]
    with pytest.raises(DataError, match="list of labels"):
        exactly_right(found, ["joy", "sad"], CLASSES)
    with pytest.raises(DataError, match="got 2 texts"):
        exactly_right(found, [["joy"]], CLASSES)

"""Stated probabilities against labels."""

from __future__ import annotations

import json

import numpy as np
import pytest

from adasent.errors import DataError
from adasent.evaluation.reliability import judge

SAID = np.array([[0.9, 0.1], [0.2, 0.8], [0.7, 0.3]])


def test_by_hand() -> None:
    found = judge(SAID, ["a", "b"], ["a", "a", "a"])
    assert (found.n, found.accuracy, found.confidence) == (
        3,
        pytest.approx(2 / 3),
        pytest.approx(0.8),
    )
    assert found.log_loss == pytest.approx(-np.log([0.9, 0.2, 0.7]).mean())
    # Each in a bin of its own: |0.9 - 1|, |0.8 - 0|, |0.7 - 1|.
    assert found.calibration_error == pytest.approx((0.1 + 0.8 + 0.3) / 3)
    assert sum(one.n for one in found.bins) == 3
    kept = {one.least: (one.n, one.accuracy) for one in found.coverage}
    assert kept[0.5] == kept[0.7] == (3, pytest.approx(2 / 3))
    assert (kept[0.8], kept[0.9], kept[0.95]) == ((2, 0.5), (1, 1.0), (0, None))
    assert json.loads(json.dumps(found.to_dict()))["bins"][13]["n"] == 1


def test_labels_that_the_model_does_not_know_are_errors() -> None:
    found = judge(SAID, ["a", "b"], ["a", "c", "a"])
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.log_loss is None


def test_labels_of_any_type_and_one_class() -> None:
    assert judge(SAID, [True, 3], [True, 3, True]).accuracy == 1
    assert judge(np.ones((2, 1)), ["a"], ["a", "a"]).log_loss == 0


@pytest.mark.parametrize("labels", [[], ["a"]])
def test_shapes_must_go_together(labels: list[str]) -> None:
    with pytest.raises(DataError, match="a row for each label"):
        judge(SAID, ["a", "b"], labels)

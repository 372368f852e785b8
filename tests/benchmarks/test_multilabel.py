"""The measures of the benchmark of several labels are scikit-learn's, and its table is its rows."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn import metrics

from benchmarks.multilabel import MEASURES, PAGE, differences, figures, measures


def test_measures_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    there, said = rng.random((2, 30, 5)) < 0.4
    there[:, 4] = False  # does not occur
    micro, macro, right = measures(there, said)
    assert micro == pytest.approx(metrics.f1_score(there, said, average="micro"))
    own = metrics.f1_score(there[:, :4], said[:, :4], average="macro")
    assert macro == pytest.approx(own)
    assert right == metrics.accuracy_score(there, said)


def test_intervals_hold_the_figure_and_a_model_equals_itself() -> None:
    rng = np.random.default_rng(0)
    there = rng.random((60, 3)) < 0.5
    said = [there ^ (rng.random(there.shape) < 0.2) for _ in range(2)]
    for value, low, high in figures(there, said):
        assert low < value < high
    assert list(differences(there, said, said)) == [(0, 0, 0)] * len(MEASURES)


def test_the_page_has_the_table() -> None:
    page = PAGE.read_text("utf-8")
    table = page.split("<!-- multilabel: made by benchmarks/multilabel.py -->")[1]
    assert table.split("<!-- end of multilabel -->")[0].count("AdaSent |") == 2

"""Which texts are uncertain, and which of them are taken."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.errors import ConfigError
from adasent.evaluation.suggest import suggest, uncertainty


def test_margin_and_entropy_differ() -> None:
    probabilities = np.array([[0.5, 0.5, 0.0], [0.4, 0.3, 0.3], [1.0, 0.0, 0.0]])
    margin, entropy = uncertainty(probabilities), uncertainty(probabilities, "entropy")
    assert margin == pytest.approx([1.0, 0.9, 0.0])
    assert entropy.argmax() == 1
    assert entropy[2] == pytest.approx(0)
    assert entropy[0] == pytest.approx(np.log(2) / np.log(3))
    assert uncertainty(np.full((1, 3), 1 / 3), "entropy") == pytest.approx([1])
    assert uncertainty(np.ones((2, 1))).tolist() == [0, 0]
    with pytest.raises(ConfigError, match="by"):
        uncertainty(probabilities, "variance")


def test_near_duplicates_and_empty_texts_are_left_out() -> None:
    texts = ["a good film", "A GOOD film film", "", "a good film today", "the plot", "so so"]
    uncertain = np.array([0.9, 0.8, 1.0, 0.7, 0.5, 0.6])
    assert suggest(texts, uncertain, 10, str.split) == [0, 5, 4]
    assert suggest(texts, uncertain, 2, str.split) == [0, 5]
    # Three words of four are shared: below 0.8 that is not alike.
    assert suggest(texts, uncertain, 10, str.split, alike=0.8) == [0, 3, 5, 4]


def test_ties_keep_the_order_of_the_texts() -> None:
    assert suggest(["x", "y", "z"], np.zeros(3), 2, str.split) == [0, 1]

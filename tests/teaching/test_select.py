"""Which sentences are worth a label."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.teaching.select import highest, in_balance, nearness
from adasent.text.tokenize import words


def test_nearness_by_hand() -> None:
    """Of the texts a third of the words are "film", of the sentences a fifth."""
    scores = nearness(["a film", "the sea", "sea"], ["film", "film a"], tokenizer=words)
    film = np.log(2 / 4) - np.log(1 / 6)
    a = np.log(1 / 4) - np.log(1 / 6)
    the = np.log(0.5 / 4) - np.log(1 / 6)
    sea = np.log(0.5 / 4) - np.log(2 / 6)
    assert scores == pytest.approx([(film + a) / 2, (the + sea) / 2, sea])


def test_a_sentence_without_a_word_is_neither_near_nor_far() -> None:
    assert nearness(["", "a"], ["a"], tokenizer=words)[0] == 0


def test_highest_in_order_and_first_of_ties() -> None:
    assert highest(np.array([1.0, 3, 3, 2, 3]), 2).tolist() == [1, 2]
    assert highest(np.array([1.0, 3]), 9).tolist() == [0, 1]


def test_classes_in_balance() -> None:
    said = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.4, 0.6], [0.1, 0.9]])
    assert in_balance(said, np.array([1, 1]), 2).tolist() == [0, 4]
    assert in_balance(said, np.array([3, 1]), 4).tolist() == [0, 1, 2, 4]
    assert in_balance(said, np.array([1, 1]), 4, np.arange(5)).tolist() == [1, 2, 3, 4]
    assert in_balance(said, np.array([1, 1]), 100).tolist() == [0, 1, 2, 3, 4]

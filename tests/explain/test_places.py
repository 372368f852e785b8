"""Where units lie, worked by hand and against plain loops."""

from __future__ import annotations

import numpy as np

from adasent.explain.places import Places
from explain_cases import level_and_first_word


def test_two_texts_by_hand() -> None:
    # Words a b c and x y lie as a x b y c; above them ab xy bc, and above these abc.
    places = Places.of(np.array([3, 2]))
    assert places.words.tolist() == [0, 2, 4, 1, 3]
    assert places.text.tolist() == [0, 1, 0, 1, 0]
    assert places.levels.tolist() == [0, 5, 8]
    assert places.units.tolist() == [0, 2, 4, 5, 7, 8, 1, 3, 6]
    assert (places.first_word.tolist(), places.first_unit.tolist()) == ([0, 3, 5], [0, 6, 9])


def test_every_unit_has_one_row_after_those_of_its_children() -> None:
    places = Places.of(np.array([7, 7, 4, 1]))
    level, first_word = level_and_first_word(places.lengths)
    assert sorted(places.units) == list(range(28 + 28 + 10 + 1))
    rows = {
        (text, int(level[i]), int(first_word[i])): int(places.units[i])
        for text in range(4)
        for i in range(*places.first_unit[text : text + 2])
    }
    for (text, t, j), row in rows.items():
        assert places.levels[t] <= row
        assert rows[text, 0, j] == places.words[places.first_word[text] + j]
        if t:  # rows of a level are those of the words they end on
            ends_on = rows[text, 0, j + t]
            assert row - places.levels[t] == ends_on - places.starts[t]

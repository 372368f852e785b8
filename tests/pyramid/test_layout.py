"""Where words and units lie, by hand and against plain loops; texts of similar length meet."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.pyramid.layout import Layout, batches, left_children
from explain_cases import level_and_first_word


def test_words_by_hand() -> None:
    layout = Layout(np.array([3, 2, 2]))
    assert layout.counts.tolist() == [3, 3, 1]
    assert layout.starts.tolist() == [0, 3, 6, 7]
    assert layout.first_word.tolist() == [0, 3, 5, 7]
    # Words of the first text, of the second, of the third.
    assert layout.word_rows.tolist() == [0, 3, 6, 1, 4, 2, 5]
    assert layout.text.tolist() == [0, 1, 2, 0, 1, 2, 0]
    assert layout.position.tolist() == [0, 0, 0, 1, 1, 1, 2]
    assert (layout.n_levels, layout.n_words, layout.n_units) == (3, 7, 6 + 3 + 3)
    assert [layout.n_units_on(t) for t in range(3)] == [7, 4, 1]
    assert [layout.pooled(t) for t in range(3)] == [slice(0, 3), slice(3, 6), slice(6, 7)]


def test_left_children_skip_the_ends_of_texts() -> None:
    # Three texts of 4, 3 and 1 words: blocks of 3, 2, 2 and 1 rows.
    rows = [np.arange(*stretch) for stretch in left_children(np.array([3, 2, 2, 1]))]
    assert np.concatenate(rows).tolist() == [0, 1, 3, 4, 5]


@pytest.mark.parametrize("lengths", [[1], [5], [1, 1, 1], [9, 4, 4, 2, 1, 1]])
def test_rows_are_a_permutation(lengths: list[int]) -> None:
    layout = Layout(np.array(lengths))
    assert sorted(layout.word_rows) == list(range(sum(lengths)))
    assert layout.counts.sum() == sum(lengths)


def test_batches_hold_every_text_once_longest_first() -> None:
    lengths = np.random.default_rng(0).integers(1, 40, size=200)
    found = batches(lengths, 100)
    order = np.concatenate(found)
    assert sorted(order) == list(range(200))
    assert (np.diff(lengths[order]) <= 0).all()
    assert all(lengths[group].sum() <= 100 for group in found)
    # None could take a text of the next one in.
    firsts = [lengths[group[0]] for group in found[1:]]
    sums = [lengths[group].sum() for group in found[:-1]]
    assert all(n + first > 100 for n, first in zip(sums, firsts, strict=True))


def test_long_texts_are_alone() -> None:
    found = batches(np.array([3, 500, 700, 2]), 100)
    assert [group.tolist() for group in found] == [[2], [1], [0, 3]]


def test_no_texts() -> None:
    assert batches(np.empty(0, dtype=np.int64), 100) == []


def test_two_texts_by_hand() -> None:
    # Words a b c and x y lie as a x b y c; above them ab xy bc, and above these abc.
    layout = Layout(np.array([3, 2]))
    assert layout.word_rows.tolist() == [0, 2, 4, 1, 3]
    assert layout.text.tolist() == [0, 1, 0, 1, 0]
    assert layout.level_starts.tolist() == [0, 5, 8]
    assert layout.unit_rows.tolist() == [0, 2, 4, 5, 7, 8, 1, 3, 6]
    assert (layout.first_word.tolist(), layout.first_unit.tolist()) == ([0, 3, 5], [0, 6, 9])


def test_every_unit_has_one_row_after_those_of_its_children() -> None:
    layout = Layout(np.array([7, 7, 4, 1]))
    level, first_word = level_and_first_word(layout.lengths)
    assert sorted(layout.unit_rows) == list(range(28 + 28 + 10 + 1))
    rows = {
        (text, int(level[i]), int(first_word[i])): int(layout.unit_rows[i])
        for text in range(4)
        for i in range(*layout.first_unit[text : text + 2])
    }
    for (text, t, j), row in rows.items():
        assert layout.level_starts[t] <= row
        assert rows[text, 0, j] == layout.word_rows[layout.first_word[text] + j]
        if t:  # rows of a level are those of the words they end on
            ends_on = rows[text, 0, j + t]
            assert row - layout.level_starts[t] == ends_on - layout.starts[t]

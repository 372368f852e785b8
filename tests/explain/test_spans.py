"""Effective spans and cores, worked by hand."""

from __future__ import annotations

import numpy as np

from adasent.explain.places import Places
from adasent.explain.spans import cores, span_levels
from explain_cases import level_and_first_word


def test_three_words_by_hand() -> None:
    gates = np.array([[1.0, 0.0, 0.0], [0.2, 0.4, 0.4], [0.5, 0.3, 0.2]], dtype=np.float32)
    first, second, third = span_levels(gates, np.array([1, 1, 1]))
    np.testing.assert_allclose(first, np.eye(3))
    # Unit 1 copies word 1; unit 2 has 0.2 + 0.4 / 2 of word 2 and 0.4 + 0.4 / 2 of word 3.
    np.testing.assert_allclose(second, [[1, 0, 0], [0, 0.4, 0.6]], atol=1e-7)
    np.testing.assert_allclose(third, [[0.6, 0.4 * 0.4, 0.4 * 0.6]], atol=1e-7)


def test_texts_of_a_batch_do_not_mix() -> None:
    places = Places.of(np.array([6, 4, 4]))
    gates = np.random.default_rng(0).dirichlet([1, 1, 1], size=15 + 6 + 6).astype(np.float32)
    spans = np.concatenate(list(span_levels(gates, places.counts)))[places.units]
    np.testing.assert_allclose(spans.sum(axis=1), 1, atol=1e-6)
    word = np.arange(6)
    level, first = (of_unit[:, None] for of_unit in level_and_first_word([6, 4, 4]))
    covered = (word >= first) & (word <= first + level)
    assert (spans[~covered] == 0).all()
    own = gates[places.units[places.units >= 14] - 14]
    for text, n_words in enumerate(places.lengths):
        units = slice(*places.first_unit[text : text + 2])
        above = slice(
            units.start - places.first_word[text], units.stop - places.first_word[text + 1]
        )
        alone = np.concatenate(list(span_levels(own[above], np.ones(n_words, dtype=np.int64))))
        np.testing.assert_allclose(spans[units, :n_words], alone, atol=1e-6)


def test_the_core_leaves_out_what_weighs_little_on_either_side() -> None:
    spans = np.array(
        [
            [0.0, 0.05, 0.9, 0.05],
            [0.0, 0.5, 0.5, 0.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.3, 0.05, 0.05, 0.6],
            [0.0, 0.0, 0.0, 1 - 1e-6],
        ],
        dtype=np.float32,
    )
    start, stop = cores(spans)
    assert start.tolist() == [2, 1, 0, 0, 3]
    assert stop.tolist() == [3, 3, 1, 4, 4]

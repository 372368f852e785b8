"""Effective spans, worked by hand."""

from __future__ import annotations

import numpy as np

from adasent.explain.spans import span_levels


def test_three_words_by_hand() -> None:
    gates = np.array([[1.0, 0.0, 0.0], [0.2, 0.4, 0.4], [0.5, 0.3, 0.2]], dtype=np.float32)
    first, second, third = span_levels([gates[:2], gates[2:]], 3)
    np.testing.assert_allclose(first, [[1], [1], [1]])
    # Unit 1 copies word 1; unit 2 has 0.2 + 0.4 / 2 of word 2 and 0.4 + 0.4 / 2 of word 3.
    np.testing.assert_allclose(second, [[1, 0], [0.4, 0.6]], atol=1e-7)
    np.testing.assert_allclose(third, [[0.6, 0.4 * 0.4, 0.4 * 0.6]], atol=1e-7)


def test_a_unit_is_made_of_the_words_that_it_covers() -> None:
    rng = np.random.default_rng(0)
    gates = [rng.dirichlet([1, 1, 1], size=(2, n)).astype(np.float32) for n in range(5, 2, -1)]
    first, *above = span_levels(gates, 6)
    assert first.shape == (6, 1)
    for t, spans in enumerate(above, start=1):
        assert spans.shape == (2, 6 - t, t + 1)
        np.testing.assert_allclose(spans.sum(axis=2), 1, atol=1e-6)
        assert (spans > 0).all()

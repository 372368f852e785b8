"""What the end words do, against the prediction of the texts without them; and the scale."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain import explain
from adasent.explain.ends import LEAST, MOST, NOTHING, scales, shorter_numpy
from adasent.explain.places import Places
from adasent.explain.pyramids import Pyramids

WORDS = ["good", "the plot was bad", "a film", "dull film and", "was the cast a good cast", "bad"]


def random_pyramids(lengths: list[int]) -> tuple[Pyramids, Places]:
    places = Places.of(np.array(lengths))
    rng = np.random.default_rng(3)
    units = rng.normal(size=(int(places.first_unit[-1]), 4)).astype(np.float32)
    empty = np.empty((len(places.words), 4), dtype=np.float32)
    return Pyramids(units, empty, empty[:0]), places


def by_loop(pyramids: Pyramids, places: Places, maximum: bool) -> np.ndarray:
    """(2, n, D) by the definition: the units of each level of each text but the first, or last."""
    found = []
    for part in (slice(1, None), slice(None, -1)):
        for text, n_words in enumerate(places.lengths.tolist()):
            for t in range(n_words - 1):
                units = pyramids.units[places.rows(np.array([text]), t)[0]][part]
                found.append(units.max(axis=0) if maximum else units.mean(axis=0))
    return np.array(found).reshape(2, -1, 4)


@pytest.mark.parametrize("maximum", [True, False])
@pytest.mark.parametrize("lengths", [[1], [2], [3, 1], [9, 4, 4, 2, 1, 1], [2000]])
def test_levels_of_shorter_texts(lengths: list[int], maximum: bool) -> None:
    arrays = random_pyramids(lengths)
    expected = by_loop(*arrays, maximum) if lengths != [1] else np.empty((2, 0, 4))
    found = shorter_numpy(*arrays, maximum=maximum)
    np.testing.assert_allclose(found, expected, atol=1e-5)
    pytest.importorskip("numba")
    from adasent.explain.ends_numba import shorter_numba

    np.testing.assert_allclose(shorter_numba(*arrays, maximum=maximum), expected, atol=1e-5)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"pooling": "mean"},
        {"local_gate": "mlp", "level_gate": "mlp"},
        {"level_norm": False, "classifier_size": 0},
    ],
)
def test_end_words_are_exact(
    make_twin: Callable[..., Any], settings: dict[str, Any], backend: str
) -> None:
    predictor = make_twin(**settings).predictor
    empty = predictor.network.probabilities([np.array([1])])[0]
    for order in (1, -1):
        for one in explain(predictor, WORDS[::order]):
            n = len(one.tokens)
            for i in (0, n - 1) if n > 1 else ():
                left = " ".join(one.tokens[:i] + one.tokens[i + 1 :])
                p, without, alone = predictor.predict_proba([one.text, left, one.tokens[i]])
                expected = 1.5 / n * (alone - empty) + (1 - 1.5 / n) * (p - without)
                np.testing.assert_allclose(one.words[i], expected, atol=1e-6)
            np.testing.assert_allclose(one.words.sum(axis=1), 0, atol=1e-6)
            np.testing.assert_allclose(one.unit_scores.rows.sum(axis=1), 0, atol=1e-6)


def scale(first: float, middle: float, last: float, exact: float) -> float:
    """Of a text of three words and two classes, the ends of which do ``exact`` each."""
    estimates = np.array([[first, middle, last], [-first, -middle, -last]])
    ends = exact * np.array([[[1.0], [-1.0]]] * 2)
    return float(scales(ends, estimates, np.array([0, 3]))[0])


def test_scale_makes_the_estimates_of_the_ends_right_in_size() -> None:
    # Of both words and classes: 0.4 exactly, 0.16 estimated.
    assert scale(0.02, 0.03, -0.06, 0.1) == pytest.approx((0.4 + NOTHING) / (0.16 + NOTHING))


def test_scale_is_kept_within_bounds() -> None:
    assert scale(0.1, 0.01, 0.1, 0.001) == LEAST
    assert scale(1e-5, 1e-3, 1e-5, 0.2) == MOST
    # No word can do more than 1 to a probability.
    assert scale(1e-4, 0.2, 1e-4, 0.2) == pytest.approx(5)
    assert scale(0.1, 4.0, 0.1, 0.1) == pytest.approx(0.25)


def test_scale_is_one_where_the_ends_tell_nothing() -> None:
    assert scale(0.0, 0.0, 0.0, 0.0) == 1
    assert scale(1e-9, 0.2, -1e-9, 1e-8) == pytest.approx(1, abs=1e-5)


def test_scale_of_a_text_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(0)
    estimates, ends = rng.normal(size=(3, 7)) / 20, rng.normal(size=(2, 3, 2)) / 10
    together = scales(ends, estimates, np.array([0, 4, 7]))
    first = scales(ends[:, :, :1], estimates[:, :4], np.array([0, 4]))
    second = scales(ends[:, :, 1:], estimates[:, 4:], np.array([0, 3]))
    np.testing.assert_allclose(together, [*first, *second])


def test_a_long_text(make_twin: Callable[..., Any]) -> None:
    twin = make_twin()
    twin.predictor.encoder.max_words = 400
    text = " ".join(np.random.default_rng(5).choice(["a", "good", "bad", "film", "plot"], 400))
    one = explain(twin.predictor, text)
    p, without = twin.predictor.predict_proba([text, text.partition(" ")[2]])
    alone, empty = twin.alone(twin.predictor.encoder([one.tokens[0]])[0]), twin.alone(np.array([1]))
    expected = 1.5 / 400 * (alone - empty)[0] + (1 - 1.5 / 400) * (p - without)
    np.testing.assert_allclose(one.words[0], expected, atol=1e-6)
    assert np.isfinite(one.words).all()

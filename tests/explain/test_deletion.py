"""What words do that are left out: one by one, and the end words, with the scale they give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain import EXACT, METHOD, Explanation, deletion, explain
from adasent.explain.deletion import (
    MAX_SCALE,
    MIN_SCALE,
    SCALE_SMOOTHING,
    scales,
    shorter_numpy,
)
from adasent.pyramid.layout import Layout
from adasent.runtime.climb import Pyramids

pytestmark = pytest.mark.filterwarnings("ignore:of . texts?")
TEXTS = ["good", "", "not good", "a good plot and a bad film", "zebra film", "bad plot bad"]


@pytest.mark.parametrize("settings", [{}, {"pooling": "mean"}])
@pytest.mark.parametrize("chunk", [1, 100_000])
def test_every_word_is_exact(
    make_twin: Callable[..., Any],
    settings: dict[str, Any],
    chunk: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(deletion, "CHUNK_WORDS", chunk)
    predictor = make_twin(**settings).predictor
    empty = predictor.predict_proba([""])[0]
    for one in explain(predictor, TEXTS, exact=True):
        assert one.method == EXACT
        tokens = [] if not one.text else list(one.tokens)
        share = min(1, 1.5 / max(1, len(tokens)))
        p = predictor.predict_proba([one.text])[0]
        for i, token in enumerate(tokens):
            left = " ".join(tokens[:i] + tokens[i + 1 :])
            without, alone = predictor.predict_proba([left, token])
            expected = share * (alone - empty) + (1 - share) * (p - without)
            np.testing.assert_allclose(one.words[i], expected, atol=1e-6)
        np.testing.assert_allclose(one.words.sum(axis=1), 0, atol=1e-6)
        assert Explanation.from_json(one.to_json()).method == EXACT


def test_all_but_the_words_stays_as_it_is(make_twin: Callable[..., Any]) -> None:
    predictor = make_twin().predictor
    pairs = zip(explain(predictor, TEXTS), explain(predictor, TEXTS, exact=True), strict=True)
    for estimated, exact in pairs:
        assert estimated.method == METHOD
        np.testing.assert_array_equal(estimated.unit_scores.rows, exact.unit_scores.rows)
        np.testing.assert_array_equal(estimated.contributions, exact.contributions)
        assert estimated.phrases == exact.phrases
        for i in {0, len(estimated.tokens) - 1}:  # exact either way
            np.testing.assert_allclose(estimated.words[i], exact.words[i], atol=1e-6)


# -- end words ------------------------------------------------------------------------------------

SHORT_TEXTS = [
    "good",
    "the plot was bad",
    "a film",
    "dull film and",
    "was the cast a good cast",
    "bad",
]


def random_pyramids(lengths: list[int]) -> tuple[Pyramids, Layout]:
    layout = Layout(np.array(lengths))
    rng = np.random.default_rng(3)
    units = rng.normal(size=(layout.n_units, 4)).astype(np.float32)
    empty = np.empty((layout.n_words, 4), dtype=np.float32)
    return Pyramids(empty, units, empty[:0]), layout


def by_loop(pyramids: Pyramids, layout: Layout, maximum: bool) -> np.ndarray:
    """(2, n, D) by the definition: the units of each level of each text but the first, or last."""
    found = []
    for part in (slice(1, None), slice(None, -1)):
        for text, n_words in enumerate(layout.lengths.tolist()):
            for t in range(n_words - 1):
                units = pyramids.units[layout.rows(np.array([text]), t)[0]][part]
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
    from adasent.explain.compiled import shorter_numba

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
        for one in explain(predictor, SHORT_TEXTS[::order]):
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
    assert scale(0.02, 0.03, -0.06, 0.1) == pytest.approx(
        (0.4 + SCALE_SMOOTHING) / (0.16 + SCALE_SMOOTHING)
    )


def test_scale_is_kept_within_bounds() -> None:
    assert scale(0.1, 0.01, 0.1, 0.001) == MIN_SCALE
    assert scale(1e-5, 1e-3, 1e-5, 0.2) == MAX_SCALE
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

"""Phrases of games over words that are known, and of a model that has learnt to negate."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from adasent import AdaSentClassifier, Predictor
from adasent.explain import explain
from adasent.explain.phrases import LEAST, FoundPhrases, find_phrases
from adasent.explain.reading import read_for
from adasent.explain.shapley import shapley_values
from adasent.runtime.network import Network


def found_in(
    game: Callable[[set[str]], float], text: str, *, in_text: bool = True
) -> dict[str, tuple[float, float]]:
    """Score and interaction of each phrase, for the first of two classes."""
    found, tokens = phrases_of(game, text, in_text=in_text), text.split()
    return {
        " ".join(tokens[start:end]): (score[0], more[0])
        for (start, end), score, more in zip(*found, strict=True)
    }


def phrases_of(game: Callable[[set[str]], float], text: str, *, in_text: bool) -> FoundPhrases:
    tokens = text.split()

    def worth(masks: np.ndarray) -> np.ndarray:
        values = [game({tokens[i] for i in np.flatnonzero(mask)}) for mask in masks]
        return np.array([[value, 1 - value] for value in values])

    words = shapley_values(worth, len(tokens)).words
    return find_phrases(worth, words, in_text=in_text)


def negated(there: set[str]) -> float:
    """Bad is bad, but not after "not"."""
    bad = -0.4 * ("bad" in there)
    return 0.5 + (0.3 if {"not", "bad"} <= there else bad)


@pytest.mark.parametrize("in_text", [False, True])
def test_not_bad_turns_bad(in_text: bool) -> None:
    found = found_in(negated, "this is not bad here", in_text=in_text)
    assert set(found) == {"not bad", "this", "is", "here"}
    score, interaction = found["not bad"]
    assert score == pytest.approx(0.3)
    assert interaction == pytest.approx(0.7)  # one by one the two say -0.4
    assert found["here"] == (pytest.approx(0), 0)


def test_a_word_that_changes_nothing_is_no_part_of_a_phrase() -> None:
    found = found_in(negated, "not really bad")
    assert set(found) == {"not really bad"}  # but in between it is
    assert set(found_in(negated, "really not bad")) == {"really", "not bad"}


def test_saying_the_same_twice_is_no_phrase() -> None:
    found = found_in(lambda there: 0.5 + 0.4 * bool(there & {"great", "funny"}), "great funny")
    assert set(found) == {"great", "funny"}
    assert sum(score for score, _ in found.values()) == pytest.approx(0.4)


def test_a_strong_word_that_drowns_a_weak_one_is_no_phrase() -> None:
    def drowned(there: set[str]) -> float:
        return 0.9 if "waste" in there else 0.5 - 0.3 * ("of" in there)

    assert set(found_in(drowned, "waste of")) == {"waste", "of"}


def test_what_acts_together_alone_and_not_in_its_text_is_no_phrase() -> None:
    def alone(there: set[str]) -> float:
        return 0.9 if "great" in there else 0.5 + 0.15 * ({"not", "bad"} <= there)

    text = "not bad great"
    assert "not bad" in found_in(alone, text, in_text=False)
    assert "not bad" not in found_in(alone, text)


def test_weak_ones_are_left_out() -> None:
    def pair(size: float) -> Callable[[set[str]], float]:
        return lambda there: 0.5 + size * ({"a", "b"} <= there)

    assert set(found_in(pair(LEAST / 2), "a b")) == {"a", "b"}
    assert set(found_in(pair(2 * LEAST), "a b")) == {"a b"}


def test_phrases_do_not_overlap_and_the_strongest_is_first() -> None:
    def game(there: set[str]) -> float:
        return 0.1 + 0.5 * ({"b", "c"} <= there) + 0.2 * ({"c", "d"} <= there)

    found = phrases_of(game, "a b c d", in_text=True)
    assert [1, 3] in found.bounds.tolist()
    words = [i for start, end in found.bounds for i in range(start, end)]
    assert sorted(words) == [0, 1, 2, 3]
    sizes = found.scores.max(axis=1)
    assert (np.diff(sizes) <= 0).all()
    np.testing.assert_allclose(found.scores.sum(axis=0), [0.7, -0.7])


@pytest.mark.parametrize("n", [1, 2, 40])
def test_texts_without_phrases(n: int) -> None:
    own = np.random.default_rng(0).normal(size=(n, 2))
    words = shapley_values(lambda masks: masks @ own, n).words
    found = find_phrases(lambda masks: masks @ own, words, in_text=True)
    assert len(found.bounds) == n
    assert not found.interactions.any()


@pytest.mark.filterwarnings("ignore:of .* text")
def test_a_model_that_has_learnt_to_negate_has_phrases_that_turn_their_words() -> None:
    frames = ("the {0} is {1}", "a {1} {0}", "{1}", "this {0} was {1}")
    texts, labels = [], []
    for noun in ("film", "plot", "cast", "end"):
        for word in ("good", "fine", "bad", "dull"):
            for negation in ("", "not "):
                texts += [frame.format(noun, negation + word) for frame in frames]
                positive = (word in ("good", "fine")) != bool(negation)
                labels += ["pos" if positive else "neg"] * len(frames)
    sizes = {"hidden_size": 16, "classifier_size": 16, "vector_size": 16, "gate_groups": 1}
    recipe = {"level_loss": 0.0, "average": 0.0, "table_rate": 1.0, "penalty": 1e-4}
    clf = AdaSentClassifier(
        **sizes, **recipe, learning_rate=0.01, epochs=20, batch_size=20, keep_examples=False
    )
    clf.fit(texts * 2, labels * 2)
    predictor = Predictor(Network(*clf._weights()), clf.encoder_, clf.classes_)
    # Whether "not" alone says what "not good" says or what "not bad" does is chance: that one needs
    # no phrase, the other does.
    turned = 0
    for word, says in (("bad", "pos"), ("good", "neg")):
        alone, one = explain(predictor, [word, f"the film is not {word}"])
        assert (alone.predicted == says, one.predicted) == (False, says)
        reading = read_for(one)
        for phrase in reading.phrases:
            if phrase.text == f"not {word}":
                turned += 1
                assert phrase.part.value > 0.05
                assert phrase.interaction > phrase.part.value
                assert phrase.beyond.endswith("turns them")
                assert f"mostly because of “not {word}”" in one.verdict
    assert turned

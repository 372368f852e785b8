"""What is shown of an explanation: colours, lists and the sentence of the verdict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from adasent import Predictor
from adasent.explain import Explanation, explain
from adasent.explain.colours import CLASS_COLOURS
from adasent.explain.reading import MOST_AGAINST, MOST_FOR, Part, ShownPhrase, colour_of, read_for


def test_a_part_has_the_colour_of_the_class_it_adds_most_to(twin: Any) -> None:
    one = explain(twin.predictor, "the plot was bad and the cast was dull")
    reading = read_for(one)
    best = one.column(one.predicted)
    for parts, scores in (
        (reading.words, one.words),
        (reading.levels, one.level_scores),
        *zip(reading.units, one.unit_scores, strict=True),
    ):
        assert len(parts) == len(scores)
        for part, score in zip(parts, scores, strict=True):
            assert part.colour == CLASS_COLOURS[score.argmax()]
            assert part.value == pytest.approx(score[best])
            assert 0 <= part.strength <= 1
        order = np.argsort(scores.max(axis=1))
        strengths = np.array([part.strength for part in parts])[order]
        assert (np.diff(strengths) >= 0).all()
    assert max(part.strength for part in reading.words) == 1
    assert max(part.strength for level in reading.units[1:] for part in level) == 1


def test_the_bottom_row_is_the_words(explanation: Explanation) -> None:
    reading = read_for(explanation)
    assert list(reading.units[0]) == list(reading.words)


def test_a_contrast_has_the_colours_of_its_two_classes(twin: Any) -> None:
    one = explain(twin.predictor, "the plot was bad and the cast was dull")
    a, b = one.classes[2], one.classes[0]
    reading, back = read_for(one, a, b), read_for(one, b, a)
    assert reading.total == pytest.approx(-back.total)
    for part, other in zip(reading.words, back.words, strict=True):
        assert part.value == pytest.approx(-other.value)
        assert part.colour == other.colour == colour_of(2 if part.value > 0 else 0)
        assert part.strength == pytest.approx(other.strength)


def test_more_classes_than_colours() -> None:
    assert colour_of(len(CLASS_COLOURS) + 1) == CLASS_COLOURS[1]
    assert len(set(CLASS_COLOURS)) == len(CLASS_COLOURS)


def test_the_list_adds_up_and_holds_nothing_that_shows_as_nothing(predictor: Predictor) -> None:
    text = "a good film and the plot was awful and the cast was fine but the film the film was dull"
    for reading in (read_for(explain(predictor, text)), read_for(explain(predictor, "film film"))):
        listed, rest = reading.listed
        values = [one.part.value for one in listed]
        assert reading.base + sum(values) + rest == pytest.approx(reading.total, abs=1e-5)
        assert values == sorted(values, reverse=True)
        assert all(f"{value:+.2f}" not in ("+0.00", "-0.00") for value in values)
        assert len([value for value in values if value > 0]) <= MOST_FOR
        assert len([value for value in values if value < 0]) <= MOST_AGAINST


def with_phrases(explanation: Explanation, scores: dict[str, float]) -> Explanation:
    """Its words as phrases with made-up scores for the predicted class of two."""
    best = explanation.column(explanation.predicted)
    phrases = [
        {"start": i, "end": i + 1, "score": [0.0, 0.0], "interaction": [0.0, 0.0]}
        for i in range(len(scores))
    ]
    for phrase, score in zip(phrases, scores.values(), strict=True):
        phrase["score"] = [-score, score] if best else [score, -score]
    return Explanation.from_dict(explanation.to_dict() | {"phrases": phrases})


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"waste": 0.5}, ", mostly because of “waste”"),
        ({"waste": 0.5, "time": 0.3, "a": 0.01}, ", mostly because of “waste” and “time”"),
        ({"a": 0.2, "b": 0.2, "c": 0.1, "d": 0.1}, ", mostly because of “a”, “b” and “c”"),
        (
            {"waste": 0.5, "funny": -0.3},
            ", mostly because of “waste”; “funny” speaks against it",
        ),
        (
            {"waste": 0.5, "funny": -0.3, "good": -0.2},
            ", mostly because of “waste”; “funny” and “good” speak against it",
        ),
        ({"waste": 0.04, "good": -0.04}, ", though no phrase speaks clearly for it: "),
    ],
)
def test_the_verdict_names_what_counts(
    predictor: Predictor, scores: dict[str, float], reason: str
) -> None:
    one = with_phrases(explain(predictor, " ".join(scores)), scores)
    verdict = one.verdict
    share = f"{100 * one.probabilities.max():.0f} %"
    assert verdict.startswith(f"{one.predicted} (")
    assert share in verdict or ">99 %" in verdict
    assert reason in verdict
    assert verdict.endswith(reason) == (max(scores.values()) >= 0.05)


def test_the_verdict_without_a_word(predictor: Predictor) -> None:
    with pytest.warns(UserWarning, match="without a word"):
        one = explain(predictor, " ")
    assert one.verdict.endswith(": there is no word to go by")


@pytest.mark.parametrize(
    ("n_words", "value", "interaction", "shown"),
    [
        (1, 0.3, 0.0, ""),
        (2, 0.3, 0.2, "+0.20"),
        (2, 0.3, 0.7, "+0.70, turns them"),  # one by one they say -0.40
        (2, -0.3, -0.7, "-0.70, turns them"),
        (2, 0.01, 0.4, "+0.40"),  # next to nothing is not turned
        (2, 0.3, 0.32, "+0.32"),
    ],
)
def test_what_a_phrase_says_beyond_its_words(
    n_words: int, value: float, interaction: float, shown: str
) -> None:
    part = Part(value, CLASS_COLOURS[0], 1.0)
    assert ShownPhrase("not bad", n_words, interaction, part).beyond == shown

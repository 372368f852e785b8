"""Which held-out texts are kept with a model, and how none is."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators.examples import LEAST_WORDS, MOST_CHARS, OF_MODEL, choose_examples
from adasent.text.passage import Passage
from adasent.training.examples import Examples

GOOD, BAD = "what a good good film", "what a bad bad film"


def held(texts: list[str], numbers: list[int], n_classes: int) -> Examples:
    passages = [Passage(text, text.split()) for text in texts]
    rows = [np.arange(1, 1 + max(1, len(one.tokens))) for one in passages]
    return Examples(rows, np.eye(n_classes)[numbers], np.ones(len(texts)), None, passages)


def test_short_texts_that_are_right_with_confidence() -> None:
    texts = [
        "this is too unsure",
        "three words only",
        "so this one is wrong",
        "here is the first one",
        "long " * (MOST_CHARS // 5 + 1),
        "a line\nand another line",
        "and here is a second",
        "one more of this class",
        "the other class has this",
    ]
    said = dict.fromkeys(texts, (0.95, 0.05))
    said |= {texts[0]: (0.8, 0.2), texts[2]: (0.05, 0.95), texts[8]: (0.01, 0.99)}

    def predict_proba(rows: list[int]) -> np.ndarray:
        return np.array([said[texts[i]] for i in rows])

    found = choose_examples(held(texts, [0] * 8 + [1], 2), np.array(["no", "yes"]), predict_proba)
    assert found == [
        {"text": texts[3], "label": "no"},
        {"text": texts[8], "label": "yes"},
        {"text": texts[6], "label": "no"},
    ]


def test_many_classes_have_few_examples_in_all() -> None:
    numbers = [i for i in range(30) for _ in range(3)]
    texts = [f"a text of class {i}" for i in numbers]

    def predict_proba(rows: list[int]) -> np.ndarray:
        return np.eye(30)[[numbers[i] for i in rows]]

    found = choose_examples(held(texts, numbers, 30), np.arange(30), predict_proba)
    assert [one["label"] for one in found] == list(range(OF_MODEL))


def test_they_are_saved_and_right(tmp_path: Path) -> None:
    texts, labels = [GOOD, BAD] * 40, [True, False] * 40
    clf = AdaSentClassifier(vector_size=8, hidden_size=8, learning_rate=0.03, average=0.0)
    clf.fit(texts[:60], labels[:60], validation=(texts[60:], labels[60:])).save(tmp_path / "model")
    loaded = adasent.load(tmp_path / "model")
    found = loaded.training_["examples"]
    assert [(one["text"], one["label"]) for one in found] == [(BAD, False), (GOOD, True)] * 2
    assert all(len(one["text"].split()) >= LEAST_WORDS for one in found)
    assert loaded.predict([one["text"] for one in found]).tolist() == [False, True] * 2


@pytest.mark.parametrize("settings", [{"keep_examples": False}, {"validation_fraction": 0.0}])
def test_none_are_kept(settings: dict[str, object]) -> None:
    clf = AdaSentClassifier(vector_size=4, hidden_size=4, epochs=1, **settings)  # type: ignore[arg-type]
    assert "examples" not in clf.fit([GOOD, BAD] * 20, [1, 0] * 20).training_


def test_the_switch_is_a_flag() -> None:
    with pytest.raises(ConfigError, match="keep_examples"):
        AdaSentClassifier(keep_examples="no").fit([GOOD, BAD], [1, 0])  # type: ignore[arg-type]

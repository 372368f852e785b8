"""Features on disk: equal to those computed, and whole whatever happens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adasent.encoders import cache as module
from adasent.encoders.cache import FeatureCache, key_of
from adasent.text.passage import EMPTY, Passage
from adasent.text.rows import Floats
from adasent.text.tokenize import kim, words

SIZE = 3


class Counting:
    """Vectors that follow from the text, and how often they were asked for."""

    def __init__(self, fail_after: int = 100) -> None:
        self.texts: list[str] = []
        self.left = fail_after

    def __call__(self, passages: Sequence[Passage]) -> Floats:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        self.texts += [one.text for one in passages]
        rows = [np.full((len(one), SIZE), len(one.text), np.float32) for one in passages]
        found = np.concatenate(rows)
        found[:, 0] = np.concatenate([np.arange(len(one)) for one in passages])
        return found


def passages(*texts: str) -> list[Passage]:
    return [Passage(text, words(text)) for text in texts]


TEXTS = passages("good film", "a", "the plot was bad", "", "good film", "z z z")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FeatureCache:
    monkeypatch.setattr(module, "SHARD_WORDS", 4)
    return FeatureCache(tmp_path / "features", {"encoder": "abc"})


def test_what_is_read_is_what_was_computed(cache: FeatureCache) -> None:
    expected = Counting()(TEXTS)
    first = Counting()
    done: list[int] = []
    found = cache.features(TEXTS, SIZE, first, done.append)
    np.testing.assert_array_equal(found, expected)
    assert len(first.texts) == 5  # the same text once
    assert done[0] == 0
    assert done == sorted(done)
    again = Counting()
    np.testing.assert_array_equal(cache.features(TEXTS[::-1], SIZE, again)[:3], expected[-3:])
    assert again.texts == []
    more = Counting()
    cache.features([*TEXTS, *passages("new")], SIZE, more)
    assert more.texts == ["new"]
    assert cache.features([], SIZE, more).shape == (0, SIZE)


def test_a_run_that_was_cut_off_goes_on(cache: FeatureCache) -> None:
    with pytest.raises(KeyboardInterrupt):
        cache.features(TEXTS, SIZE, Counting(fail_after=1))
    rest = Counting()
    np.testing.assert_array_equal(cache.features(TEXTS, SIZE, rest), Counting()(TEXTS))
    assert 0 < len(rest.texts) < 5
    assert not list(cache.folder.glob("*.part"))


def test_half_a_shard_is_computed_again(
    cache: FeatureCache, caplog: pytest.LogCaptureFixture
) -> None:
    cache.features(TEXTS, SIZE, Counting())
    shards = sorted(cache.folder.glob("*.safetensors"))
    shards[0].write_bytes(shards[0].read_bytes()[:-20])
    (cache.folder / "x.1.part").write_bytes(b"left by a kill")
    again = Counting()
    np.testing.assert_array_equal(cache.features(TEXTS, SIZE, again), Counting()(TEXTS))
    assert 0 < len(again.texts) < 5
    assert "cannot be read" in caplog.text
    np.testing.assert_array_equal(cache.features(TEXTS, SIZE + 1, _Wider()), _Wider()(TEXTS))
    assert "not what it should be" in caplog.text


class _Wider:
    def __call__(self, passages: Sequence[Passage]) -> Floats:
        return np.ones((sum(map(len, passages)), SIZE + 1), np.float32)


def test_encoders_and_words_are_told_apart(tmp_path: Path, cache: FeatureCache) -> None:
    other = FeatureCache(tmp_path / "features", {"encoder": "abd"})
    assert other.folder != cache.folder
    text = "good.film"
    assert key_of(Passage(text, words(text))) != key_of(Passage(text, kim(text), kim))
    assert key_of(Passage("\ud800", ["\ud800"])) != key_of(EMPTY)

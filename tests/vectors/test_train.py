import gzip
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from adasent.errors import ConfigError, DataError, MissingDependencyError
from adasent.vectors import train as train_vectors
from adasent.vectors.train import train_word2vec

pytest.importorskip("gensim")


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Animals and fruits never share a line, so their vectors must differ."""
    rng = random.Random(0)
    topics = (["cat", "dog", "cow", "horse"], ["apple", "pear", "plum", "grape"])
    lines = [" ".join(rng.choices(topics[n % 2], k=8)) + "." for n in range(600)]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(lines) + "\nrareword", encoding="utf-8")
    return path


def test_words_of_one_topic_are_neighbours(corpus: Path) -> None:
    vectors = train_word2vec(corpus, size=8, epochs=5)
    assert vectors.dim == 8
    assert set(vectors.words) == {"cat", "dog", "cow", "horse", "apple", "pear", "plum", "grape"}
    unit = {word: vectors[word] / np.linalg.norm(vectors[word]) for word in vectors.words}
    assert unit["cat"] @ unit["dog"] > unit["cat"] @ unit["pear"]


def test_gzip_and_cbow_and_min_count(corpus: Path, tmp_path: Path) -> None:
    packed = tmp_path / "corpus.gz"
    packed.write_bytes(gzip.compress(corpus.read_bytes()))
    vectors = train_word2vec(packed, size=4, epochs=1, min_count=1, sg=0, tokenizer="words")
    assert "rareword" in vectors
    assert "." in vectors


def test_one_seed_one_result_whatever_the_hash_seed(corpus: Path) -> None:
    script = (
        "import sys; from adasent.vectors.train import train_word2vec as t;"
        "sys.stdout.buffer.write(t(sys.argv[1], size=4, epochs=1).matrix.tobytes())"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", script, str(corpus)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert runs[0] == runs[1] == train_word2vec(corpus, size=4, epochs=1).matrix.tobytes()
    assert runs[0] != train_word2vec(corpus, size=4, epochs=1, seed=1).matrix.tobytes()


def test_progress_counts_every_pass(corpus: Path, monkeypatch) -> None:
    monkeypatch.setattr(train_vectors, "_REPORT_EVERY", 1000)
    calls: list[tuple[int, int | None, int]] = []
    train_word2vec(corpus, size=4, epochs=2, progress=lambda *call: calls.append(call))
    n_words = 600 * 8 + 1
    assert [call for call in calls if call[0] == n_words] == [
        (n_words, None, 0),
        (n_words, n_words, 1),
        (n_words, n_words, 2),
    ]
    assert len(calls) == 3 * 5
    assert all(done <= n_words for done, _, _ in calls)


@pytest.mark.parametrize("failing_pass", [0, 1, 2])
def test_what_progress_raises_ends_the_training(corpus: Path, failing_pass: int) -> None:
    def stop(done: int, total: int | None, number: int) -> None:
        if number == failing_pass:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_word2vec(corpus, size=4, epochs=3, progress=stop)


def test_long_lines_are_not_cut(tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("a " * 10_000 + "b " * 10, encoding="utf-8")
    assert train_word2vec(path, size=2, epochs=1).words == ["a", "b"]


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes(b"caf\xe9 cr\xe8me\n" * 9)
    vectors = train_word2vec(path, size=2, epochs=1, tokenizer=str.split)
    assert sorted(vectors.words) == ["caf\ufffd", "cr\ufffdme"]


def test_nothing_frequent_enough(corpus: Path) -> None:
    with pytest.raises(DataError, match=r"occur 9999 times or more, got none among 4801"):
        train_word2vec(corpus, min_count=9999)


def test_corpus_that_cannot_be_read(tmp_path: Path, corpus: Path) -> None:
    with pytest.raises(DataError, match="found no file"):
        train_word2vec(tmp_path / "none.txt")
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(corpus.read_bytes())[:-20])
    with pytest.raises(DataError, match="damaged or cut short"):
        train_word2vec(broken)


@pytest.mark.parametrize(
    "name", ["size", "window", "negative", "min_count", "epochs", "threads", "sg"]
)
def test_settings_are_checked(corpus: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name}: expected 1"):
        train_word2vec(corpus, **{name: -1})


def test_gensim_is_optional(corpus: Path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim.models.word2vec", None)
    with pytest.raises(MissingDependencyError, match=r"adasent\[vectors\]"):
        train_word2vec(corpus)

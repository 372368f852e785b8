from pathlib import Path

import numpy as np
import pytest

from adasent.errors import VectorsError
from adasent.text.vocabulary import Vocabulary
from adasent.vectors.words import (
    NEW_WORD_SPREAD,
    Coverage,
    WordVectors,
    align,
    as_vectors,
    coverage,
    frequent_words,
    read_vectors,
    write_vectors,
)

ONE = WordVectors(["the", "good", "bad"], np.array([[1, 2], [3, 4], [5, 6]], dtype=np.float32))
TWO = WordVectors(["good", "dog"], np.array([[7.0], [9.0]], dtype=np.float32))


def test_word_vectors() -> None:
    assert (len(ONE), ONE.dim) == (3, 2)
    assert "bad" in ONE
    assert "cat" not in ONE
    assert ONE["good"].tolist() == [3, 4]
    assert repr(ONE) == "WordVectors(3 words x 2)"
    with pytest.raises(KeyError):
        ONE["cat"]


def test_word_vectors_are_float32() -> None:
    assert WordVectors(["a"], np.ones((1, 2))).matrix.dtype == np.float32


@pytest.mark.parametrize(
    ("words", "matrix", "message"),
    [
        (["a"], np.ones((2, 3)), r"shape \(1, d\).*got \(2, 3\)"),
        (["a"], np.ones(3), r"got \(3,\)"),
        ([], np.ones((0, 3)), r"got \(0, 3\)"),
        (["a", "a"], np.ones((2, 3)), "distinct words, got 1 repeated"),
        (["a"], np.full((1, 2), np.nan), "got NaN or infinity"),
    ],
)
def test_word_vectors_must_fit(words: list[str], matrix: np.ndarray, message: str) -> None:
    with pytest.raises(VectorsError, match=message):
        WordVectors(words, matrix)


def test_as_vectors_takes_itself_and_paths(tmp_path: Path) -> None:
    assert as_vectors(ONE) is ONE
    path = tmp_path / "one.bin"
    write_vectors(path, ONE)
    for source in (path, str(path)):
        assert as_vectors(source).words == ONE.words
        np.testing.assert_array_equal(as_vectors(source).matrix, ONE.matrix)
    assert read_vectors(path, limit=2).words == ["the", "good"]


def test_as_vectors_takes_gensim() -> None:
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(2)
    keyed.add_vectors(ONE.words, ONE.matrix)
    vectors = as_vectors(keyed)
    assert vectors.words == ONE.words
    np.testing.assert_array_equal(vectors.matrix, ONE.matrix)
    model = models.Word2Vec([["a", "b"]], vector_size=2, min_count=1)
    assert set(as_vectors(model).words) == {"a", "b"}


def test_as_vectors_refuses_other_things() -> None:
    with pytest.raises(VectorsError, match="KeyedVectors, got dict"):
        as_vectors({"a": [1.0]})


def test_coverage() -> None:
    found = coverage(ONE, {"good": 6, "dog": 1, "cat": 2, "bad": 1})
    assert found == Coverage(4, 2, 10, 7, ("cat", "dog"))
    assert found.type_share == 0.5
    assert found.token_share == 0.7
    assert str(found) == (
        "70.0% of 10 tokens, 50.0% of 4 distinct words; most frequent missing: cat dog"
    )


def test_coverage_by_several_sets() -> None:
    found = coverage([ONE, TWO], {"good": 6, "dog": 1})
    assert found.missing == ()
    assert str(found) == "100.0% of 7 tokens, 100.0% of 2 distinct words"


def test_coverage_names_a_few_and_nothing_is_zero() -> None:
    assert coverage(ONE, {"y": 1, "x": 1, "z": 2}, n_missing=2).missing == ("z", "x")
    assert coverage(ONE, {}).type_share == coverage(ONE, {}).token_share == 0.0


def test_align_puts_sets_side_by_side() -> None:
    matrix = align([ONE, TWO], Vocabulary(["dog", "good", "bad"]), seed=0)
    assert matrix.dtype == np.float32
    one = np.array([[0, 0], [0, 0], [0, 0], [3, 4], [5, 6]]) / np.std([3, 4, 5, 6])
    two = np.array([[0], [0], [9], [7], [0]]) / np.std([7, 9])
    np.testing.assert_allclose(matrix, np.hstack([one, two]), rtol=1e-6)


def test_align_brings_sets_to_one_scale() -> None:
    rng = np.random.default_rng(3)
    words = [f"w{n}" for n in range(500)]
    sets = [WordVectors(words, scale * rng.normal(size=(500, 4))) for scale in (0.01, 10.0)]
    matrix = align(sets, Vocabulary(words), seed=0)[2:]
    np.testing.assert_allclose([matrix[:, :4].std(), matrix[:, 4:].std()], 1, rtol=1e-4)
    same = WordVectors(["a", "b"], np.zeros((2, 3)))
    assert (align(same, Vocabulary(["a", "b"]), seed=0) == 0).all()


def test_words_beyond_the_training_texts_do_not_change_the_scale() -> None:
    words = ["good", "bad", "enormous"]
    one = WordVectors(words, np.array([[1.0, 2.0], [3.0, 5.0], [900.0, -900.0]]))
    alone = align(one, Vocabulary(["good", "bad"]), seed=0)
    further = align(one, Vocabulary(words, n_training=4), seed=0)
    np.testing.assert_array_equal(further[:4], alone)
    only_further = align(one, Vocabulary(words, n_training=2), seed=0)  # no text has a word
    np.testing.assert_allclose(only_further[2:].std(), 1, rtol=1e-6)


def test_align_fills_words_without_vector_by_seed() -> None:
    vocabulary = Vocabulary(["good", *map(str, range(2000))])
    matrix = align(ONE, vocabulary, seed=0)
    np.testing.assert_array_equal(matrix, align(ONE, vocabulary, seed=0))
    assert not np.array_equal(matrix, align(ONE, vocabulary, seed=1))
    np.testing.assert_allclose(matrix[3:].std(), NEW_WORD_SPREAD, rtol=0.1)
    assert (matrix[:2] == 0).all()


def test_align_without_a_common_word() -> None:
    assert align(ONE, Vocabulary(["cat"]), seed=0)[2].all()


def test_align_never_gives_specials_a_vector() -> None:
    special = WordVectors(["<unk>", "<pad>"], np.ones((2, 3)))
    assert (align(special, Vocabulary([]), seed=0) == 0).all()


def test_align_needs_vectors() -> None:
    with pytest.raises(VectorsError, match="at least one set"):
        align([], Vocabulary(["a"]), seed=0)


def test_frequent_words() -> None:
    assert frequent_words(ONE, 2) == ["the", "good"]
    assert frequent_words([ONE, TWO], 3) == ["the", "good", "dog"]
    assert frequent_words([ONE, TWO], 99) == ["the", "good", "dog", "bad"]
    assert frequent_words(ONE, 0) == []


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("wiki-word2vec-50d.bin.gz", (206_527, 50)),
        ("wiki-imdb-word2vec-200d.bin.gz", (55_723, 200)),
        ("glove.6B.100d.subset.txt.gz", (102_786, 100)),
    ],
)
def test_reads_the_files_of_the_mirror(mirror: Path, name: str, shape: tuple[int, int]) -> None:
    vectors = read_vectors(mirror / "vectors" / name)
    assert vectors.matrix.shape == shape
    assert vectors["good"] @ vectors["bad"] > vectors["good"] @ vectors["of"]

import warnings

import numpy as np
import pytest

from adasent.data import Corpus, grouped_folds, held_out, official_split, stratified_folds
from adasent.data.splits import held_out_several, rarest_labels, strata_of
from adasent.errors import AdaSentWarning, ConfigError, DataError

sklearn = pytest.importorskip("sklearn.model_selection")

LABELS = ["b", "a", "a", "b", "a", "a", "b", "a", "a", "a", "b", "b"] * 4


def check_partition(folds, n):
    assert [fold.index for fold in folds] == list(range(len(folds)))
    assert sorted(np.concatenate([fold.test for fold in folds]).tolist()) == list(range(n))
    for fold in folds:
        assert sorted([*fold.train.tolist(), *fold.test.tolist()]) == list(range(n))


@pytest.mark.parametrize("seed", [0, 7])
def test_stratified_folds_are_scikit_learns(seed):
    splitter = sklearn.StratifiedKFold(5, shuffle=True, random_state=seed)
    theirs = list(splitter.split(LABELS, LABELS))
    ours = stratified_folds(LABELS, 5, seed)
    check_partition(ours, len(LABELS))
    for fold, (train, test) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(fold.train, train)
        np.testing.assert_array_equal(fold.test, test)


def test_grouped_folds_are_scikit_learns_and_equal_texts_never_straddle():
    texts = [f"Text  {i % 17}" if i % 2 else f"text {i % 17} " for i in range(len(LABELS))]
    keys = np.array([" ".join(text.casefold().split()) for text in texts])
    splitter = sklearn.StratifiedGroupKFold(5, shuffle=True, random_state=3)
    theirs = list(splitter.split(texts, LABELS, keys))
    ours = grouped_folds(texts, LABELS, 5, 3)
    check_partition(ours, len(LABELS))
    for fold, (_, test) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(fold.test, test)
        assert not set(keys[fold.train]) & set(keys[fold.test])


def test_folds_take_labels_of_any_type():
    expected = [fold.test.tolist() for fold in stratified_folds(LABELS, 4)]
    for pair in [(1, 0), (True, False), (0.5, 1.5), ("x", 3), (None, ())]:
        labels = [pair[label == "a"] for label in LABELS]
        assert [fold.test.tolist() for fold in stratified_folds(labels, 4)] == expected


def test_rare_class_warns_once():
    labels = [*LABELS, "rare", "rarer"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        folds = stratified_folds(labels, 4)
    check_partition(folds, len(labels))
    assert [(w.category, w.filename) for w in caught] == [(AdaSentWarning, __file__)]
    assert "2 labels with fewer than 4 examples (first: 'rare')" in str(caught[0].message)


@pytest.mark.parametrize("n_folds", [1, 0, -3])
def test_too_few_folds(n_folds):
    with pytest.raises(ConfigError, match="at least 2 folds"):
        stratified_folds(LABELS, n_folds)


def test_more_folds_than_data():
    with pytest.raises(DataError, match="4 folds: the data has only 3 examples in the largest cla"):
        stratified_folds([1, 1, 1, 2], 4)
    with pytest.raises(DataError, match="only 0 examples"):
        stratified_folds([], 4)
    with pytest.raises(DataError, match="only 2 different texts"):
        grouped_folds(["a", "b"] * 5, [0] * 10, 3)
    with pytest.raises(DataError, match="only 2 examples in the largest class"):
        grouped_folds(list("abcd"), [0, 0, 1, 1], 3)


def test_a_label_for_each_text():
    with pytest.raises(DataError, match="got 1 and 2"):
        grouped_folds(["a", "b"], [0], 2)
    with pytest.raises(DataError, match="got 1 and 2"):
        held_out([0], 0.5, 0, ["a", "b"])


def test_official_split_needs_a_test_part():
    corpus = Corpus("toy", ["a", "b", "c"], [0, 1, 0], "", test=np.array([2, 0]))
    fold = official_split(corpus)
    assert (fold.train.tolist(), fold.test.tolist()) == ([1], [0, 2])
    with pytest.raises(DataError, match="toy has no official split"):
        official_split(Corpus("toy", ["a"], [0], ""))


def test_held_out_is_stratified_and_seeded():
    labels = ["a"] * 70 + ["b"] * 30
    train, aside = held_out(labels, 0.1, seed=1)
    assert sorted([*train.tolist(), *aside.tolist()]) == list(range(100))
    assert [labels[i] for i in aside].count("a") == 7
    assert len(aside) == 10
    assert held_out(labels, 0.1, seed=1)[1].tolist() == aside.tolist()
    assert held_out(labels, 0.1, seed=2)[1].tolist() != aside.tolist()


@pytest.mark.parametrize(
    ("labels", "fraction", "n_aside"),
    [
        ([], 0.1, 0),
        ([0], 0.1, 0),
        ([0, 1, 2], 0.9, 0),
        ([0, 0], 0.1, 1),
        ([0, 0, 1], 0.5, 1),
        ([0] * 5 + [1] * 5, 0.0, 0),
        ([0] * 5 + [1] * 5, 0.99, 8),
        ([0] * 3 + [1] * 3 + [2] * 3, 0.1, 1),
    ],
)
@pytest.mark.parametrize("grouped", [False, True])
def test_held_out_keeps_every_class_in_train(labels, fraction, n_aside, grouped):
    texts = [f"text {i}" for i in range(len(labels))] if grouped else None
    train, aside = held_out(labels, fraction, 0, texts)
    assert len(aside) == n_aside
    assert {labels[i] for i in train} == set(labels)
    assert train.dtype == aside.dtype == np.int64


def test_held_out_groups_equal_texts():
    texts = [f"Word {i // 3}".upper() if i % 3 else f"word  {i // 3}" for i in range(300)]
    labels = [i % 2 for i in range(300)]
    train, aside = held_out(labels, 0.2, 0, texts)
    assert not {i // 3 for i in train.tolist()} & {i // 3 for i in aside.tolist()}
    assert 55 <= len(aside) <= 60


def test_held_out_of_one_text_repeated_sets_nothing_aside():
    train, aside = held_out([0, 1] * 5, 0.3, 0, ["same"] * 10)
    assert (len(train), len(aside)) == (10, 0)


@pytest.mark.parametrize("fraction", [-0.1, 1, 1.5, float("nan")])
def test_held_out_fraction_is_checked(fraction):
    with pytest.raises(ConfigError, match=r"fraction in \[0, 1\)"):
        held_out([0, 1], fraction, 0)


# -- several labels a text -----------------------------------------------------------------------


def test_the_rarest_label_of_each_text() -> None:
    there = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1], [0, 0, 0]], dtype=bool)
    assert rarest_labels(there).tolist() == [1, 0, 2, 2, -1]


def test_every_label_keeps_a_text_and_equal_texts_stay_together() -> None:
    rng = np.random.default_rng(0)
    for seed in range(20):
        there = rng.random((40, 12)) < 0.08
        texts = [f"text {i // 2}" for i in range(40)]
        train, aside = held_out_several(there, 0.5, seed, texts)
        assert sorted([*train.tolist(), *aside.tolist()]) == list(range(40))
        assert len(aside)
        assert there[train].any(axis=0)[there.any(axis=0)].all()
        assert not {texts[i] for i in train} & {texts[i] for i in aside}


def test_a_label_that_always_stands_beside_a_rarer_one_keeps_a_text() -> None:
    # Label 0 is on three texts, each with a rarer one, of which one of two texts is set aside.
    there = np.zeros((6, 4), dtype=bool)
    there[np.arange(6), [1, 2, 3, 1, 2, 3]] = True
    there[:3, 0] = True
    assert rarest_labels(there).tolist() == [1, 2, 3, 1, 2, 3]
    for seed in range(20):
        train, aside = held_out_several(there, 0.5, seed, [str(i) for i in range(6)])
        assert there[train].any(axis=0).all()
        assert len(aside) >= 2


def test_texts_of_several_labels_are_stratified_by_the_rarest() -> None:
    labels = [("a", "b"), ("a",), (), ("b", "a", "c"), ("a",), ("b",)]
    assert strata_of(labels) == ["b", "a", "no label", "c", "a", "b"]
    assert strata_of(["x", "y"]) == ["x", "y"]

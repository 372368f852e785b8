"""The contract of the systems that train in one go, which is that of AdaSent too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from adasent.errors import AdaSentWarning, ConfigError, DataError
from adasent.estimators.counts import MNBClassifier, NBSVMClassifier
from adasent.estimators.one_go import OneGoClassifier
from adasent.estimators.paragraph_vector import ParagraphVectorClassifier

pytest.importorskip("gensim")

Reviews = tuple[list[str], list[str]]
Make = Callable[..., OneGoClassifier]

QUICK: dict[str, Any] = {"vector_size": 8, "epochs": 10, "learning_rate": 0.1, "C": 10.0}
TYPES = (MNBClassifier, NBSVMClassifier, ParagraphVectorClassifier)


@pytest.fixture(params=TYPES, ids=[kind.system for kind in TYPES])
def make(request: pytest.FixtureRequest) -> Make:
    """A small estimator of each system."""
    quick = QUICK if request.param is ParagraphVectorClassifier else {}
    return lambda **settings: request.param(**(quick | settings))


# -- settings ------------------------------------------------------------------------------------


def test_defaults_are_those_of_the_config(make: Make) -> None:
    keywords = inspect.signature(type(make())).parameters
    for f in fields(make().config_type):
        assert keywords[f.name].default == f.default


def test_constructor_only_stores(make: Make, reviews: Reviews) -> None:
    clf = make(tokenizer="kimm", max_words="all")
    assert clf.get_params()["max_words"] == "all"
    with pytest.raises(ConfigError, match="max_words must be a whole number"):
        clf.fit(*reviews)
    with pytest.raises(ConfigError, match="did you mean 'kim'"):
        clf.set_params(max_words=10).fit(*reviews)


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_seed_out_of_range(make: Make, reviews: Reviews, seed: int) -> None:
    with pytest.raises(ConfigError, match="random_state"):
        make(random_state=seed).fit(*reviews)


def test_a_fraction_is_no_whole_number(make: Make, reviews: Reviews) -> None:
    with pytest.raises(ConfigError, match=r"max_words must be an integer; got 50\.0"):
        make(max_words=50.0).fit(*reviews)


def test_clone_is_unfitted_and_equal(make: Make, reviews: Reviews) -> None:
    fitted = make().fit(*reviews)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    check_is_fitted(fitted)
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


def test_changing_a_setting_does_not_change_a_fitted_model(make: Make, reviews: Reviews) -> None:
    texts = ["the plot isn't good"]
    clf = make().fit(*reviews)
    before = clf.predict_proba(texts)
    clf.set_params(tokenizer=str.split, max_words=1)
    np.testing.assert_array_equal(clf.predict_proba(texts), before)


# -- learning and prediction ---------------------------------------------------------------------


def test_learns(make: Make, reviews: Reviews) -> None:
    assert cross_val_score(make(), *reviews, cv=3).mean() > 0.9


@pytest.mark.parametrize("pair", [("neg", "pos"), (3, -7), (True, False), (0.0, 1.0)])
def test_predict_gives_the_labels_back(make: Make, reviews: Reviews, pair: tuple[Any, Any]) -> None:
    texts, names = reviews
    labels = [pair[name == "pos"] for name in names]
    clf = make().fit(texts, labels)
    found = clf.predict(texts)
    assert found.dtype == clf.classes_.dtype == np.asarray(labels).dtype
    assert clf.classes_.tolist() == sorted(set(pair))
    assert np.mean(found == np.array(labels)) == clf.score(texts, labels) > 0.9


def three_classes(reviews: Reviews) -> Reviews:
    texts, names = reviews
    return (
        [*texts, *(f"who is {word}" for word in "abcdefghij")],
        [*names, *(["question"] * 10)],
    )


def test_probabilities_of_three_classes(make: Make, reviews: Reviews) -> None:
    texts, labels = three_classes(reviews)
    clf = make().fit(texts, labels)
    found = clf.predict_proba(texts)
    assert found.shape == (130, 3)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert clf.predict(texts).tolist() == clf.classes_[found.argmax(axis=1)].tolist()
    assert clf.predict(["who is a"]).tolist() == ["question"]


def test_texts_come_in_any_column(make: Make, reviews: Reviews) -> None:
    texts = reviews[0][:5]
    clf = make().fit(pd.Series(reviews[0], index=range(500, 620)), np.array(reviews[1]))
    expected = clf.predict_proba(texts)
    for column in (tuple(texts), np.array(texts), pd.Series(texts), iter(texts)):
        np.testing.assert_array_equal(clf.predict_proba(column), expected)
    assert clf.predict_proba([]).shape == (0, 2)
    assert clf.predict([]).tolist() == []


def test_result_of_a_text_does_not_depend_on_its_neighbours(make: Make, reviews: Reviews) -> None:
    clf = make().fit(*reviews)
    texts = [*reviews[0][:20], "good", "unheard of"]
    alone = np.vstack([clf.predict_proba([text]) for text in texts])
    np.testing.assert_array_equal(alone, clf.predict_proba(texts))


def test_same_seed_same_model(make: Make, reviews: Reviews) -> None:
    one, two = (make(random_state=3).fit(*reviews).predict_proba(reviews[0]) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    make(random_state=np.random.RandomState(0)).fit(*reviews)
    make(random_state=None).fit(*reviews)


# -- odd input -----------------------------------------------------------------------------------


def test_unknown_words_give_the_shares_of_the_classes() -> None:
    texts, labels = ["a good one", "a fine one", "a bad one"], ["p", "p", "n"]
    for kind in (MNBClassifier, NBSVMClassifier):
        found = kind().fit(texts, labels).predict_proba(["zzz xxx"])
        np.testing.assert_allclose(found, [[1 / 3, 2 / 3]], rtol=1e-6)


def test_a_text_without_a_word_is_told(make: Make, reviews: Reviews) -> None:
    clf = make().fit(*reviews)
    with pytest.warns(AdaSentWarning, match="of 2 texts: 1 without a word"):
        blank = clf.predict_proba(["", "good film"])[0]
    np.testing.assert_array_equal(blank, clf.predict_proba(["unheard"])[0])


def test_long_texts_are_cut_with_a_warning(make: Make, reviews: Reviews) -> None:
    clf = make(max_words=20).fit(*reviews)
    with pytest.warns(AdaSentWarning, match="1 longer than max_words=20"):
        found = clf.predict_proba(["good film " * 10 + "bad"])
    np.testing.assert_array_equal(found, clf.predict_proba(["good film " * 10]))


def test_training_texts_without_any_word(make: Make) -> None:
    with (
        pytest.warns(AdaSentWarning, match="2 without a word"),
        pytest.raises(DataError, match="expected texts with words, got 2 without any"),
    ):
        make().fit(["", " "], [0, 1])


def test_one_class(make: Make) -> None:
    with pytest.warns(AdaSentWarning, match="only one class, 'a'"):
        clf = make().fit(["one text", "another text"], ["a", "a"])
    np.testing.assert_array_equal(clf.predict_proba(["one", "unheard"]), [[1.0], [1.0]])


@pytest.mark.parametrize(
    ("texts", "labels", "message"),
    [
        ("one text", ["a"], "wrap it in a list"),
        (["one", None], ["a", "b"], "at position 1"),
        (["one", "two"], ["a"], "as many labels as texts"),
        (["one", "two"], ["a", None], "1 labels are missing"),
        ([], [], "at least one text"),
    ],
)
def test_input_that_cannot_be_used(make: Make, texts: Any, labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        make().fit(texts, labels)


def test_not_fitted(make: Make, tmp_path: Path) -> None:
    for use in (
        lambda clf: clf.predict(["a"]),
        lambda clf: clf.predict_proba(["a"]),
        lambda clf: clf.save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError, match=r"Classifier is not fitted yet"):
            use(make())


# -- weights -------------------------------------------------------------------------------------


def test_weight_zero_is_the_same_as_leaving_out(make: Make, reviews: Reviews) -> None:
    texts, labels = three_classes(reviews)
    texts.append("never seen")
    labels.append("pos")
    weights = np.ones(131)
    weights[[3, 130]] = 0
    kept = np.flatnonzero(weights)
    without = make().fit([texts[i] for i in kept], [labels[i] for i in kept])
    np.testing.assert_array_equal(
        make().fit(texts, labels, weights).predict_proba(texts), without.predict_proba(texts)
    )


def test_weights_decide_between_contradictory_labels(make: Make) -> None:
    texts = ["text one", "text one", "another two", "another two"] * 10
    labels = ["a", "b"] * 20
    weights = np.array([9, 1, 1, 9] * 10)
    one, other = make().fit(texts, labels, weights).predict_proba(texts[1:3])[:, 0]
    assert one > 0.6 > 0.4 > other
    one, other = make().fit(texts, labels, 10 - weights).predict_proba(texts[1:3])[:, 0]
    assert one < 0.4 < 0.6 < other


def test_a_class_without_weight_keeps_its_column(make: Make, reviews: Reviews) -> None:
    texts, labels = three_classes(reviews)
    weights = [float(label != "question") for label in labels]
    clf = make().fit(texts, labels, weights)
    assert clf.classes_.tolist() == ["neg", "pos", "question"]
    assert clf.predict_proba([*texts, "unheard"])[:, 2].max() < 1e-6
    weights = [float(label == "question") for label in labels]
    alone = make().fit(texts, labels, weights)
    assert set(alone.predict(texts)) == {"question"}


# -- saving --------------------------------------------------------------------------------------


def test_loaded_model_predicts_the_same(make: Make, reviews: Reviews, tmp_path: Path) -> None:
    texts, labels = three_classes(reviews)
    name = "max_ngram" if "max_ngram" in make().get_params() else "window"
    clf = make(tokenizer="kim", max_words=50, random_state=7, **{name: 3}).fit(texts, labels)
    clf.save(tmp_path / "model")
    loaded = type(clf).load(tmp_path / "model")
    assert loaded.get_params() == clf.get_params()
    assert loaded.training_ == clf.training_
    unseen = [*texts, "a good but dull film", "unheard of", "\ud800 film"]
    np.testing.assert_array_equal(loaded.predict_proba(unseen), clf.predict_proba(unseen))
    assert loaded.predict(texts).tolist() == clf.predict(texts).tolist()


def test_saving_again_replaces_the_model(make: Make, reviews: Reviews, tmp_path: Path) -> None:
    make().fit(*reviews).save(tmp_path)
    second = make().fit(reviews[0][:60], reviews[1][:60])
    second.save(tmp_path)
    loaded = type(second).load(tmp_path)
    np.testing.assert_array_equal(
        loaded.predict_proba(reviews[0]), second.predict_proba(reviews[0])
    )


def test_a_tokenizer_of_its_own_is_brought_back(
    make: Make, reviews: Reviews, tmp_path: Path
) -> None:
    clf = make(tokenizer=lambda text: text.split(" and ")).fit(*reviews)
    clf.save(tmp_path)
    with pytest.raises(ConfigError, match="pass it"):
        type(clf).load(tmp_path)
    loaded = type(clf).load(tmp_path, tokenizer=lambda text: text.split(" and "))
    np.testing.assert_array_equal(loaded.predict_proba(reviews[0]), clf.predict_proba(reviews[0]))


# -- scikit-learn's own checks -------------------------------------------------------------------


class NumbersAsText:
    """Lets scikit-learn's checks, which pass tables of numbers, reach a classifier of texts."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        return super().fit(self._as_texts(X, reset=True), y, sample_weight)  # type: ignore[misc]

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        found: np.ndarray = super().predict_proba(self._as_texts(X, reset=False))  # type: ignore[misc]
        return found

    def _as_texts(self, X: Any, *, reset: bool) -> list[str]:
        rows = validate_data(self, X, reset=reset)
        # A word of letters and digits only: the tokenizer would cut off a minus sign.
        return [
            " ".join(f"c{i}x{round(2 * float(v)) + 10**6}" for i, v in enumerate(row))
            for row in rows
        ]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        return tags


class MNBOfNumbers(NumbersAsText, MNBClassifier):
    pass


class NBSVMOfNumbers(NumbersAsText, NBSVMClassifier):
    pass


class ParagraphVectorOfNumbers(NumbersAsText, ParagraphVectorClassifier):
    pass


def exceptions(estimator: Any) -> dict[str, str]:
    equivalence = "check_sample_weight_equivalence_on_dense_data"
    if isinstance(estimator, NBSVMClassifier):
        return {equivalence: "the SVM's solver stops near the best weights, not at them"}
    if isinstance(estimator, ParagraphVectorClassifier):
        return {equivalence: "vectors are learnt without weights; only the regression has them"}
    return {}


@pytest.mark.filterwarnings("ignore::adasent.errors.AdaSentWarning")
@parametrize_with_checks(
    [MNBOfNumbers(), NBSVMOfNumbers(), ParagraphVectorOfNumbers(**(QUICK | {"epochs": 20}))],
    expected_failed_checks=exceptions,
)
def test_scikit_learn_checks(estimator: Any, check: Callable[[Any], None]) -> None:
    check(estimator)


def test_tags_announce_text(make: Make) -> None:
    tags = make().__sklearn_tags__()
    assert (tags.input_tags.string, tags.input_tags.one_d_array) == (True, True)
    assert not tags.input_tags.two_d_array
    assert tags.classifier_tags.multi_class

"""scikit-learn's contract, over texts: inputs, labels, weights, seeds, composition, checks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import DataConversionWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted, validate_data

from adasent import AdaSentClassifier
from adasent.errors import AdaSentWarning, CheckpointError, ConfigError, DataError
from adasent.training.callbacks import Callback
from adasent.vectors.words import WordVectors, write_vectors

Reviews = tuple[list[str], list[str]]

TINY: dict[str, Any] = {
    "hidden_size": 8,
    "vector_size": 8,
    "classifier_size": 8,
    "epochs": 3,
    "learning_rate": 0.02,
    "vector_dropout": 0.1,
    "dropout": 0.1,
}


def tiny(**settings: Any) -> AdaSentClassifier:
    return AdaSentClassifier(**(TINY | settings))


@pytest.fixture(scope="module")
def fitted(reviews: Reviews) -> AdaSentClassifier:
    return tiny(epochs=6).fit(*reviews)


@pytest.fixture(scope="module")
def vectors() -> WordVectors:
    """Words of the reviews and some they do not have, good and bad along one axis."""
    axis = {"good": 1, "great": 1, "lovely": 1, "fine": 1, "superb": 1, "excellent": 1}
    axis |= {"bad": -1, "awful": -1, "dull": -1, "poor": -1, "dreadful": -1, "terrible": -1}
    words = [*axis, "film", "plot", "cast", "zebra"]
    matrix = np.random.default_rng(0).normal(size=(len(words), 8), scale=0.3)
    matrix[: len(axis), 0] = [2.0 * value for value in axis.values()]
    return WordVectors(words, matrix)


# -- parameters ----------------------------------------------------------------------------------


def test_constructor_only_stores(reviews: Reviews) -> None:
    settings = {"hidden_size": "many", "vectors": [object()], "class_weight": {1: 2}}
    clf = AdaSentClassifier(**settings)  # nothing is checked before fit
    assert settings.items() <= clf.get_params().items()
    with pytest.raises(ConfigError, match="hidden_size must be a whole number"):
        clf.set_params(vectors=None, class_weight=None).fit(*reviews)


def test_clone_is_unfitted_and_equal(fitted: AdaSentClassifier) -> None:
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    check_is_fitted(fitted)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("validation_fraction", 0.95),
        ("extra_words", -1),
        ("vector_size", 0),
        ("min_count", 0),
        ("max_words", 0),
        ("epochs", 0),
        ("pooling", "sum"),
        ("tokenizer", "kimm"),
        ("random_state", -1),
        ("n_jobs", 0),
    ],
)
def test_settings_out_of_range(reviews: Reviews, name: str, value: object) -> None:
    with pytest.raises(ConfigError, match=name):
        tiny(**{name: value}).fit(*reviews)


def test_changing_a_setting_does_not_change_a_fitted_model(
    reviews: Reviews, fitted: AdaSentClassifier
) -> None:
    texts = ["isn't a good film"]
    before = fitted.predict_proba(texts)
    names = {"tokenizer": "kim", "max_words": 1}
    kept = {name: getattr(fitted, name) for name in names}
    fitted.set_params(**names)
    np.testing.assert_array_equal(fitted.predict_proba(texts), before)
    fitted.set_params(**kept)


# -- texts and labels ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "container", [list, tuple, np.array, pd.Series, lambda x: np.array(x, dtype=object), iter]
)
def test_texts_come_in_any_column(
    reviews: Reviews, fitted: AdaSentClassifier, container: Callable[..., Any]
) -> None:
    texts = reviews[0][:5]
    np.testing.assert_array_equal(
        fitted.predict_proba(container(texts)), fitted.predict_proba(texts)
    )


def test_series_with_any_index(reviews: Reviews) -> None:
    texts = pd.Series(reviews[0], index=range(500, 620))
    labels = pd.Series(reviews[1], index=range(700, 820), dtype="category")
    clf = tiny().fit(texts, labels)
    np.testing.assert_array_equal(
        clf.predict_proba(texts), tiny().fit(*reviews).predict_proba(texts)
    )


@pytest.mark.parametrize(
    ("pair", "dtype"),
    [
        (("neg", "pos"), "U"),
        ((3, -7), "i"),
        ((True, False), "b"),
        ((0.0, 1.0), "f"),
        ((np.int8(1), np.int8(2)), "i"),
    ],
)
def test_predict_gives_the_labels_back(reviews: Reviews, pair: tuple[Any, Any], dtype: str) -> None:
    texts, names = reviews
    labels = [pair[name == "pos"] for name in names]
    clf = tiny(epochs=6).fit(texts, labels)
    found = clf.predict(texts)
    assert found.dtype == clf.classes_.dtype == np.asarray(labels).dtype
    assert found.dtype.kind == dtype
    assert clf.classes_.tolist() == sorted(set(pair))
    assert np.mean(found == np.array(labels)) == clf.score(texts, labels) > 0.9


def test_labels_of_a_table_keep_their_kind(reviews: Reviews) -> None:
    texts, names = reviews
    for labels in (
        pd.Series(names, dtype=object),
        pd.Series([name == "pos" for name in names], dtype=object),
        pd.Series([int(name == "pos") for name in names], dtype="Int64"),
    ):
        clf = tiny(epochs=1).fit(texts, labels)
        assert set(clf.predict(texts).tolist()) <= set(labels.tolist())
        assert type(clf.classes_.tolist()[0]) is type(labels.tolist()[0])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", None], "1 labels are missing .* the first at position 1"),
        (["a", float("nan")], "1 labels are missing"),
        ([0.0, float("nan")], "1 labels are missing"),
        (pd.Series(["a", None]), "1 labels are missing"),
        (pd.Series([1, None], dtype="Int64"), "1 labels are missing"),
        (["a", 1], r"mixed types \(int, str\)"),
        ([True, 1], r"mixed types \(bool, int\)"),
        (np.array(["a", 1], dtype=object), "mixed types"),
        ([b"a", b"b"], "got bytes; turn them into strings"),
        (np.array(["2020-01-01", "2021-01-01"], dtype="M8[D]"), "got date"),
        ([[0, 1], [1, 0]], r"lists of labels, got numbers such as \[0, 1\]; a matrix"),
        (np.eye(2), r"one label a text, got an array of shape \(2, 2\)"),
        (["a"], "as many labels as texts, got 1 and 2"),
        (None, "requires y to be passed, but the target y is None"),
    ],
)
def test_labels_that_cannot_be_used(labels: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        tiny().fit(["one text", "another"], labels)


def test_continuous_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="continuous"):
        tiny().fit(["one text", "another"], [0.5, 1.5])


def test_a_column_of_labels_is_flattened_with_a_warning(reviews: Reviews) -> None:
    texts, labels = reviews
    with pytest.warns(DataConversionWarning, match="column-vector y"):
        clf = tiny(epochs=1).fit(texts, np.array(labels)[:, None])
    assert clf.classes_.tolist() == ["neg", "pos"]


def test_probabilities(reviews: Reviews) -> None:
    texts, names = reviews
    labels = [name if i % 3 else "other" for i, name in enumerate(names)]
    clf = tiny().fit(texts, labels)
    found = clf.predict_proba(texts)
    assert found.shape == (120, 3)
    assert clf.classes_.tolist() == ["neg", "other", "pos"]
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)
    assert clf.predict(texts).tolist() == clf.classes_[found.argmax(axis=1)].tolist()


def test_result_of_a_text_does_not_depend_on_its_neighbours(
    reviews: Reviews, fitted: AdaSentClassifier
) -> None:
    texts = [*reviews[0][:20], "good"]
    together = fitted.predict_proba(texts)
    alone = np.vstack([fitted.predict_proba([text]) for text in texts])
    np.testing.assert_allclose(alone, together, rtol=1e-4)  # float32


def test_not_fitted(tmp_path: Path) -> None:
    for use in (
        lambda clf: clf.predict(["a"]),
        lambda clf: clf.predict_proba(["a"]),
        lambda clf: clf.save(tmp_path / "model"),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(tiny())


# -- weights -------------------------------------------------------------------------------------


def contradictory(n: int = 40) -> tuple[list[str], list[str]]:
    """The same texts under both labels: only weights can decide."""
    return [f"text {i % 4}" for i in range(n)], ["a", "b"] * (n // 2)


def share_of_a(**settings: Any) -> float:
    texts = ["text one"] * 40
    labels = ["a", "b"] * 20
    fit = {"sample_weight": settings.pop("sample_weight", None)}
    clf = tiny(epochs=15, validation_fraction=0, **settings).fit(texts, labels, **fit)
    return float(clf.predict_proba(["text one"])[0, 0])


def test_weights_decide_between_contradictory_labels() -> None:
    assert share_of_a() == pytest.approx(0.5, abs=0.1)
    assert share_of_a(sample_weight=[9, 1] * 20) > 0.75
    assert share_of_a(class_weight={"a": 1, "b": 9}) < 0.25
    assert share_of_a(sample_weight=[9, 1] * 20, class_weight={"a": 1, "b": 9}) == pytest.approx(
        0.5, abs=0.1
    )


def test_balanced_classes() -> None:
    texts, labels = ["text one"] * 40, ["a"] * 36 + ["b"] * 4
    settings = {"epochs": 15, "validation_fraction": 0}
    plain = tiny(**settings).fit(texts, labels)
    balanced = tiny(**settings, class_weight="balanced").fit(texts, labels)
    assert plain.predict_proba(["text one"])[0, 0] > 0.8
    assert balanced.predict_proba(["text one"])[0, 0] == pytest.approx(0.5, abs=0.1)


def test_scale_of_weights_does_not_matter(reviews: Reviews) -> None:
    one = tiny(epochs=1).fit(*reviews, sample_weight=np.full(120, 1.0))
    two = tiny(epochs=1).fit(*reviews, sample_weight=np.full(120, 256.0))
    np.testing.assert_array_equal(one.predict_proba(["a film"]), two.predict_proba(["a film"]))


def test_weight_zero_is_the_same_as_leaving_out(reviews: Reviews) -> None:
    texts, labels = reviews
    without = tiny().fit(texts[:80], labels[:80])
    weights = np.repeat([1.0, 0.0], [80, 40])
    with_zeros = tiny().fit(texts, labels, weights)
    np.testing.assert_array_equal(with_zeros.predict_proba(texts), without.predict_proba(texts))


def test_a_class_without_weight_keeps_its_column() -> None:
    texts, labels = contradictory()
    clf = tiny(epochs=6, class_weight={"a": 0, "b": 1}).fit(texts, labels)
    assert clf.classes_.tolist() == ["a", "b"]
    assert (clf.predict(texts) == "b").all()


@pytest.mark.parametrize(
    "weights", [[1.0, -1.0], [0.0, 0.0], [1.0, float("nan")], [1.0, float("inf")]]
)
def test_weights_that_make_no_sense(weights: list[float]) -> None:
    with pytest.raises(DataError, match="finite, not negative and not all zero"):
        tiny().fit(["one text", "another"], ["a", "b"], weights)


def test_weights_of_the_wrong_shape() -> None:
    with pytest.raises(DataError, match="expected 2 sample weights"):
        tiny().fit(["one text", "another"], ["a", "b"], [1.0])


def test_a_number_weighs_all(reviews: Reviews) -> None:
    found = tiny(epochs=1).fit(*reviews, sample_weight=2).predict_proba(["a film"])
    np.testing.assert_array_equal(found, tiny(epochs=1).fit(*reviews).predict_proba(["a film"]))


# -- validation ----------------------------------------------------------------------------------


def test_held_out_part(reviews: Reviews) -> None:
    clf = tiny(validation_fraction=0.2).fit(*reviews)
    assert 0 < clf.training_["n_validation"] <= 24
    assert None not in clf.history_.column("valid_accuracy")
    whole = tiny(validation_fraction=0).fit(*reviews)
    assert whole.training_["n_validation"] == 0
    assert whole.history_.column("valid_accuracy") == [None] * 3


def test_validation_given(reviews: Reviews) -> None:
    texts, labels = reviews
    clf = tiny().fit(texts[:100], labels[:100], validation=(texts[100:], labels[100:]))
    assert clf.training_["n_validation"] == 20
    best = clf.history_[clf.history_.best_epoch]
    assert best["valid_accuracy"] == clf.score(texts[100:], labels[100:])


def test_what_is_learnt_does_not_depend_on_extra_words(reviews: Reviews) -> None:
    words = ["film", "a", "good", "bad", "unheard", "unseen"]
    sizes = np.array([1, 1, 1, 1, 50, 50])[:, None]
    vectors = WordVectors(words, sizes * np.random.default_rng(0).normal(size=(6, 5)))
    one, two = (
        tiny(vectors=vectors, extra_words=n, validation_fraction=0).fit(*reviews) for n in (0, 6)
    )
    assert len(one.vocabulary_) < len(two.vocabulary_)
    for name, weight in one.model_.named_parameters():
        np.testing.assert_array_equal(weight.detach(), two.model_.get_parameter(name).detach())


def test_validation_labels_must_be_known(reviews: Reviews) -> None:
    with pytest.raises(DataError, match=r"validation labels \['odd'\] do not occur in training"):
        tiny().fit(*reviews, validation=(["a film"], ["odd"]))


# -- vectors -------------------------------------------------------------------------------------


def test_vectors_of_every_kind_agree(
    reviews: Reviews, vectors: WordVectors, tmp_path: Path
) -> None:
    write_vectors(tmp_path / "vectors.bin", vectors)
    models = pytest.importorskip("gensim.models")
    keyed = models.KeyedVectors(8)
    keyed.add_vectors(vectors.words, vectors.matrix)
    expected = tiny(vectors=vectors).fit(*reviews).predict_proba(reviews[0])
    path = tmp_path / "vectors.bin"
    for source in (path, str(path), keyed, [vectors]):
        clf = tiny(vectors=source).fit(*reviews)
        np.testing.assert_array_equal(clf.predict_proba(reviews[0]), expected)


def test_vectors_side_by_side(reviews: Reviews, vectors: WordVectors) -> None:
    narrow = WordVectors(vectors.words, vectors.matrix[:, :3])
    clf = tiny(vectors=[vectors, narrow]).fit(*reviews)
    assert clf.model_.config.vector_size == 8 + 3


def test_registered_vectors_by_name(
    reviews: Reviews, vectors: WordVectors, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_vectors(tmp_path / "vectors.bin", vectors)
    monkeypatch.setattr("adasent.data.derived.vector_file", lambda name: tmp_path / "vectors.bin")
    clf = tiny(vectors="wiki-50d", epochs=1).fit(*reviews)
    assert clf.model_.config.vector_size == 8


def test_unseen_words_use_their_vectors(reviews: Reviews, vectors: WordVectors) -> None:
    settings = {"vectors": vectors, "epochs": 12, "word_dropout": 0.0}
    clf = tiny(**settings).fit(*reviews)
    assert "excellent" in clf.vocabulary_
    assert clf.predict(["excellent", "terrible"]).tolist() == ["pos", "neg"]
    without = tiny(**settings, extra_words=0).fit(*reviews)
    assert "excellent" not in without.vocabulary_
    found = without.predict_proba(["excellent", "terrible"])
    # Both are the unknown word; rows of a batch may be rounded by their position.
    np.testing.assert_allclose(found[0], found[1], rtol=0, atol=1e-6)


def test_only_the_most_frequent_extra_words_are_kept(
    reviews: Reviews, vectors: WordVectors
) -> None:
    clf = tiny(vectors=vectors, epochs=1, extra_words=6).fit(*reviews)
    assert "excellent" in clf.vocabulary_  # sixth of the file
    assert "terrible" not in clf.vocabulary_
    assert clf.model_.config.n_fixed == len(clf.vocabulary_) - clf.vocabulary_.n_training == 1


def test_unseen_words_of_the_held_out_texts_are_counted(
    reviews: Reviews, vectors: WordVectors
) -> None:
    held = (["excellent film , xyzzy", "terrible terrible"], ["pos", "neg"])
    settings = {"vectors": vectors, "epochs": 1}
    for n, left_out in ((0, 3), (100, 0)):
        clf = tiny(**settings, extra_words=n).fit(*reviews, validation=held)
        n_unknown = left_out + sum(w not in clf.vocabulary_ for w in (",", "film", "xyzzy"))
        assert clf.training_["unseen"] == {
            "n_words": 6,
            "n_unknown": n_unknown,
            "n_left_out": left_out,
        }
    assert tiny(epochs=1).fit(*reviews).training_["unseen"]["n_words"] > 0
    assert tiny(epochs=1, validation_fraction=0).fit(*reviews).training_["unseen"] is None


def test_rare_words_are_unknown(reviews: Reviews) -> None:
    texts = [*reviews[0], "a singular film"]
    clf = tiny(min_count=2, epochs=1, validation_fraction=0).fit(texts, [*reviews[1], "pos"])
    assert "film" in clf.vocabulary_
    assert "singular" not in clf.vocabulary_


# -- seeds ---------------------------------------------------------------------------------------


def test_one_seed_gives_one_model(reviews: Reviews, tmp_path: Path) -> None:
    files = []
    for i, seed in enumerate((7, 7, 8)):
        tiny(random_state=seed).fit(*reviews).save(tmp_path / str(i))
        files.append((tmp_path / str(i) / "model.safetensors").read_bytes())
    assert files[0] == files[1]
    assert files[0] != files[2]


def test_fit_leaves_global_generators_alone(reviews: Reviews) -> None:
    numpy_before, torch_before = np.random.get_state()[1].copy(), torch.get_rng_state()  # noqa: NPY002
    tiny(epochs=1).fit(*reviews).predict(reviews[0])
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), torch_before)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_threads_are_as_many_as_asked_and_given_back(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch, n_jobs: int | None
) -> None:
    seen = []

    class Watch(Callback):
        def on_epoch_end(self, epoch: int, row: Any, is_best: bool) -> None:
            seen.append(torch.get_num_threads())

    monkeypatch.setattr("adasent.estimators.neural.ProgressBar", Watch)
    before = torch.get_num_threads()
    tiny(epochs=1, verbose=1, n_jobs=n_jobs).fit(*reviews)
    assert seen == [n_jobs or 1]
    assert torch.get_num_threads() == before


def test_random_state_may_be_a_generator(reviews: Reviews) -> None:
    models = [tiny(epochs=1, random_state=np.random.RandomState(3)).fit(*reviews) for _ in range(2)]
    assert models[0].training_["seed"] == models[1].training_["seed"]
    rng = np.random.RandomState(3)
    seeds = [tiny(epochs=1, random_state=rng).fit(*reviews).training_["seed"] for _ in range(2)]
    assert seeds[0] != seeds[1]


# -- interruption --------------------------------------------------------------------------------


class Interrupt(Callback):
    def on_epoch_end(self, epoch: int, row: Any, is_best: bool) -> None:
        if epoch == 1:
            raise KeyboardInterrupt


def test_ctrl_c_leaves_a_usable_model(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = tiny(epochs=4).fit(*reviews)
    monkeypatch.setattr("adasent.estimators.neural.ProgressBar", Interrupt)
    clf = tiny(epochs=4, verbose=1, checkpoint=tmp_path / "run")
    with pytest.warns(AdaSentWarning, match="interrupted after 2 epochs; the model is that of"):
        clf.fit(*reviews)
    assert len(clf.history_) == 2
    assert np.isfinite(clf.predict_proba(reviews[0])).all()

    again = clone(clf).set_params(verbose=0).fit(*reviews)  # goes on from the checkpoint
    np.testing.assert_array_equal(again.predict_proba(reviews[0]), whole.predict_proba(reviews[0]))
    assert any((tmp_path / "run").iterdir())  # until the model is on disk
    again.save(tmp_path / "model")
    assert not any((tmp_path / "run").iterdir())


def test_a_finished_run_is_kept_until_it_is_saved(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    clf = tiny(epochs=3, checkpoint=tmp_path / "run").fit(*reviews)

    class Forbidden(Callback):
        def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
            raise AssertionError("trained again")

    monkeypatch.setattr("adasent.estimators.neural.ProgressBar", Forbidden)
    again = clone(clf).set_params(verbose=1).fit(*reviews)
    for name, tensor in clf.model_.state_dict().items():
        assert torch.equal(again.model_.state_dict()[name], tensor), name
    again.save(tmp_path / "model")
    again.save(tmp_path / "model")
    assert not any((tmp_path / "run").iterdir())


def test_saving_leaves_the_checkpoint_of_another_run(reviews: Reviews, tmp_path: Path) -> None:
    one = tiny(epochs=1, checkpoint=tmp_path / "run").fit(*reviews)
    (tmp_path / "run" / "checkpoint.safetensors").unlink()
    tiny(epochs=2, checkpoint=tmp_path / "run").fit(*reviews)
    one.save(tmp_path / "model")
    assert any((tmp_path / "run").iterdir())


def test_checkpoint_of_other_data_is_refused(
    reviews: Reviews, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("adasent.estimators.neural.ProgressBar", Interrupt)
    clf = tiny(epochs=4, verbose=1, checkpoint=tmp_path)
    with pytest.warns(AdaSentWarning, match="interrupted"):
        clf.fit(*reviews)
    for texts, settings in (
        (["another text", *reviews[0][1:]], {}),
        (reviews[0], {"learning_rate": 0.5}),
        (reviews[0], {"random_state": 9}),
    ):
        with pytest.raises(CheckpointError, match="other data, settings or versions"):
            clone(clf).set_params(verbose=0, **settings).fit(texts, reviews[1])


def test_verbose_writes_to_standard_error(
    reviews: Reviews, capsys: pytest.CaptureFixture[str]
) -> None:
    tiny(epochs=1, verbose=1).fit(*reviews)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "epoch   1  loss" in captured.err


# -- composition ---------------------------------------------------------------------------------


def shout(texts: list[str]) -> list[str]:
    return [text.upper() for text in texts]


def test_works_in_a_pipeline(reviews: Reviews) -> None:
    pipeline = make_pipeline(FunctionTransformer(shout), tiny(epochs=6))
    assert pipeline.fit(*reviews).score(*reviews) > 0.9


def test_works_in_grid_search(reviews: Reviews) -> None:
    search = GridSearchCV(tiny(), {"pooling": ["mean", "max"], "epochs": [1]}, cv=2)
    search.fit(*reviews)
    assert search.best_params_["pooling"] in ("mean", "max")
    assert search.best_estimator_.predict(["a film"]).shape == (1,)


def test_works_in_cross_validation(reviews: Reviews) -> None:
    scores = cross_val_score(tiny(epochs=6), *reviews, cv=3)
    assert scores.shape == (3,)
    assert scores.mean() > 0.8


# -- scikit-learn's own checks -------------------------------------------------------------------


class NumbersAsText(AdaSentClassifier):
    """Writes each row of numbers, in halves, as a text ("c0_3 c1_-2"), so the checks can run."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, validation: Any = None) -> Any:
        return super().fit(self._as_texts(X, reset=True), y, sample_weight, validation=validation)

    def predict_proba(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return super().predict_proba(self._as_texts(X, reset=False))

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Any:
        texts = self._as_texts(X, reset=not self.__sklearn_is_fitted__())
        return super().partial_fit(texts, y, classes, sample_weight)

    def transform(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        return super().transform(self._as_texts(X, reset=False))

    def _as_texts(self, X: Any, *, reset: bool) -> list[str]:
        rows = validate_data(self, X, reset=reset)
        return [" ".join(f"c{i}_{round(2 * float(v))}" for i, v in enumerate(row)) for row in rows]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = tags.input_tags.one_d_array = False
        tags.input_tags.two_d_array = True
        return tags


def exceptions(estimator: Any) -> dict[str, str]:
    return {
        "check_sample_weight_equivalence_on_dense_data": (
            "a weight of 2 and a repeated text agree to the precision of float32 sums and only "
            "when both fit one batch; a weight of 0 and a text left out agree exactly, see "
            "test_weight_zero_is_the_same_as_leaving_out"
        ),
    }


@pytest.mark.filterwarnings("ignore::adasent.errors.AdaSentWarning")
@parametrize_with_checks(
    [
        NumbersAsText(
            hidden_size=16,
            vector_size=16,
            classifier_size=16,
            pooling="max",
            epochs=6,
            batch_size=25,
            learning_rate=0.03,
            word_dropout=0.0,
            vector_dropout=0.0,
            dropout=0.0,
            validation_fraction=0,
        )
    ],
    expected_failed_checks=exceptions,
)
def test_scikit_learn_checks(
    estimator: Any, check: Callable[[Any], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The check of order draws an order without a seed and asks for 1e-7; batches are in float32.
    def close(one: Any, other: Any, rtol: float = 0, atol: float = 0, err_msg: str = "") -> None:
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6, err_msg=err_msg)

    if "invariance" in check.func.__name__:  # type: ignore[attr-defined]
        for name in ("assert_allclose", "assert_allclose_dense_sparse"):
            monkeypatch.setattr(f"sklearn.utils.estimator_checks.{name}", close)
    check(estimator)


def test_tags_announce_text() -> None:
    tags = AdaSentClassifier().__sklearn_tags__()
    assert tags.estimator_type == "classifier"
    assert (tags.input_tags.string, tags.input_tags.one_d_array) == (True, True)
    assert not tags.input_tags.two_d_array
    assert not tags.input_tags.sparse
    assert tags.classifier_tags.multi_class
    assert tags.target_tags.required
    assert not tags.non_deterministic


def test_explains_what_it_predicts(reviews: Reviews) -> None:
    clf = tiny(epochs=1).fit(*reviews)
    one = clf.explain("a good film")
    np.testing.assert_allclose(one.probabilities, clf.predict_proba(["a good film"])[0], atol=1e-6)
    assert [found.text for found in clf.explain(["good", "bad film"])] == ["good", "bad film"]

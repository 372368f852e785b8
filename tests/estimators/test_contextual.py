"""Estimators on an encoder, frozen or tuned, from fit to a saved model that predicts the same."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.base import clone

import adasent
from adasent import AdaSentClassifier
from adasent.data.corpus import Corpus
from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import (
    AdaSentWarning,
    ConfigError,
    MissingDependencyError,
    ModelFormatError,
)
from adasent.estimators.registry import SYSTEMS, load_estimator, make
from adasent.evaluation.crossval import cross_validate
from adasent.serve.work import Explain, Predict

TINY: dict[str, Any] = {"classifier_size": 8, "epochs": 6, "batch_size": 10, "learning_rate": 0.02}
TINY |= {"tuning_epochs": 4, "tuning_batch": 16, "encoder_rate": 1e-3, "vector_dropout": 0.1}
SMALL = TINY | {"hidden_size": 8}
PROBES = ["a good film", "an awful, dreadful plot!", "good", "don't", "x \U0001f600 good"]

Reviews = tuple[list[str], list[str]]


@pytest.fixture(scope="module", autouse=True)
def features(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    with pytest.MonkeyPatch.context() as patch:
        cache = tmp_path_factory.mktemp("cache")
        patch.setenv("ADASENT_CACHE", str(cache))
        yield cache


@pytest.fixture(scope="module")
def models(encoder_folder: Path, reviews: Reviews, features: Path) -> dict[bool, AdaSentClassifier]:
    """A frozen and a tuned one."""
    return {
        tuned: AdaSentClassifier(encoder=encoder_folder, tune_encoder=tuned, **SMALL).fit(*reviews)
        for tuned in (False, True)
    }


@pytest.mark.parametrize("tuned", [False, True])
def test_it_learns(models: dict[bool, AdaSentClassifier], reviews: Reviews, tuned: bool) -> None:
    clf = models[tuned]
    assert clf.score(*reviews) > 0.8
    assert clf.vocabulary_.words == ("<pad>", "<unk>")
    assert len(clf.model_.embedding.trained) == 2
    assert clf.training_["unseen"]["n_unknown"] == 0
    # One model on all paths: the runtime, and torch.
    p = clf.predict_proba(PROBES)
    np.testing.assert_allclose(p, clf._by_network(PROBES), atol=1e-5)
    np.testing.assert_allclose(p[::-1], clf.predict_proba(PROBES[::-1]), atol=1e-5)


@pytest.mark.parametrize("tuned", [False, True])
@pytest.mark.parametrize("inside", [True, False])
def test_a_saved_model_predicts_the_same(
    models: dict[bool, AdaSentClassifier], tuned: bool, inside: bool, tmp_path: Path
) -> None:
    clf = models[tuned].set_params(save_encoder=inside)
    clf.save(tmp_path / "model")
    header = json.loads((tmp_path / "model" / "config.json").read_text())
    assert header["format"] == 2
    assert header["encoder"]["inside"] is (inside or tuned)
    assert (tmp_path / "model" / "encoder").exists() is (inside or tuned)
    expected = clf.predict_proba(PROBES)
    predictor = adasent.load(tmp_path / "model")
    np.testing.assert_array_equal(predictor.predict_proba(PROBES), expected)
    again = AdaSentClassifier.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(PROBES), expected)
    assert again.tune_encoder is tuned
    assert again.save_encoder is (inside or tuned)
    assert again.encoder_rate == (1e-3 if tuned else 3e-5)
    why = again.explain("a good film")
    np.testing.assert_allclose(why.contributions.sum(axis=0), why.probabilities, atol=1e-6)
    # Saved again, over itself, it is the same once more.
    again.save(tmp_path / "model")
    np.testing.assert_array_equal(adasent.load(tmp_path / "model").predict_proba(PROBES), expected)
    assert "30" not in repr(predictor)
    assert "98 words of 16 dimensions" in repr(predictor)


def test_the_service_reads_with_it(models: dict[bool, AdaSentClassifier], tmp_path: Path) -> None:
    models[False].save(tmp_path / "model")
    predictor = adasent.load(tmp_path / "model")
    predict, explain = Predict(predictor), Explain(predictor, 50)
    prepared = [predict.prepare(text)[0] for text in PROBES]
    found = [list(one["probabilities"]) for one in predict.run(prepared)]
    np.testing.assert_allclose(found, predictor.predict_proba(PROBES), atol=1e-5)
    answer = json.loads(explain.run([explain.prepare(PROBES[0])[0]])[0])
    assert answer["tokens"] == ["a", "good", "film"]


def test_a_wrong_encoder_is_refused(
    models: dict[bool, AdaSentClassifier], encoder_folder: Path, tmp_path: Path
) -> None:
    clf = models[False].set_params(save_encoder=True)
    clf.save(tmp_path / "model")
    with (tmp_path / "model" / "encoder" / "config.json").open("a") as file:
        file.write(" ")
    with pytest.raises(ModelFormatError, match="was trained on an encoder with the hash"):
        adasent.load(tmp_path / "model")
    shutil.rmtree(tmp_path / "model" / "encoder")
    with pytest.raises(ModelFormatError, match="not a plain folder"):
        adasent.load(tmp_path / "model")
    other = Path(shutil.copytree(encoder_folder, tmp_path / "other"))
    (tmp_path / "model" / "config.json").write_text(
        json.dumps(
            (header := json.loads((tmp_path / "model" / "config.json").read_text()))
            | {"encoder": header["encoder"] | {"inside": False, "name": str(other)}}
        )
    )
    adasent.load(tmp_path / "model")
    shutil.rmtree(other)
    with pytest.raises(ModelFormatError, match="saved without its encoder"):
        adasent.load(tmp_path / "model")


def test_one_seed_gives_one_model(
    models: dict[bool, AdaSentClassifier], reviews: Reviews, tmp_path: Path
) -> None:
    for tuned, clf in models.items():
        again = clone(clf).fit(*reviews)
        clf.save(tmp_path / "one")
        again.save(tmp_path / "two")
        for name in ("model.safetensors", "config.json", "encoder/model.safetensors"):
            paths = [tmp_path / one / name for one in ("one", "two")]
            if tuned or "encoder" not in name:
                assert paths[0].read_bytes() == paths[1].read_bytes(), name


def test_features_are_computed_once(
    encoder_folder: Path, reviews: Reviews, own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clf = AdaSentClassifier(encoder=str(encoder_folder), **SMALL | {"epochs": 1})
    first = clf.fit(*reviews).history_
    assert list((own_cache / "features").rglob("*.safetensors"))

    def nothing(*_: object) -> None:
        raise AssertionError("computed again")

    monkeypatch.setattr(TransformerEncoder, "features", nothing)
    again = clone(clf).fit(*reviews)
    assert again.history_.column("train_loss") == first.column("train_loss")


@pytest.mark.parametrize("tuned", [False, True])
def test_a_checkpoint_of_a_finished_run(
    encoder_folder: Path, reviews: Reviews, tuned: bool, tmp_path: Path
) -> None:
    settings = SMALL | {"checkpoint": tmp_path / "state", "tune_encoder": tuned}
    first = AdaSentClassifier(encoder=encoder_folder, **settings).fit(*reviews)
    (path,) = (tmp_path / "state").iterdir()
    if not tuned:
        assert path.stat().st_size < 100_000  # without the features
    again = AdaSentClassifier(encoder=encoder_folder, **settings).fit(*reviews)
    np.testing.assert_array_equal(first.predict_proba(PROBES), again.predict_proba(PROBES))
    again.save(tmp_path / "model")
    assert not path.exists()


def test_every_network_that_reads_vectors(
    encoder_folder: Path, reviews: Reviews, tmp_path: Path
) -> None:
    for name in ("cbow", "brnn", "cnn"):
        for tuned in (False, True):
            clf = make(name, encoder=encoder_folder, tune_encoder=tuned, **_known(name))
            clf.fit(*reviews).save(tmp_path / name)
            expected = clf.predict_proba(PROBES)
            again = load_estimator(tmp_path / name)
            np.testing.assert_array_equal(again.predict_proba(PROBES), expected)


def _known(name: str) -> dict[str, Any]:
    known = make(name).get_params()
    return {key: value for key, value in SMALL.items() if key in known}


def test_what_cannot_stand_on_an_encoder(encoder_folder: Path, reviews: Reviews) -> None:
    with pytest.raises(ConfigError, match="keeps more of a word than its vector"):
        make("cnn", encoder=encoder_folder, multichannel=True, epochs=1).fit(*reviews)
    with pytest.raises(ConfigError, match="got both"):
        AdaSentClassifier(encoder=encoder_folder, vectors="x.bin").fit(*reviews)
    assert [name for name, entry in SYSTEMS.items() if not entry.encoders] == [
        "mnb",
        "nbsvm",
        "paragraph-vector",
        "mv-recnn",
    ]


def test_odd_texts(encoder_folder: Path, reviews: Reviews) -> None:
    texts, labels = list(reviews[0]), reviews[1]
    texts[0], texts[1] = "", "\x00 good"
    clf = AdaSentClassifier(encoder=encoder_folder, **SMALL | {"epochs": 1})
    with pytest.warns(AdaSentWarning) as caught:
        clf.fit(texts, labels)
    messages = " ".join(str(one.message) for one in caught)
    assert "1 without a word" in messages
    assert "of 120 texts: 1 words of which the encoder's tokenizer makes nothing" in messages


def test_folds(encoder_folder: Path, reviews: Reviews, tmp_path: Path) -> None:
    corpus = Corpus("reviews", *reviews, sha256="0" * 64)
    for tuned in (False, True):
        settings = SMALL | {"encoder": str(encoder_folder), "tune_encoder": tuned, "epochs": 2}
        out = tmp_path / "folds.jsonl"
        records = [r for r, _ in cross_validate(corpus, settings, n_folds=2, out=out)]
        assert len(records) == 2
        spec = records[0].spec
        assert spec["encoder"]["name"] == "tiny"
        assert len(spec["encoder"]["sha256"]) == 64
        assert ("encoder_rate" in spec) is tuned
        again = list(cross_validate(corpus, settings, n_folds=2, out=out))
        assert not any(is_new for _, is_new in again)


def test_what_is_missing_is_named(
    encoder_folder: Path,
    reviews: Reviews,
    models: dict[bool, AdaSentClassifier],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    models[False].save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[encoder\]'"):
        AdaSentClassifier(encoder=encoder_folder).fit(*reviews)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[encoder\]'"):
        adasent.load(tmp_path / "model")


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("tuned", [False, True])
def test_a_gpu_trains_and_says_what_the_cpu_says(
    encoder_folder: Path, reviews: Reviews, tuned: bool
) -> None:
    clf = AdaSentClassifier(encoder=encoder_folder, tune_encoder=tuned, device="cuda", **SMALL)
    clf.fit(*reviews)
    assert clf.score(*reviews) > 0.8
    there = clf.predict_proba(PROBES)
    here = clf.set_params(device="cpu").predict_proba(PROBES)
    np.testing.assert_allclose(there, here, atol=2e-2)

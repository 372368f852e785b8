"""Prediction by the network in torch, and the device it runs on."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators import prediction
from adasent.estimators.prediction import find_device, network_proba

TEXTS = ["good film", "bad film", "a film so bad", "so good a film it is", "x", ""] * 3
LABELS = [1, 0, 0, 1, 1, 0] * 3


@pytest.fixture(scope="module")
def fitted() -> AdaSentClassifier:
    clf = AdaSentClassifier(hidden_size=6, epochs=2, max_height=3)
    with pytest.warns(UserWarning, match="without a word"):
        return clf.fit(TEXTS, LABELS)


@pytest.mark.filterwarnings("ignore:of .* without a word")
def test_torch_and_numpy_agree(fitted: AdaSentClassifier, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prediction, "_ON_CPU", 4)  # several batches
    found = network_proba(fitted.model_, fitted.encoder_(TEXTS))
    np.testing.assert_allclose(found, fitted.predict_proba(TEXTS), atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_no_text_at_all(fitted: AdaSentClassifier) -> None:
    assert network_proba(fitted.model_, []).shape == (0, 2)


def test_a_device_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_device("cpu") == torch.device("cpu")
    assert find_device(None).type in ("cpu", "cuda")
    with pytest.raises(ConfigError, match="such as cpu, cuda or cuda:1; got 'gpu'"):
        find_device("gpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert find_device("cuda").type == "cuda"
    with pytest.raises(ConfigError, match="finds 1 CUDA devices; use cpu"):
        find_device("cuda:1")


def test_a_device_that_is_not_there_is_refused_before_any_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    clf = AdaSentClassifier(device="cuda", epochs=1)
    with pytest.raises(ConfigError, match="'cuda' is not there"):
        clf.fit(TEXTS[:5], LABELS[:5])


def test_the_copy_on_a_gpu_is_made_once_and_not_stored(
    fitted: AdaSentClassifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With torch's device without memory in the place of a GPU."""
    monkeypatch.setattr("adasent.estimators.neural.find_device", lambda name: torch.device("meta"))
    placed = fitted._placed()
    assert placed.embedding.trained.device.type == "meta"
    assert fitted._placed() is placed
    again = copy.deepcopy(fitted)
    assert "_copy" not in vars(again)
    assert fitted.model_.embedding.trained.device.type == "cpu"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.filterwarnings("ignore:of .* without a word")
def test_a_gpu_says_what_the_cpu_says(fitted: AdaSentClassifier) -> None:
    expected = fitted.predict_proba(TEXTS)
    fitted.device = "cuda"
    try:
        np.testing.assert_allclose(fitted.predict_proba(TEXTS), expected, atol=1e-5)
    finally:
        fitted.device = None

"""Prediction by the network in torch, and the device it runs on."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch

from adasent import AdaSentClassifier
from adasent.errors import ConfigError
from adasent.estimators import prediction
from adasent.estimators.prediction import find_device, network_proba
from adasent.systems.adasent import AdaSent
from adasent.systems.base import System
from adasent.systems.cbow import CBow
from adasent.systems.cnn import Cnn
from adasent.systems.grconv import GrConv
from adasent.systems.rnn import BRnn
from adasent.text.batch import pad

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


def network(kind: type[System]) -> System:
    torch.manual_seed(0)
    model = kind(kind.config_type(n_trained=9, n_classes=3, vector_size=4)).eval()
    torch.nn.init.normal_(model.embedding.trained)
    return model


def rows_of(lengths: list[int]) -> list[np.ndarray]:
    generator = np.random.default_rng(0)
    return [generator.integers(1, 9, n) for n in lengths]


@pytest.mark.parametrize("kind", [AdaSent, GrConv, CBow, Cnn])
def test_texts_come_the_longest_first_and_keep_their_places(
    kind: type[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Lengths stay on the CPU for the networks that have a pyramid."""
    sent: list[tuple[list[Any], bool]] = []
    send = prediction._send

    def recorded(array: np.ndarray, device: torch.device, *, stay: bool = False) -> torch.Tensor:
        sent.append((array.tolist(), stay))
        return send(array, device, stay=stay)

    model, rows = network(kind), rows_of([3, 1, 5, 2, 4])
    expected = np.concatenate([network_proba(model, [row]) for row in rows])
    monkeypatch.setattr(prediction, "_send", recorded)
    monkeypatch.setattr(prediction, "_ON_CPU", 2)
    np.testing.assert_allclose(network_proba(model, rows), expected, atol=1e-6)
    stays = kind in (AdaSent, GrConv)
    assert sent[::2] == [([5], stays), ([3, 4], stays), ([1, 2], stays)]
    assert not any(stay for _, stay in sent[1::2])


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


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("kind", [AdaSent, GrConv, CBow, Cnn, BRnn])
def test_every_kind_of_network_predicts_on_a_gpu(
    kind: type[System], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(prediction, "_ON_GPU", 128)  # several batches
    model, rows = network(kind), rows_of([*range(1, 40), 150] * 5)
    expected = network_proba(model, rows)
    np.testing.assert_allclose(network_proba(model.cuda(), rows), expected, atol=1e-5)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
@pytest.mark.parametrize("kind", [AdaSent, GrConv])
@torch.no_grad()
def test_nothing_waits_for_a_gpu(kind: type[System]) -> None:
    device = torch.device("cuda")
    model, batch = network(kind).to(device), pad(rows_of([1, 2, 5]))

    def predict() -> None:
        ids, lengths = prediction._send(batch.ids, device), batch.lengths
        model(ids, prediction._send(lengths, device, stay=model.host_lengths))

    predict()  # kernels are loaded
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        predict()
    finally:
        torch.cuda.set_sync_debug_mode("default")

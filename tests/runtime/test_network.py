"""Probabilities and traces in numpy are those of torch, whatever the settings and the company."""

from __future__ import annotations

import itertools
import sys
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.errors import AdaSentError
from adasent.runtime.climb import NUMPY, UNITS_WORTH_NUMBA, Backend
from adasent.runtime.network import Network, _distinct

LENGTHS = [1, 2, 9, 3, 63, 9, 1, 31, 64, 2]
SETTINGS = [
    dict(
        zip(
            ("pooling", "activation", "local_gate", "level_gate", "classifier_size"), v, strict=True
        )
    )
    for v in itertools.product(
        ("max", "mean"), ("tanh", "relu"), ("softmax", "mlp"), ("softmax", "mlp"), (0, 6)
    )
]


def random_texts(lengths: list[int], n_words: int = 12) -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.integers(0, n_words, size=length) for length in lengths]


SETTINGS += [
    {"hidden_size": 6, "gate_groups": 2},
    {"hidden_size": 6, "gate_groups": 6, "pooling": "mean", "activation": "relu"},
    {"max_height": 5},
    {"hidden_size": 6, "gate_groups": 3, "max_height": 1},
]


@pytest.mark.parametrize("settings", SETTINGS)
def test_same_as_torch(
    make_pair: Callable[..., Any], settings: dict[str, Any], backend: str
) -> None:
    pair, texts = make_pair(**settings), random_texts(LENGTHS)
    found = pair.network.probabilities(texts)
    np.testing.assert_allclose(found, pair.torch_probabilities(texts), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("size", [1, 20, 50])
@pytest.mark.parametrize("n_classes", [1, 2])
def test_other_sizes(make_pair: Callable[..., Any], size: int, n_classes: int) -> None:
    pair, texts = make_pair(hidden_size=size, n_classes=n_classes), random_texts([2, 70, 5])
    found = pair.network.probabilities(texts)
    np.testing.assert_allclose(found, pair.torch_probabilities(texts), rtol=0, atol=1e-6)


def test_several_batches(make_pair: Callable[..., Any], backend: str) -> None:
    pair = make_pair()
    lengths = np.random.default_rng(0).integers(1, 30, size=150).tolist()
    texts = random_texts(lengths)  # some thousand words: more than one batch
    found = pair.network.probabilities(texts)
    np.testing.assert_allclose(found, pair.torch_probabilities(texts), rtol=0, atol=1e-6)


def test_company_and_order_change_nothing(make_pair: Callable[..., Any], backend: str) -> None:
    network, texts = make_pair().network, random_texts(LENGTHS)
    together = network.probabilities(texts)
    np.testing.assert_allclose(network.probabilities(texts[::-1])[::-1], together, atol=1e-6)
    for text, row in zip(texts, together, strict=True):
        np.testing.assert_allclose(network.probabilities([text])[0], row, atol=1e-6)


def test_no_texts(make_pair: Callable[..., Any]) -> None:
    assert make_pair().network.probabilities([]).shape == (0, 3)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"local_gate": "mlp", "pooling": "mean"},
        {"hidden_size": 6, "gate_groups": 2},
        {"hidden_size": 6, "gate_groups": 6, "max_height": 4},
        {"hidden_size": 6, "gate_groups": 3, "local_gate": "mlp", "max_height": 1},
    ],
)
@pytest.mark.parametrize("length", [1, 2, 9])
def test_trace_is_what_torch_computed(
    make_pair: Callable[..., Any], settings: dict[str, Any], length: int, backend: str
) -> None:
    pair, (ids,) = make_pair(**settings), random_texts([length])
    trace = pair.network.trace([str(i) for i in ids], ids)
    output = pair.torch_output([ids], keep_units=True)
    expected = output.pyramid
    assert trace.tokens == tuple(str(i) for i in ids)
    n_levels = min(length, settings.get("max_height", length))
    assert (len(trace.units), len(trace.gates)) == (n_levels, n_levels - 1)
    for found, wanted in zip(
        (*trace.units, *trace.gates), (*expected.units, *expected.gates), strict=True
    ):
        np.testing.assert_allclose(found, wanted.numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(trace.levels, expected.levels.data.numpy(), rtol=0, atol=1e-5)
    np.testing.assert_allclose(trace.beliefs, output.log_beliefs[0].exp().numpy(), atol=1e-6)
    np.testing.assert_allclose(trace.level_log_probs, output.level_log_probs[0].numpy(), atol=1e-5)
    np.testing.assert_allclose(trace.level_probabilities, np.exp(trace.level_log_probs))
    np.testing.assert_allclose(
        trace.probabilities, pair.network.probabilities([ids])[0], rtol=0, atol=1e-6
    )
    np.testing.assert_allclose(
        trace.beliefs @ trace.level_probabilities, trace.probabilities, rtol=0, atol=1e-12
    )


def test_overflow_is_an_error_and_never_nan(make_pair: Callable[..., Any], backend: str) -> None:
    pair = make_pair(activation="relu")
    tensors = pair.tensors | {"projection.weight": np.full((7, 5), 3e38, dtype=np.float32)}
    network = Network(pair.config, pair.table, tensors)
    for use in (network.probabilities, lambda texts: network.trace("", texts[0])):
        with pytest.raises(AdaSentError, match="the network overflows on these texts"):
            use([np.array([3, 4, 5])])


def test_memory_grows_with_the_words_not_the_units(
    make_pair: Callable[..., Any], backend: str
) -> None:
    network = make_pair(hidden_size=20).network
    network.probabilities(random_texts([3]))  # what numba loads at its start is not counted
    peaks = []
    for length in (500, 1000):
        texts = random_texts([length])
        tracemalloc.start()
        network.probabilities(texts)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 2.2 * peaks[0]
    assert peaks[1] < 1000 * 20 * 4 * 30  # all units would be 500 rows a word


# -- numba or not --------------------------------------------------------------------------------

COMPILED = "adasent.runtime.compiled"
MANY = np.full(UNITS_WORTH_NUMBA, 20)
SOME = np.ones(UNITS_WORTH_NUMBA * 2 // 5, dtype=np.int64)  # a unit each


def test_numba_is_started_when_it_pays(
    make_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    monkeypatch.delitem(sys.modules, "numba")  # as in a process that has not imported it yet
    composition, backend = make_pair().network.composition, Backend()
    assert [backend.passes(composition, SOME, None).name for _ in range(2)] == ["numpy", "numpy"]
    assert backend.passes(composition, SOME, None).name == "numba"  # all calls together


def test_numba_is_used_once_it_is_there(make_pair: Callable[..., Any]) -> None:
    pytest.importorskip("numba")
    pytest.importorskip("scipy")
    assert Backend().passes(make_pair().network.composition, MANY[:1], None).name == "numba"


def test_numba_is_not_used_for_an_mlp_gate(make_pair: Callable[..., Any]) -> None:
    assert Backend().passes(make_pair(local_gate="mlp").network.composition, MANY, None) is NUMPY


@pytest.mark.parametrize("missing", ["numba", "scipy"])
def test_without_numba_or_scipy_numpy_does_it(
    make_pair: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.delitem(sys.modules, COMPILED, raising=False)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)  # its import now fails
    monkeypatch.setitem(sys.modules, missing, None)
    backend, composition = Backend(), make_pair().network.composition
    assert backend.passes(composition, MANY, None) is NUMPY
    monkeypatch.undo()
    assert backend.passes(composition, MANY, None) is NUMPY  # what failed is not tried again


@pytest.mark.parametrize("n_words", [4, 10_000])
def test_distinct_ids_whether_few_or_many(n_words: int) -> None:
    ids = np.array([3, 1, 3, 3, 0, 1])
    distinct, which = _distinct(ids, n_words)
    assert distinct.tolist() == [0, 1, 3]
    np.testing.assert_array_equal(distinct[which], ids)

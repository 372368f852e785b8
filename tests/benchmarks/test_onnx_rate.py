"""What ONNX Runtime is measured against does the same work, and its rows are complete."""

from __future__ import annotations

import numpy as np
import pytest

from adasent.runtime.climb import NUMPY
from benchmarks import onnx_rate, workloads
from benchmarks.records import Result
from benchmarks.registry import Sizes
from benchmarks.workloads import Split, WholePrediction
from examples.onnx_predict import classify, pad

TINY = Sizes(repeats=2, n_sentences=5, n_equal=2)


@pytest.fixture(autouse=True)
def split(monkeypatch: pytest.MonkeyPatch, reviews: tuple[list[str], list[str]]) -> Split:
    """A few made-up reviews in the place of MR, and units of few dimensions."""
    texts, labels = reviews
    made = Split(texts[:100], labels[:100], texts[100:], labels[100:])
    for module in (onnx_rate, workloads):
        monkeypatch.setattr(module, "mr", lambda: made)
    for name, value in {"HIDDEN": 6, "VECTOR": 5, "GROUPS": (1, 6)}.items():
        monkeypatch.setattr(onnx_rate, name, value)
    return made


def values(results: list[Result], unit: str) -> dict[tuple[str, str], np.ndarray]:
    return {(r.provider, r.against): np.array(list(r.values)) for r in results if r.unit == unit}


def test_ratios_are_those_of_the_rounds() -> None:
    results = list(onnx_rate.on_mr(TINY))
    rates, ratios = values(results, "sentences/s"), values(results, "ratio")
    assert {name for name, _ in rates} == {
        f"{name}, N = {n}" for name in onnx_rate.RIVALS for n in (1, 6)
    }
    for name, rival in (("onnx", "numpy"), ("onnx", "numba"), ("onnx, gates", "traces")):
        expected = rates[f"{name}, N = 6", ""] / rates[f"{rival}, N = 6", ""]
        np.testing.assert_allclose(ratios[f"{name}, N = 6", rival], expected)


def test_levels_one_after_the_other_are_those_of_the_loop(split: Split) -> None:
    network = WholePrediction(split.train_texts[:1], 6, 5, 6).network
    ids = [np.arange(2, 2 + onnx_rate.EQUAL) % len(network.table) for _ in range(3)]
    batch = pad(ids, keep_gates=True)
    loop = onnx_rate.open_graph(network).run(None, batch)
    unrolled = onnx_rate.open_graph(network, onnx_rate.climb_unrolled).run(None, batch)
    for one, other in zip(loop, unrolled, strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-6)


def test_levels_are_measured_alone_and_together() -> None:
    ratios = values(list(onnx_rate.unrolled_levels(TINY)), "ratio")
    assert set(ratios) == {
        (f"loop, {how}, N = {n}", "unrolled") for how in ("alone", "together") for n in (1, 6)
    }


def test_all_classify_the_same(split: Split) -> None:
    network = WholePrediction(split.train_texts[:1], 6, 5, 1).network
    ids = [np.array([2, 3, 4]), np.array([5])]
    found = classify(onnx_rate.open_graph(network), ids)
    expected = onnx_rate.by(NUMPY, network).probabilities(ids)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)

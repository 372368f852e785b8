"""Finite weights that overflow only in parts of a text: an error, never NaN."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.errors import AdaSentError
from adasent.explain import explain


@pytest.mark.parametrize("method", ["shapley", "fast"])
def test_units_that_overflow(make_twin: Callable[..., Any], backend: str, method: str) -> None:
    twin = make_twin(pooling="max", activation="relu", classifier_size=4)
    twin.predictor.network.projection *= np.float32(1e37)
    found = explain(twin.predictor, "a good film", method=method)
    assert np.isfinite(found.probabilities).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # of the pyramid, which is built when it is asked for
        with pytest.raises(AdaSentError, match="overflows on these texts"):
            found.to_json()
        with pytest.raises(AdaSentError, match="overflows on these texts"):
            _ = found.unit_scores


def test_any_weights(make_twin: Callable[..., Any], backend: str) -> None:
    """Whatever is large: all of an explanation is finite, or refused."""
    rng = np.random.default_rng(0)
    n_refused = 0
    for trial in range(40):
        pooling, activation = ("max", "mean")[trial % 2], ("relu", "tanh")[trial // 2 % 2]
        twin = make_twin(pooling=pooling, activation=activation, local_gate="mlp")
        network = twin.predictor.network
        weights = [
            network.projection,
            network.composition.gate_bias,
            *network.head.tensors.values(),
        ]
        array = weights[rng.integers(len(weights))]
        with np.errstate(over="ignore"):
            array *= np.float32(10.0 ** rng.integers(20, 39))
        np.nan_to_num(array, copy=False)
        try:
            one = explain(twin.predictor, "the plot was bad", method=("shapley", "fast")[trial % 2])
            parts = (one.words, one.beliefs, one.gates.rows, one.unit_scores.rows)
            assert all(np.isfinite(part).all() for part in parts)
        except AdaSentError:
            n_refused += 1
    assert 0 < n_refused < 40

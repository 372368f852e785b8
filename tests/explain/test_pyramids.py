"""Whole pyramids, by every way to grow them, against the trace of each text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from adasent.explain import pyramids
from adasent.explain.places import Places
from adasent.explain.pyramids import grow

LENGTHS = np.array([6, 4, 4, 2, 1])


@pytest.mark.parametrize("scipy", [True, False])
@pytest.mark.parametrize("settings", [{}, {"pooling": "mean", "activation": "relu"}])
def test_every_unit_level_and_gate(
    make_twin: Callable[..., Any],
    settings: dict[str, Any],
    scipy: bool,
    backend: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pyramids, "has_scipy", lambda: scipy)
    network = make_twin(**settings).predictor.network
    ids = np.random.default_rng(1).integers(1, 12, size=int(LENGTHS.sum()))
    words, places = network.words(ids), Places.of(LENGTHS)
    which = np.empty_like(words.which)
    which[places.words] = words.which
    cells = network.compiler.cells(network.composition, LENGTHS)
    assert (cells is None) == (backend == "numpy")
    found = grow(words, which, places, network.composition, cells)
    n_words = len(ids)
    for text, own in enumerate(np.split(ids, places.first_word[1:-1])):
        trace = network.trace([""] * len(own), own)
        for t in range(len(own)):
            rows = places.rows(np.array([text]), t)[0]
            np.testing.assert_allclose(found.units[rows], trace.units[t], atol=1e-6)
            pooled = found.levels[places.starts[t] + text]
            np.testing.assert_allclose(pooled, trace.levels[t], atol=1e-6)
            if t:
                gates = found.gates[rows - n_words]
                np.testing.assert_allclose(gates, trace.gates[t - 1], atol=1e-6)

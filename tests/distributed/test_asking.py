"""Teachers asked over a real cluster say what they say here, and are asked once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from adasent.distributed.asking import ask_over
from adasent.errors import DataError
from adasent.estimators.registry import make
from adasent.teaching import labels
from adasent.teaching.labels import ask_here, label
from adasent.teaching.teacher import Teacher


def test_labels_over_a_cluster(
    ray_cluster: Any,
    reviews: tuple[list[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import ray

    monkeypatch.setattr(labels, "SHARD", 10)
    texts, known = reviews
    classes = np.unique(known)
    teachers = [Teacher(make(name).fit(texts, known), classes) for name in ("mnb", "nbsvm")]
    expected = label(texts, teachers, asking=ask_here).probabilities
    seen: list[tuple[int, int]] = []
    first = label(
        texts[:35],
        teachers,
        probes=texts,
        folder=tmp_path,
        asking=ask_over(ray, 2),
        progress=lambda *n: seen.append(n),
    )
    assert seen == [(10, 10), (20, 20), (30, 30), (35, 35)]
    np.testing.assert_allclose(first.probabilities, expected[:35], atol=1e-3)
    again = label(texts, teachers, probes=texts, folder=tmp_path, asking=ask_over(ray, 2))
    assert again.n_asked == len(texts) - 30
    np.testing.assert_allclose(again.probabilities, expected, atol=1e-3)


class Broken:
    """Gives scores where probabilities are asked for."""

    def predict_proba(self, texts: list[str]) -> np.ndarray:
        return np.full((len(texts), 2), 3.0)


def test_what_a_teacher_does_wrong_is_said_here(ray_cluster: Any) -> None:
    import ray

    teacher = Teacher(Broken(), np.array(["a", "b"]))
    with pytest.raises(DataError, match="scores and logits are no probabilities"):
        label(["one"], [teacher], asking=ask_over(ray))

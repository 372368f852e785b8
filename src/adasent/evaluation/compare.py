"""Models side by side on the same labelled texts, and whether they differ by more than chance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import DataError
from adasent.evaluation.metrics import Report, score_predictions
from adasent.evaluation.significance import Comparison
from adasent.evaluation.significance import compare as test_pair


@dataclass(frozen=True)
class Pair:
    """Two models on the same texts."""

    first: str
    second: str
    agreement: float  # share of texts that both label alike
    tests: Comparison  # first less second

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self) | {"supported": self.tests.supported}


@dataclass(frozen=True)
class SideBySide:
    """Models on the same texts."""

    reports: Mapping[str, Report]
    pairs: tuple[Pair, ...]
    #: Of each model, positions of the texts that it alone has right.
    alone: Mapping[str, list[int]]
    n_all_right: int
    n_none_right: int


def side_by_side(labels: Sequence[Label], predicted: Mapping[str, Sequence[Label]]) -> SideBySide:
    """Compare what models predicted, by the name of each, with the labels of the texts."""
    if len(predicted) < 2:
        raise DataError(f"expected at least two models to compare, got {len(predicted)}")
    reports = {name: score_predictions(labels, found) for name, found in predicted.items()}
    right = {
        name: np.array([a == b for a, b in zip(labels, found, strict=True)])
        for name, found in predicted.items()
    }
    pairs = tuple(
        Pair(
            a,
            b,
            float(np.mean([x == y for x, y in zip(predicted[a], predicted[b], strict=True)])),
            test_pair(right[a], right[b]),
        )
        for a, b in combinations(predicted, 2)
    )
    n_right = np.sum(list(right.values()), axis=0)
    alone = {name: np.flatnonzero(own & (n_right == 1)).tolist() for name, own in right.items()}
    n_all, n_none = int((n_right == len(right)).sum()), int((n_right == 0).sum())
    return SideBySide(reports, pairs, alone, n_all, n_none)

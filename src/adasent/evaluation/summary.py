"""Mean, spread and interval of the scores of several runs."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from scipy import stats

from adasent.errors import DataError
from adasent.evaluation.significance import LEVEL


@dataclass(frozen=True)
class Summary:
    """Mean of n scores, its spread and interval; these are None for a single run."""

    n: int
    mean: float
    sd: float | None  # over the runs, n - 1 below the line
    # 95 % interval of the mean by Student's t. Folds share most of their training texts, so that it
    # is too narrow rather than too wide.
    low: float | None
    high: float | None


def summarise(scores: Sequence[float]) -> Summary:
    """Mean, standard deviation and 95 % interval."""
    if not scores:
        raise DataError("expected at least one score, got none")
    n, mean = len(scores), statistics.fmean(scores)
    if n == 1:
        return Summary(1, mean, None, None, None)
    sd = statistics.stdev(scores)
    half = float(stats.t.ppf(1 - LEVEL / 2, n - 1)) * sd / n**0.5
    return Summary(n, mean, sd, mean - half, mean + half)

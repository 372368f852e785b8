"""Tests whether two systems differ, by their right and wrong answers on the same texts.

Two paired tests, each blind where the other is not: McNemar counts only the texts on which the
systems differ, the bootstrap gives an interval for the difference in accuracy. Answers of all folds
are pooled, so every text counts once. A text that was tested in several runs counts with its share
of right answers; McNemar's test then becomes what it is a case of, the test that turns the signs of
the differences by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from adasent.errors import DataError

#: Texts that must differ before the chi-square approximation replaces the exact test.
MIN_DISCORDANT = 25
#: What "supported" means: a p-value below this, an interval that covers the rest.
LEVEL = 0.05

#: Draws of a test by chance.
N_DRAWS = 10_000

Answers = npt.NDArray[np.bool_] | npt.NDArray[np.float64] | Sequence[bool] | Sequence[float]


@dataclass(frozen=True)
class McNemar:
    """McNemar's test of equal error rates."""

    n_first: int  # texts that only the first system has right; of several runs, more often right
    n_second: int
    p: float  # two-sided
    exact: bool  # by the binomial test, not chi-square with correction or signs turned by chance


@dataclass(frozen=True)
class Bootstrap:
    """Paired bootstrap of the difference in accuracy, first less second."""

    difference: float
    low: float  # with ``high`` the 95 % interval: quantiles of the resampled differences
    high: float
    p: float  # two-sided: twice the share of resamples on the far side of zero, zero included


@dataclass(frozen=True)
class Comparison:
    """Both tests of one pair of systems."""

    mcnemar: McNemar
    bootstrap: Bootstrap

    @property
    def supported(self) -> bool:
        """Whether both tests say that the systems differ, at the 5 % level."""
        one_sided = self.bootstrap.low > 0 or self.bootstrap.high < 0
        return self.mcnemar.p < LEVEL and one_sided


def compare(first: Answers, second: Answers, *, seed: int = 0) -> Comparison:
    """Both tests of whether two systems differ.

    Parameters
    ----------
    first, second
        (N,) whether each system had each text right, or how large a share of its runs had; the
        same texts in the same order.
    """
    return Comparison(mcnemar(first, second), paired_bootstrap(first, second, seed=seed))


def mcnemar(first: Answers, second: Answers, *, seed: int = 0) -> McNemar:
    """McNemar's test: exact below 25 differing texts, chi-square with correction from there."""
    gains = _gains(first, second)
    n_first, n_second = int((gains > 0).sum()), int((gains < 0).sum())
    n = n_first + n_second
    if not np.isin(gains, (-1, 0, 1)).all():
        return McNemar(n_first, n_second, _turned_signs(gains, seed), exact=False)
    if n < MIN_DISCORDANT:
        p = float(stats.binomtest(n_first, n).pvalue) if n else 1.0
        return McNemar(n_first, n_second, p, exact=True)
    statistic = (abs(n_first - n_second) - 1) ** 2 / n if n_first != n_second else 0.0
    return McNemar(n_first, n_second, float(stats.chi2.sf(statistic, 1)), exact=False)


def _turned_signs(gains: npt.NDArray[np.float64], seed: int) -> float:
    """How often signs by chance give a difference as large: two-sided p-value."""
    sizes, counts = np.unique(np.abs(gains), return_counts=True)
    kept = np.random.default_rng(seed).binomial(counts, 0.5, size=(N_DRAWS, len(counts)))
    sums = np.abs((2 * kept - counts) @ sizes)
    as_large = int((sums >= abs(gains.sum()) - 1e-9).sum())  # the same sum, added otherwise
    return (1 + as_large) / (1 + N_DRAWS)


def paired_bootstrap(
    first: Answers, second: Answers, *, n_resamples: int = N_DRAWS, seed: int = 0
) -> Bootstrap:
    """Resample the texts with replacement and look at the difference in accuracy each time."""
    gains = _gains(first, second)
    n = len(gains)
    # Texts differ by few values, so a resample is a multinomial draw of how many have each.
    values, counts = np.unique(gains, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(n, counts / n, size=n_resamples)
    differences = draws @ values / n
    low, high = np.quantile(differences, [LEVEL / 2, 1 - LEVEL / 2])
    # One is added above and below the line: no finite number of resamples proves a p of zero.
    tails = [1 + int((differences <= 0).sum()), 1 + int((differences >= 0).sum())]
    p = min(1.0, 2 * min(tails) / (n_resamples + 1))
    return Bootstrap(float(gains.mean()), float(low), float(high), p)


def wilson(n_right: int, n: int) -> tuple[float, float]:
    """95 % interval of a share, by Wilson: for one test part, where there are no folds to vary."""
    if not 0 <= n_right <= n or n < 1:
        raise DataError(f"expected at most as many right as there are, got {n_right} of {n}")
    found = stats.binomtest(n_right, n).proportion_ci(1 - LEVEL, method="wilson")
    return float(found.low), float(found.high)


def _gains(first: Answers, second: Answers) -> npt.NDArray[np.float64]:
    """(N,) how much more often the first system has each text right."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise DataError(
            f"expected two equally long rows of answers, got shapes {a.shape} and {b.shape}"
        )
    gains: npt.NDArray[np.float64] = np.round(a - b, 12)  # 0.3 - 0.2 and 0.2 - 0.1 are one value
    return gains

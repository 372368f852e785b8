"""Right and wrong answers of two systems on the same texts in; is the difference real, out.

Two paired tests, each blind where the other is not: McNemar counts only the texts on which the
systems differ, the bootstrap gives an interval for the difference in accuracy. Answers of all folds
are pooled, so every text counts once. A text that was tested in several runs counts with its share
of right answers; McNemar's test then becomes what it is a case of, the test that turns the signs of
the differences by chance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

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
    """McNemar's test of equal error rates.

    Attributes
    ----------
    n_first, n_second
        Texts that only the first system, and only the second, has right; of several runs, has right
        more often.
    p
        Two-sided p-value.
    exact
        True for the binomial test, False for chi-square with continuity correction and for signs
        turned by chance.
    """

    n_first: int
    n_second: int
    p: float
    exact: bool


@dataclass(frozen=True)
class Bootstrap:
    """Paired bootstrap of the difference in accuracy, first less second.

    Attributes
    ----------
    low, high
        95 % interval: quantiles of the resampled differences.
    p
        Two-sided: twice the share of resamples on the far side of zero, zero itself included.
    """

    difference: float
    low: float
    high: float
    p: float


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
        tail = sum(math.comb(n, k) for k in range(min(n_first, n_second) + 1))
        return McNemar(n_first, n_second, min(1.0, 2 * tail / 2**n), exact=True)
    statistic = (abs(n_first - n_second) - 1) ** 2 / n if n_first != n_second else 0.0
    # The upper tail of chi-square with one degree of freedom.
    return McNemar(n_first, n_second, math.erfc(math.sqrt(statistic / 2)), exact=False)


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
    z2 = 1.959963984540054**2
    share = n_right / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return middle - half, middle + half


def student_t(probability: float, freedom: int) -> float:
    """Quantile of Student's t distribution.

    Parameters
    ----------
    probability
        From 0.5 (where the quantile is 0) up to, but not, 1.
    freedom
        Degrees of freedom, a whole number of at least 1.
    """
    if not 0.5 <= probability < 1 or freedom < 1:
        raise DataError(
            "expected a probability in [0.5, 1) and at least one degree of freedom, "
            f"got {probability!r} and {freedom!r}"
        )
    # Bisection over the angle whose tangent is t / sqrt(freedom): the distribution is a finite
    # sum in its sine and cosine.
    low, high = 0.0, math.pi / 2
    for _ in range(200):
        middle = (low + high) / 2
        if 0.5 + _central_t(middle, freedom) / 2 < probability:
            low = middle
        else:
            high = middle
    return math.tan((low + high) / 2) * math.sqrt(freedom)


def _central_t(angle: float, freedom: int) -> float:
    """P(|T| < t) for the t of that angle (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    sine, cosine = math.sin(angle), math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(2 + odd, freedom - 1, 2):
        term *= cosine * cosine * (k - 1) / k
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def _gains(first: Answers, second: Answers) -> npt.NDArray[np.float64]:
    """(N,) how much more often the first system has each text right."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1 or not len(a):
        raise DataError(
            f"expected two equally long rows of answers, got shapes {a.shape} and {b.shape}"
        )
    gains: npt.NDArray[np.float64] = np.round(a - b, 12)  # 0.3 - 0.2 and 0.2 - 0.1 are one value
    return gains

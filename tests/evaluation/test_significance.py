"""The tests against figures worked out by other means, and where they must be silent."""

from __future__ import annotations

import math

import numpy as np
import pytest

from adasent.errors import DataError
from adasent.evaluation.significance import compare, mcnemar, paired_bootstrap, wilson


def answers(both: int, first: int, second: int, none: int) -> tuple[np.ndarray, np.ndarray]:
    """Answers of two systems with so many texts of each kind."""
    a = np.repeat([True, True, False, False], [both, first, second, none])
    b = np.repeat([True, False, True, False], [both, first, second, none])
    return a, b


@pytest.mark.parametrize(("first", "second"), [(0, 0), (1, 0), (3, 9), (12, 12), (4, 20)])
def test_few_differences_are_tested_exactly(first: int, second: int) -> None:
    result = mcnemar(*answers(50, first, second, 10))
    n = first + second
    tail = sum(math.comb(n, k) for k in range(min(first, second) + 1))
    assert result.exact
    assert result.p == pytest.approx(min(1.0, 2 * tail / 2**n), rel=1e-12)


@pytest.mark.parametrize(("first", "second"), [(5, 20), (30, 31), (200, 120), (40, 40)])
def test_many_differences_take_chi_square(first: int, second: int) -> None:
    result = mcnemar(*answers(500, first, second, 100))
    statistic = max(0, abs(first - second) - 1) ** 2 / (first + second)
    assert not result.exact
    assert (result.n_first, result.n_second) == (first, second)
    assert result.p == pytest.approx(math.erfc(math.sqrt(statistic / 2)), rel=1e-12)


def test_bootstrap_agrees_with_drawing_texts() -> None:
    a, b = answers(60, 25, 10, 5)
    result = paired_bootstrap(a, b, n_resamples=20_000)
    gains = a.astype(int) - b.astype(int)
    rng = np.random.default_rng(1)
    plain = rng.choice(gains, size=(20_000, 100)).mean(axis=1)
    assert result.difference == pytest.approx(0.15)
    assert [result.low, result.high] == pytest.approx(np.quantile(plain, [0.025, 0.975]), abs=0.011)
    assert result.p == pytest.approx(2 * (plain <= 0).mean(), abs=0.005)


def test_order_turns_the_sign_and_the_seed_fixes_the_result() -> None:
    a, b = answers(60, 25, 10, 5)
    assert paired_bootstrap(a, b) == paired_bootstrap(a, b)
    assert paired_bootstrap(a, b).difference == -paired_bootstrap(b, a).difference
    assert mcnemar(a, b).p == mcnemar(b, a).p


def test_supported_needs_both_tests() -> None:
    assert compare(*answers(800, 60, 20, 120)).supported
    assert compare(*answers(800, 20, 60, 120)).supported
    assert not compare(*answers(800, 41, 40, 119)).supported
    # Five to none: the bootstrap is sure, the exact test is not (p = 0.0625).
    result = compare(*answers(10, 5, 0, 0))
    assert result.bootstrap.low > 0
    assert not result.supported


def test_shares_of_runs_turn_mcnemar_into_turned_signs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.binomial(10, 0.9, 200) / 10, rng.binomial(10, 0.86, 200) / 10
    gains = a - b
    signs = rng.choice([-1, 1], size=(20_000, 200))
    expected = (np.abs(signs @ gains) >= abs(gains.sum()) - 1e-9).mean()
    result = mcnemar(a, b)
    assert result.p == pytest.approx(expected, abs=0.01)
    assert (result.n_first, result.n_second) == ((gains > 0.01).sum(), (gains < -0.01).sum())
    assert paired_bootstrap(a, b).difference == pytest.approx(gains.mean())


def test_turned_signs_agree_with_the_exact_test() -> None:
    a, b = answers(60, 9, 2, 5)
    nearly = mcnemar(np.append(a, [0.5, 0.6]), np.append(b, [0.6, 0.5]))  # no binary answers
    assert nearly.p == pytest.approx(mcnemar(a, b).p, abs=0.02)


def test_equal_systems() -> None:
    result = compare([True, False], [True, False])
    assert (result.mcnemar.p, result.bootstrap.p, result.bootstrap.difference) == (1.0, 1.0, 0.0)
    assert not result.supported


@pytest.mark.parametrize(("a", "b"), [([], []), ([True], [True, False]), ([[True]], [[True]])])
def test_answers_must_pair_up(a: list[bool], b: list[bool]) -> None:
    with pytest.raises(DataError, match="equally long"):
        mcnemar(a, b)


@pytest.mark.parametrize(("n_right", "n"), [(0, 5), (460, 500), (500, 500), (1, 1)])
def test_wilson(n_right: int, n: int) -> None:
    z2 = 1.959963984540054**2
    share = n_right / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    assert wilson(n_right, n) == pytest.approx((middle - half, middle + half), abs=1e-12)


@pytest.mark.parametrize(("n_right", "n"), [(0, 0), (3, 2), (-1, 2)])
def test_wilson_refuses(n_right: int, n: int) -> None:
    with pytest.raises(DataError, match="right"):
        wilson(n_right, n)

"""The running mean of the weights: what it is of, when it takes them in, and where it is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from adasent.systems.adasent import AdaSent
from adasent.training.average import MOMENTS, RunningMean, moments
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.run import TABLE, Run, dense_weights
from adasent.training.stacked import Stack
from training_cases import CPU, evaluate, train_one

MakeModel = Callable[..., AdaSent]
MakeConfig = Callable[..., TrainingConfig]


def taken(memory: float, values: list[float]) -> list[float]:
    """The mean after each of some values of a single weight."""
    mean = RunningMean(torch.tensor([[99.0]], dtype=torch.float64), None, [memory])
    found = []
    for value in values:
        mean.take([0], torch.tensor([[value]], dtype=torch.float64), torch.empty(0))
        found.append(mean.state["mean_weights"].item())
    return found


def test_a_plain_mean_until_it_is_as_old_as_its_memory() -> None:
    values = [3.0, 1.0, 8.0, 4.0, 10.0]
    third = 1 / 3
    fourth = 4.0 + (4.0 - 4.0) * third
    fifth = fourth + (10.0 - fourth) * third
    assert taken(3 / MOMENTS, values) == pytest.approx([3.0, 2.0, 4.0, fourth, fifth])
    assert taken(100, values) == pytest.approx([3.0, 2.0, 4.0, 4.0, 5.2])


@pytest.mark.parametrize("memory", [0.0, 0.5 / MOMENTS])
def test_without_memory_it_is_the_last_weights(memory: float) -> None:
    values = [3.1, 1.7, 8.3]
    assert taken(memory, values) == values


def test_each_model_has_its_own_count_and_memory() -> None:
    weights, table = torch.zeros(2, 3), torch.zeros(2, 4, 2)
    mean = RunningMean(weights, table, [1.0, 0.0])
    mean.take([0, 1], weights + 1, table + 2)
    mean.take([1], weights + 5, table + 6)
    mean.take([0], weights + 3, table + 4)
    assert mean.state["mean_count"].tolist() == [2, 2]
    assert mean.state["mean_weights"].tolist() == [[2.0] * 3, [5.0] * 3]
    assert mean.state["mean_table"].unique(dim=1).tolist() == [[[3.0, 3.0]], [[6.0, 6.0]]]
    assert not weights.any()  # a copy, not the weights
    assert "mean_table" not in RunningMean(weights, None, [1.0, 0.0]).state


def own_moments(n_rows: np.ndarray, model: int) -> list[int]:
    """Which of its own steps, counted from 1, are moments of a model."""
    own = np.cumsum(n_rows[:, model] > 0)
    found = moments(n_rows)
    assert len(found) == len(n_rows)
    return [int(own[step]) for step, models in enumerate(found) if model in models]


@pytest.mark.parametrize("n_steps", [1, 3, 10, 25, 192])
def test_moments_are_spread_and_the_last_is_the_end(n_steps: int) -> None:
    found = own_moments(np.ones((n_steps, 1), dtype=np.int64), 0)
    assert len(found) == min(n_steps, MOMENTS)
    assert found[-1] == n_steps
    gaps = np.diff([0, *found])
    assert np.ptp(gaps) <= 1


def test_moments_of_a_model_do_not_depend_on_its_company() -> None:
    rng = np.random.default_rng(0)
    n_steps = 60
    n_rows = np.zeros((n_steps, 4), dtype=np.int64)
    totals = (1, 7, 33, 0)
    for k, total in enumerate(totals):
        n_rows[rng.permutation(n_steps)[:total], k] = 5
    for k, total in enumerate(totals):
        alone = np.full((total, 1), 5)
        assert own_moments(n_rows, k) == (own_moments(alone, 0) if total else [])


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Tensor, Tensor]]:
    """Weights and table of the first model at each moment."""
    found: list[tuple[Tensor, Tensor]] = []
    take = RunningMean.take

    def spy(self: RunningMean, models: list[int], weights: Tensor, table: Tensor) -> None:
        if models:
            found.append((weights[0].clone(), table[0].clone()))
        take(self, models, weights, table)

    monkeypatch.setattr(RunningMean, "take", spy)
    return found


def flat(model: AdaSent) -> Tensor:
    return torch.cat([tensor.flatten() for tensor in dense_weights(model).values()])


@pytest.mark.parametrize("fine_tune", [True, False])
def test_the_mean_is_kept_and_does_not_change_the_training(
    make_model: MakeModel,
    make_config: MakeConfig,
    examples: Examples,
    seen: list[tuple[Tensor, Tensor]],
    fine_tune: bool,
) -> None:
    plain, averaged = make_model(), make_model()
    settings: dict[str, Any] = {"epochs": 2, "fine_tune": fine_tune}  # three steps an epoch
    without = train_one(plain, examples, None, make_config(**settings), seed=1)
    assert not seen
    history = train_one(averaged, examples, None, make_config(average=9, **settings), seed=1)
    assert history.column("train_loss") == without.column("train_loss")
    assert len(seen) == 6
    torch.testing.assert_close(seen[-1][0], flat(plain), rtol=0, atol=0)
    weights, tables = (torch.stack(parts) for parts in zip(*seen, strict=True))
    torch.testing.assert_close(flat(averaged), weights.mean(dim=0))
    torch.testing.assert_close(averaged.get_parameter(TABLE).detach(), tables.mean(dim=0))


def test_the_mean_is_what_is_validated(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    config = make_config(average=2, epochs=1, learning_rate=0.05)
    history = train_one(model, examples, examples, config, seed=1)
    loss, accuracy = evaluate(model, examples)
    assert history[0]["valid_loss"] == pytest.approx(loss, rel=1e-6)
    assert history[0]["valid_accuracy"] == pytest.approx(accuracy)


def test_models_that_stay_in_a_stack_keep_their_mean(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    runs = [Run(make_model(), examples, None, make_config(average=a), 0) for a in (1, 0, 3)]
    stack = Stack(runs, CPU)
    assert stack.mean is not None
    stack.mean.state["mean_weights"] += torch.arange(3)[:, None]
    expected = stack.snapshot(2)
    stack.keep([2])
    assert stack.mean.state["mean_memory"].tolist() == [3]
    for name, tensor in stack.snapshot(0).items():
        assert torch.equal(tensor, expected[name])


def test_without_an_average_nothing_is_held(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    stack = Stack([Run(make_model(), examples, None, make_config(), 0)], CPU)
    assert stack.mean is None
    assert not any(name.startswith("mean_") for name in stack.tensors())

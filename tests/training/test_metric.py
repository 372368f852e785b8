"""The epoch is chosen by the metric of choice, of single runs and in stacks."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from sklearn.metrics import balanced_accuracy_score, f1_score

from adasent.errors import ConfigError
from adasent.systems.adasent import AdaSent
from adasent.training.callbacks import ProgressBar
from adasent.training.config import METRICS, TrainingConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.metric import extra_columns, rank
from adasent.training.run import Run
from adasent.training.stacked import Stack
from training_cases import CPU, train_one


def row(accuracy: float, loss: float, **more: float) -> dict[str, Any]:
    return {"valid_accuracy": accuracy, "valid_loss": loss, **more}


def test_means_over_classes_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(0)
    true, predicted, weights = rng.integers(0, 3, 50), rng.integers(0, 3, 50), rng.random(50)
    targets = np.eye(4)[true]  # no text of the last class
    found = extra_columns("macro_f1", targets, predicted, weights)
    expected = f1_score(true, predicted, average="macro", sample_weight=weights)
    assert found == {"valid_macro_f1": pytest.approx(expected)}
    found = extra_columns("balanced_accuracy", targets, predicted, weights)
    expected = balanced_accuracy_score(true, predicted, sample_weight=weights)
    assert found == {"valid_balanced_accuracy": pytest.approx(expected)}


@pytest.mark.parametrize("metric", ["accuracy", "loss"])
def test_nothing_is_added_where_loss_and_accuracy_decide(metric: str) -> None:
    assert extra_columns(metric, np.eye(2), np.array([0, 1]), np.ones(2)) == {}


@pytest.mark.parametrize(
    ("metric", "best"), [("accuracy", 1), ("macro_f1", 2), ("balanced_accuracy", 0), ("loss", 3)]
)
def test_the_best_epoch_is_by_the_metric(metric: str, best: int) -> None:
    rows = [
        row(0.5, 0.9, valid_macro_f1=0.1, valid_balanced_accuracy=0.9),
        row(0.9, 0.8, valid_macro_f1=0.2, valid_balanced_accuracy=0.2),
        row(0.7, 0.7, valid_macro_f1=0.8, valid_balanced_accuracy=0.3),
        row(0.6, 0.6, valid_macro_f1=0.7, valid_balanced_accuracy=0.4),
    ]
    history = History()
    for one in rows:
        history.add(one, metric)
    assert history.best_epoch == best


def test_equal_epochs_are_told_apart_by_the_loss() -> None:
    assert rank(row(0.5, 0.3), "accuracy") > rank(row(0.5, 0.4), "accuracy")
    assert rank(row(0.6, 0.3), "loss") > rank(row(0.5, 0.3), "loss")


def test_an_unknown_metric_is_refused() -> None:
    with pytest.raises(ConfigError, match="metric"):
        TrainingConfig(metric="f1")


@pytest.mark.parametrize("metric", METRICS)
def test_a_run_has_the_column_of_its_metric(
    metric: str,
    examples: Examples,
    make_model: Callable[..., AdaSent],
    make_config: Callable[..., TrainingConfig],
) -> None:
    config = make_config(metric=metric, epochs=2)
    model = make_model()
    history = train_one(model, examples, examples, config, seed=0)
    own = {f"valid_{metric}"} - {"valid_accuracy", "valid_loss"}
    assert {name for name in history[0] if name.startswith("valid_")} == own | {
        "valid_accuracy",
        "valid_loss",
    }
    # What it says of the best epoch is what the kept network does.
    stack = Stack([Run(model, examples, examples, config, 0)], CPU)
    stack.evaluate()
    kept = history[history.best_epoch]
    assert stack.extra_columns() == [{name: pytest.approx(kept[name]) for name in own}]


def test_in_a_stack_each_run_has_its_metric(
    examples: Examples,
    make_model: Callable[..., AdaSent],
    make_config: Callable[..., TrainingConfig],
) -> None:
    few = examples.take(np.arange(20))

    def runs() -> list[Run]:
        return [
            Run(make_model(), examples, held, make_config(metric=metric), seed)
            for seed, (metric, held) in enumerate(
                [("macro_f1", examples), ("accuracy", few), ("balanced_accuracy", few)]
            )
        ]

    together = train(runs(), device=CPU)
    alone = [train([run], device=CPU)[0] for run in runs()]
    for a, b in zip(together, alone, strict=True):
        assert a.best_epoch == b.best_epoch
        for name in ("valid_macro_f1", "valid_balanced_accuracy"):
            assert (name in a[0]) == (name in b[0])
            if name in a[0]:
                assert a.column(name) == pytest.approx(b.column(name))
    assert "valid_macro_f1" in together[0][0]
    assert "valid_macro_f1" not in together[1][0]


def test_patience_counts_by_the_metric(
    examples: Examples,
    make_model: Callable[..., AdaSent],
    make_config: Callable[..., TrainingConfig],
) -> None:
    """All weights stay as they are: the first epoch is the best by anything."""
    still = replace(make_config(metric="macro_f1", epochs=5, patience=1), learning_rate=1e-8)
    assert len(train_one(make_model(), examples, examples, still, seed=0)) <= 5


def test_the_line_of_an_epoch_names_the_metric() -> None:
    shown = io.StringIO()
    bar = ProgressBar(Console(file=shown))
    line = row(0.5, 0.4, train_loss=0.3, examples_per_second=10.0, valid_macro_f1=0.25)
    bar.on_epoch_end(0, line, True)
    assert "valid loss 0.4000 accuracy 0.5000 macro F1 0.2500" in shown.getvalue()

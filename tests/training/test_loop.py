"""The epoch loop: it learns, stops, restores, survives Ctrl-C, and every term of its objective."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from adasent.errors import AdaSentError
from adasent.systems.adasent import AdaSent
from adasent.training.callbacks import Callback
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.objective import cross_entropy
from training_cases import evaluate, train_one

MakeModel = Callable[..., AdaSent]
MakeConfig = Callable[..., TrainingConfig]


class Recorder(Callback):
    """Keeps the events and the weights after each epoch; raises where it is told to."""

    def __init__(self, model: AdaSent, *, fail_at: int = -1, error: BaseException | None = None):
        self.model, self.fail_at, self.error = model, fail_at, error
        self.events: list[str] = []
        self.weights: list[dict[str, torch.Tensor]] = []

    def on_train_begin(self, n_epochs: int, n_examples: int, first_epoch: int) -> None:
        self.events.append(f"begin {n_epochs} {n_examples} {first_epoch}")

    def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
        self.events.append(f"batch {epoch} {n_done}")

    def on_epoch_end(self, epoch: int, row: Mapping[str, Any], is_best: bool) -> None:
        self.events.append(f"epoch {epoch}")
        self.weights.append({k: v.clone() for k, v in self.model.state_dict().items()})
        if epoch == self.fail_at and self.error is not None:
            raise self.error

    def on_train_end(self) -> None:
        self.events.append("end")


def assert_same_weights(model: AdaSent, weights: Mapping[str, torch.Tensor]) -> None:
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, weights[name]), name


@pytest.mark.parametrize(("optimizer", "rate"), [("adam", 0.02), ("adagrad", 0.1)])
def test_learns_the_reviews(
    make_model: MakeModel,
    make_config: MakeConfig,
    examples: Examples,
    optimizer: str,
    rate: float,
) -> None:
    model = make_model()
    config = make_config(optimizer=optimizer, learning_rate=rate, epochs=8)
    history = train_one(model, examples, None, config, seed=0)
    losses = history.column("train_loss")
    assert losses[-1] < 0.5 * losses[0]
    assert evaluate(model, examples)[1] == 1.0
    assert not model.training


def test_events_come_in_order(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    recorder = Recorder(model)
    train_one(model, examples, None, make_config(epochs=2), seed=0, callbacks=[recorder])
    batches = [[f"batch {epoch} {n}" for n in (20, 40, 60)] for epoch in range(2)]
    assert recorder.events == [
        "begin 2 60 0",
        *batches[0],
        "epoch 0",
        *batches[1],
        "epoch 1",
        "end",
    ]


def test_rows_of_the_history(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    history = train_one(model, examples, examples, make_config(), seed=0)
    row = history[history.best_epoch]
    assert (row["valid_loss"], row["valid_accuracy"]) == evaluate(model, examples)
    assert row["gradient_norm"] > 0
    assert row["gradient_flow"]["verdict"] == "healthy"
    assert row["examples_per_second"] == pytest.approx(60 / row["seconds"])
    unvalidated = train_one(make_model(), examples, None, make_config(epochs=1), seed=0)
    assert unvalidated[0]["valid_loss"] is unvalidated[0]["valid_accuracy"] is None


def test_seed_decides_everything(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    config = make_config(word_dropout=0.2, vector_dropout=0.2, dropout=0.2)
    models = [make_model() for _ in range(3)]
    for model, seed in zip(models, (3, 3, 4), strict=True):
        train_one(model, examples, None, config, seed=seed)
    assert_same_weights(models[1], models[0].state_dict())
    assert not torch.equal(models[2].projection.weight, models[0].projection.weight)


def test_without_validation_all_epochs_run_and_the_last_is_kept(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    recorder = Recorder(model)
    config = make_config(epochs=4, patience=1)
    history = train_one(model, examples, None, config, seed=0, callbacks=[recorder])
    assert (len(history), history.best_epoch) == (4, 3)
    assert_same_weights(model, recorder.weights[-1])


def test_stops_early_and_restores_the_best(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    """Validated on swapped labels, every epoch is worse than the one before."""
    model = make_model()
    recorder = Recorder(model)
    swapped = replace(examples, targets=examples.targets[:, ::-1].copy())
    config = make_config(epochs=20, patience=2, learning_rate=0.02)
    history = train_one(model, examples, swapped, config, seed=0, callbacks=[recorder])
    assert history.best_epoch is not None
    assert len(history) == history.best_epoch + 1 + 2 < 20
    assert_same_weights(model, recorder.weights[history.best_epoch])
    assert not torch.equal(model.projection.weight, recorder.weights[-1]["projection.weight"])


def test_interrupted_run_ends_with_the_best_so_far(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    recorder = Recorder(model, fail_at=1, error=KeyboardInterrupt())
    config = make_config(epochs=9)
    history = train_one(model, examples, examples, config, seed=0, callbacks=[recorder])
    assert history.interrupted
    assert len(history) == 2
    assert history.best_epoch is not None
    assert_same_weights(model, recorder.weights[history.best_epoch])
    assert recorder.events[-1] == "end"
    assert not model.training


def test_interrupted_in_the_middle_of_an_epoch(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    class InSecondEpoch(Recorder):
        def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
            if epoch == 1:
                raise KeyboardInterrupt

    model = make_model()
    recorder = InSecondEpoch(model)
    history = train_one(model, examples, None, make_config(), seed=0, callbacks=[recorder])
    assert (history.interrupted, len(history), history.best_epoch) == (True, 1, 0)
    assert_same_weights(model, recorder.weights[0])


def test_interrupted_before_the_first_epoch_ends(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    class AtOnce(Recorder):
        def on_batch_end(self, epoch: int, n_done: int, loss: float | None) -> None:
            raise KeyboardInterrupt

    model = make_model()
    recorder = AtOnce(model)
    with pytest.raises(KeyboardInterrupt):
        train_one(model, examples, None, make_config(), seed=0, callbacks=[recorder])
    assert recorder.events == ["begin 3 60 0", "end"]


def test_divergence_is_an_error_that_says_what_to_do(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    with torch.no_grad():
        model.projection.weight.fill_(float("inf"))
    with pytest.raises(AdaSentError, match=r"diverged in epoch 1.*lower learning_rate"):
        train_one(model, examples, None, make_config(), seed=0)


def test_frozen_vectors_do_not_move(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    for fine_tune in (True, False):
        model = make_model()
        before = model.embedding.trained.detach().clone()
        train_one(model, examples, None, make_config(epochs=1, fine_tune=fine_tune), seed=0)
        assert torch.equal(model.embedding.trained.detach(), before) is not fine_tune


def test_words_alone_train_without_a_composition(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    before = {k: v.clone() for k, v in model.state_dict().items()}
    single = replace(examples, ids=[row[:1] for row in examples.ids])
    train_one(model, single, single, make_config(penalty=0.0), seed=0)
    assert torch.equal(model.composition.compose_left, before["composition.compose_left"])
    assert not torch.equal(model.projection.weight, before["projection.weight"])


def test_penalty_gradient(make_model: MakeModel) -> None:
    model = make_model()
    (0.3 * model.penalty()).backward()
    composition = model.composition
    for matrix in (composition.compose_left, composition.compose_right):
        torch.testing.assert_close(matrix.grad, 2 * 0.3 * matrix.detach())
    assert composition.compose_bias.grad is None


def test_penalty_shrinks_the_recurrent_matrices(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    norms = []
    for penalty in (0.0, 10.0):
        model = make_model()
        train_one(model, examples, None, make_config(penalty=penalty, epochs=2), seed=0)
        norms.append(model.penalty().item())
    assert norms[1] < 0.9 * norms[0]


def test_cross_entropy_of_soft_targets() -> None:
    probabilities = torch.tensor([[0.2, 0.8], [0.5, 0.5]])
    targets = torch.tensor([[0.5, 0.5], [1.0, 0.0]])
    expected = -(targets * probabilities.log()).sum(dim=1)
    torch.testing.assert_close(cross_entropy(probabilities.log(), targets), expected)


def test_cross_entropy_where_a_class_is_impossible() -> None:
    loss = cross_entropy(torch.tensor([[0.0, float("-inf")]]), torch.tensor([[1.0, 0.0]]))
    assert loss.item() == 0.0


def test_soft_targets_are_learnt(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    model = make_model()
    soft = replace(examples, targets=np.where(examples.targets == 1, 0.7, 0.3).astype(np.float32))
    train_one(model, soft, None, make_config(epochs=12, learning_rate=0.02), seed=0)
    ids, lengths, targets, _ = soft.tensors()
    found = model(ids, lengths).log_probs.exp()
    assert (found - targets).abs().mean() < 0.08


def test_texts_without_weight_have_no_effect(
    make_model: MakeModel, make_config: MakeConfig, examples: Examples
) -> None:
    """The second half has no weight; its targets may be anything."""
    weights = np.repeat(np.array([1, 0], dtype=np.float32), 30)
    shuffled = examples.targets.copy()
    shuffled[30:] = 1 - shuffled[30:]
    models = []
    for targets in (examples.targets, shuffled):
        model = make_model()
        train_one(
            model, replace(examples, targets=targets, weights=weights), None, make_config(), seed=0
        )
        models.append(model)
    assert_same_weights(models[0], models[1].state_dict())


def test_evaluate_is_weighted(make_model: MakeModel, examples: Examples) -> None:
    model = make_model()
    first = evaluate(model, examples.take(np.arange(20)))
    weights = np.repeat(np.array([2, 0], dtype=np.float32), [20, 40])
    assert evaluate(model, replace(examples, weights=weights)) == pytest.approx(first)

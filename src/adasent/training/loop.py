"""The epoch loop: a fresh network and examples in, a trained network and its history out.

All randomness of epoch e comes from (seed, e), so a run that resumes after epoch e needs the
weights and the optimiser's state and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adasent.errors import AdaSentError
from adasent.systems.adasent import AdaSent
from adasent.text.batch import length_buckets, n_cells
from adasent.training.callbacks import Callback
from adasent.training.checkpoint import (
    Checkpoint,
    TrainingState,
    pack_optimizers,
    unpack_optimizers,
)
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.gradient_flow import gradient_flow
from adasent.training.history import History
from adasent.training.optimizer import clip_gradients, make_optimizers

#: Texts of the training part on which the gradient flow is measured after each epoch.
FLOW_SAMPLE = 32
FLOW_CELLS = 20_000


def train(
    model: AdaSent,
    training: Examples,
    validation: Examples | None,
    config: TrainingConfig,
    *,
    seed: int,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
) -> History:
    """Minimise equation (objective) of the paper; leave the best weights in the model.

    Parameters
    ----------
    validation
        Decides when to stop and which epoch is best; None runs all epochs and keeps the last.
    seed
        Drives the order of batches and every dropout. Initial weights are the caller's.
    checkpoint
        Where to keep the state after each epoch, and to resume from if it is there.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C comes before the first epoch ends. Later it ends the run with what is best.
    """
    model.set_dropout(config.vector_dropout, config.dropout)
    optimizers = make_optimizers(model, config)
    state = checkpoint.read() if checkpoint else None
    if state is None:
        state = TrainingState({}, {}, {}, History())
    else:
        model.load_state_dict(state.weights)
        unpack_optimizers(optimizers, state.optimizer_state)
    history = state.history
    flow_sample = _flow_sample(training, seed)
    _notify(callbacks, "on_train_begin", config.epochs, len(training), len(history))
    try:
        while not _finished(history, config, validation is not None):
            epoch = len(history)
            started = time.perf_counter()
            train_loss, gradient_norm = _run_epoch(
                model, training, config, optimizers, seed, epoch, callbacks
            )
            seconds = time.perf_counter() - started
            row: dict[str, Any] = {
                "epoch": epoch,
                "train_loss": train_loss,
                "valid_loss": None,
                "valid_accuracy": None,
                "gradient_norm": gradient_norm,
                "gradient_flow": gradient_flow(model, flow_sample).to_dict(),
                "seconds": seconds,
                "examples_per_second": len(training) / seconds,
            }
            if validation is not None:
                row["valid_loss"], row["valid_accuracy"] = evaluate(model, validation)
            history.rows.append(row)
            is_best = _is_best(history)
            if is_best:
                state.best_weights = _copy(model)
                history.best_epoch = epoch
            if checkpoint:
                state.weights = _copy(model)
                state.optimizer_state = pack_optimizers(optimizers)
                checkpoint.write(state)
            _notify(callbacks, "on_epoch_end", epoch, row, is_best)
    except KeyboardInterrupt:
        if history.best_epoch is None:
            raise
        history.interrupted = True
    finally:
        _notify(callbacks, "on_train_end")
    model.load_state_dict(state.best_weights)
    model.eval()
    return history


def _run_epoch(
    model: AdaSent,
    training: Examples,
    config: TrainingConfig,
    optimizers: list[torch.optim.Optimizer],
    seed: int,
    epoch: int,
    callbacks: Sequence[Callback],
) -> tuple[float, float]:
    """One pass over the training part: its mean loss and mean gradient norm before clipping."""
    rng = np.random.default_rng([seed, epoch])
    torch.manual_seed(int(rng.integers(2**63)))
    device = next(model.parameters()).device
    model.train()
    parameters = [p for p in model.parameters() if p.requires_grad]
    loss_sum = norm_sum = 0.0
    n_done = 0
    batches = length_buckets(training.lengths, config.batch_size, rng=rng)
    for rows in batches:
        ids, lengths, targets, weights = training.take(rows).tensors(
            device, word_dropout=config.word_dropout, rng=rng
        )
        for optimizer in optimizers:
            optimizer.zero_grad()
        log_probs = model(ids, lengths).log_probs
        loss = (cross_entropy(log_probs, targets) * weights).mean()
        penalty = config.penalty * recurrent_norm(model)
        torch.autograd.backward(loss + penalty)
        norm = clip_gradients(parameters, config.clip_norm)
        if not np.isfinite(norm):
            raise AdaSentError(
                f"training diverged in epoch {epoch + 1}: the gradient is {norm}; "
                "lower learning_rate or clip_norm, or raise penalty"
            )
        # Said outright, because torch warns where it builds a sparse tensor without being told.
        with torch.sparse.check_sparse_tensor_invariants(False):  # type: ignore[no-untyped-call]
            for optimizer in optimizers:
                optimizer.step()
        batch_loss = loss.item()
        loss_sum += batch_loss * len(rows)
        norm_sum += norm
        n_done += len(rows)
        _notify(callbacks, "on_batch_end", epoch, n_done, batch_loss)
    return loss_sum / len(training), norm_sum / len(batches)


def cross_entropy(log_probs: Tensor, targets: Tensor) -> Tensor:
    """(B,) negative log-likelihood of target distributions (B, C)."""
    # A class of probability 0 adds nothing, also where its log probability is -inf.
    return -torch.where(targets > 0, targets * log_probs, 0.0).sum(dim=1)


def recurrent_norm(model: AdaSent) -> Tensor:
    """||W_L||_F^2 + ||W_R||_F^2."""
    composition = model.composition
    return composition.compose_left.square().sum() + composition.compose_right.square().sum()


@torch.no_grad()
def evaluate(model: AdaSent, examples: Examples, batch_size: int = 128) -> tuple[float, float]:
    """Weighted mean loss and accuracy, without dropout."""
    model.eval()
    device = next(model.parameters()).device
    loss = correct = 0.0
    for rows in length_buckets(examples.lengths, batch_size):
        ids, lengths, targets, weights = examples.take(rows).tensors(device)
        log_probs = model(ids, lengths).log_probs
        hits = log_probs.argmax(dim=1) == targets.argmax(dim=1)
        loss += float((cross_entropy(log_probs, targets) * weights).sum())
        correct += float((hits * weights).sum())
    total = float(examples.weights.sum())
    return loss / total, correct / total


def _flow_sample(training: Examples, seed: int) -> Examples:
    """A few texts, with so few cells that keeping all their units costs little memory."""
    rows = np.random.default_rng(seed).permutation(len(training))
    cells = n_cells(training.lengths)
    rows = rows[cells[rows] <= FLOW_CELLS / 4]
    rows = rows[np.cumsum(cells[rows]) <= FLOW_CELLS][:FLOW_SAMPLE]
    return training.take(rows if len(rows) else np.array([cells.argmin()]))


def _is_best(history: History) -> bool:
    """Is the last row the best so far? Higher accuracy, then lower loss; the last without both."""
    row = history.rows[-1]
    if history.best_epoch is None or row["valid_accuracy"] is None:
        return True
    best = history.rows[history.best_epoch]
    return (row["valid_accuracy"], -row["valid_loss"]) > (
        best["valid_accuracy"],
        -best["valid_loss"],
    )


def _finished(history: History, config: TrainingConfig, validated: bool) -> bool:
    if len(history) >= config.epochs:
        return True
    best = history.best_epoch
    return validated and best is not None and len(history) - 1 - best >= config.patience


def _copy(model: AdaSent) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}


def _notify(callbacks: Sequence[Callback], event: str, *values: object) -> None:
    for callback in callbacks:
        getattr(callback, event)(*values)

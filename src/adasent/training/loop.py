"""The epoch loop: trains fresh networks on examples and keeps the history of each.

One run or many, it is the same loop over a :class:`~adasent.training.stacked.Stack`. All randomness
of epoch e of a run comes from (seed, e), so a run that resumes after epoch e needs the weights and
the optimiser's state and nothing else.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from adasent.errors import AdaSentError, ConfigError
from adasent.training.average import moments
from adasent.training.callbacks import Callback, Interrupt
from adasent.training.checkpoint import Checkpoint, TrainingState
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.run import Run
from adasent.training.schedule import EpochOrder, epoch_order, training_plan
from adasent.training.stacked import Stack

#: The precision of products on CUDA, as torch names it: "medium" lets the pyramid store them in
#: bfloat16 and all others read TF32, "high" has TF32 everywhere.
CUDA_PRECISION = "medium"

#: Finished models are taken out of the stack when no more than this share is still training. Until
#: then they idle, which costs little; every smaller stack has to be recorded anew.
_CROWDED = 0.75


def default_device() -> torch.device:
    """CUDA where there is a device for it, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


@contextmanager
def matrix_units(device: torch.device) -> Iterator[None]:
    """On CUDA, products by the matrix units, which read TF32 or bfloat16: many times as fast."""
    if device.type != "cuda":
        yield
        return
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(CUDA_PRECISION)
    try:
        with torch.cuda.device(device):  # where Triton launches
            yield
    finally:
        torch.set_float32_matmul_precision(before)


def train(
    runs: Sequence[Run],
    *,
    callbacks: Sequence[Callback] = (),
    checkpoint: Checkpoint | None = None,
    device: torch.device | None = None,
    cuda_graph: bool = True,
) -> list[History]:
    """Minimise equation (objective) of the paper; leave the best weights in the networks.

    Runs that are trained together end as each would have ended alone.

    Parameters
    ----------
    runs
        One or more, of one :attr:`Run.kind`.
    checkpoint
        Where to keep the state of a single run after each epoch, and to resume from if it is there.
    device
        Where to train; None is :func:`default_device`. Networks are on the CPU before and after.
    cuda_graph
        On CUDA, record the steps and replay them.

    Raises
    ------
    KeyboardInterrupt
        When Ctrl-C comes before the first epoch ends. Later it ends the runs with what is best.
    """
    _check(runs, checkpoint)
    members = [_Member(run) for run in runs]
    if len(runs) == 1:
        members[0].sample = runs[0].training.sample(runs[0].seed, runs[0].height)
    stack = Stack(runs, device or default_device(), cuda_graph=cuda_graph)
    state = checkpoint.read() if checkpoint else None
    if state is not None:
        stack.load(state.tensors)
        members[0].resume(state)
    first_epoch = len(members[0].history)
    n_epochs = max(run.config.epochs for run in runs)
    n_examples = sum(run.epoch_size for run in runs)
    notify(callbacks, "on_train_begin", n_epochs, n_examples, first_epoch)
    try:
        with Interrupt() as interrupt, matrix_units(stack.device):
            present = members
            for epoch in range(first_epoch, n_epochs):
                interrupt.check()
                present = _take_out_finished(stack, present)
                if not present:
                    break
                _run_epoch(stack, present, epoch, [*callbacks, interrupt], checkpoint)
    except KeyboardInterrupt:
        unfinished = [member for member in members if not member.finished]
        if any(member.history.best_epoch is None for member in unfinished):
            raise
        for member in unfinished:
            member.history.interrupted = True
    finally:
        notify(callbacks, "on_train_end")
    for member in members:
        stack.write(member.run.model, member.best)
        member.run.model.eval()
    return [member.history for member in members]


class _Member:
    """A run on its way: what it will do next, and what it has reached."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.lengths = run.training.lengths
        self.history = History()
        self.best: dict[str, Tensor] = {}
        self.order = self.order_of(0)
        self.sample: Examples | None = None  # to diagnose the network on

    def resume(self, state: TrainingState) -> None:
        self.history, self.best = state.history, state.best
        self.order = self.order_of(len(self.history))

    def order_of(self, epoch: int) -> EpochOrder:
        run, config = self.run, self.run.config
        return epoch_order(
            self.lengths, config.batch_size, run.seed, epoch, run.height, config.epoch_size
        )

    @property
    def finished(self) -> bool:
        config = self.run.config
        patience = None if self.run.validation is None else config.patience
        return self.history.is_over(config.epochs, patience)


def _check(runs: Sequence[Run], checkpoint: Checkpoint | None) -> None:
    n_kinds = len({run.kind for run in runs})
    if n_kinds != 1:
        raise ConfigError(
            "runs trained together must have one kind of network, optimizer and fine_tune, and "
            f"all or none a validation part; got {n_kinds} kinds: train each by itself"
        )
    if checkpoint is not None and len(runs) > 1:
        raise ConfigError(f"a checkpoint keeps a single run, got {len(runs)} runs")


def _take_out_finished(stack: Stack, present: list[_Member]) -> list[_Member]:
    """The members that stay in the stack: all, or those still training."""
    training = [i for i, member in enumerate(present) if not member.finished]
    if len(training) > _CROWDED * len(present):
        return present
    if training:
        stack.keep(training)
    return [present[i] for i in training]


def _run_epoch(
    stack: Stack,
    present: list[_Member],
    epoch: int,
    callbacks: Sequence[Callback],
    checkpoint: Checkpoint | None,
) -> None:
    """One epoch of all members that are not finished, with its row in their histories."""
    started = time.perf_counter()
    n_batches = [len(member.order.batches) for member in present]
    _train_epoch(stack, present, epoch, callbacks)
    for member in present:  # the host prepares the next epoch while the device is at this one
        member.order = member.order_of(epoch + 1)
    loss_sums, norm_sums = stack.loss_sum.tolist(), stack.norm_sum.tolist()
    seconds = time.perf_counter() - started
    valid_losses: list[float] | list[None] = [None] * len(present)
    accuracies: list[float] | list[None] = [None] * len(present)
    more: list[dict[str, float]] = [{}] * len(present)
    if stack.validation is not None:
        valid_losses, accuracies = stack.evaluate()
        more = stack.extra_columns()
    for k, member in enumerate(present):
        if member.finished:
            continue
        norm = norm_sums[k] / n_batches[k]
        _check_norm(norm, epoch)
        n_examples = member.run.epoch_size
        row: dict[str, Any] = {
            "epoch": epoch,
            "train_loss": loss_sums[k] / n_examples,
            "valid_loss": valid_losses[k],
            "valid_accuracy": accuracies[k],
            **more[k],
            "gradient_norm": norm,
            "gradient_flow": None,
            "seconds": seconds,
            "examples_per_second": n_examples / seconds,
        }
        now = stack.snapshot(k)
        if member.sample is not None:
            stack.write(member.run.model, now)
            ids, lengths, targets, _ = member.sample.tensors()
            row |= member.run.model.diagnostics(ids, lengths, targets)
        is_best = member.history.add(row, member.run.config.metric)
        if is_best:
            member.best = now
        if checkpoint:
            checkpoint.write(TrainingState(stack.tensors(), member.best, member.history))
        notify(callbacks, "on_epoch_end", epoch, row, is_best)


def _train_epoch(
    stack: Stack, present: list[_Member], epoch: int, callbacks: Sequence[Callback]
) -> None:
    """One pass over the training parts. On CUDA this returns before the work is done."""
    plan = training_plan(
        [None if member.finished else member.order for member in present],
        [member.lengths for member in present],
        stack.training.filler,
    )
    steps = stack.upload(plan)
    stack.reset()
    n_done = 0
    for step, (n_rows, averaged) in enumerate(zip(plan.n_rows, moments(plan.n_rows), strict=True)):
        stack.train_step(steps, step)
        stack.take_mean(averaged)
        n_done += int(n_rows.sum())
        loss = None
        if stack.device.type == "cpu":
            _check_norm(float((stack.norms * steps.n_rows[step].sign()).sum()), epoch)
            loss = float((stack.losses * steps.n_rows[step]).sum()) / int(n_rows.sum())
        notify(callbacks, "on_batch_end", epoch, n_done, loss)


def _check_norm(norm: float, epoch: int) -> None:
    if not math.isfinite(norm):
        raise AdaSentError(
            f"training diverged in epoch {epoch + 1}: the gradient is {norm}; "
            "lower learning_rate or clip_norm, or raise penalty"
        )


def notify(callbacks: Sequence[Callback], event: str, *values: object) -> None:
    """Tell all observers of an event."""
    for callback in callbacks:
        getattr(callback, event)(*values)

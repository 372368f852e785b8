"""Shorthands for tests of training."""

from __future__ import annotations

from typing import Any

import torch

from adasent.systems.base import System
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.run import Run
from adasent.training.stacked import Stack

CPU = torch.device("cpu")


def train_one(
    model: System,
    training: Examples,
    validation: Examples | None,
    config: TrainingConfig,
    *,
    seed: int,
    **options: Any,
) -> History:
    """Train a single run on the CPU."""
    run = Run(model, training, validation, config, seed)
    (history,) = train([run], device=CPU, **options)
    return history


def evaluate(model: System, examples: Examples) -> tuple[float, float]:
    """Loss and accuracy of a network on some examples."""
    run = Run(model, examples, examples, TrainingConfig(), 0)
    (loss,), (accuracy,) = Stack([run], CPU).evaluate()
    return loss, accuracy

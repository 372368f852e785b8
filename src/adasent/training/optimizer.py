"""Optimisers over dense weights and the row-sparse word table, clipped together."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Adagrad, Adam, Optimizer, SparseAdam

from adasent.training.config import TrainingConfig


def make_optimizers(model: nn.Module, config: TrainingConfig) -> list[Optimizer]:
    """One optimiser for the dense weights and, when it is fine-tuned, one for the word table.

    For AdaGrad the sparse update equals the dense one. Adam's is the lazy variant: moments of
    words that do not occur in a batch are left alone.
    """
    table = model.get_parameter("embedding.trained")
    table.requires_grad_(config.fine_tune)
    dense = [p for p in model.parameters() if p is not table]
    rate = config.learning_rate
    if config.optimizer == "adagrad":
        optimizers: list[Optimizer] = [Adagrad(dense, lr=rate)]
        if config.fine_tune:
            optimizers.append(Adagrad([table], lr=rate))
    else:
        optimizers = [Adam(dense, lr=rate)]
        if config.fine_tune:
            optimizers.append(SparseAdam([table], lr=rate))
    return optimizers


def clip_gradients(parameters: Iterable[nn.Parameter], max_norm: float) -> float:
    """Scale all gradients so that their joint Euclidean norm is at most ``max_norm``.

    ``torch.nn.utils.clip_grad_norm_`` does not take sparse gradients, hence this one.

    Returns
    -------
    The norm before clipping; not finite when a gradient is not.
    """
    gradients: list[Tensor] = []
    for parameter in parameters:
        if parameter.grad is None:
            continue
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
            gradients.append(parameter.grad.values())
        else:
            gradients.append(parameter.grad)
    if not gradients:
        return 0.0
    norm = float(torch.linalg.vector_norm(torch.stack([g.norm() for g in gradients])))
    if norm > max_norm:
        for gradient in gradients:
            gradient.mul_(max_norm / norm)
    return norm

"""Encoded texts -> probabilities, by a network in torch on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from adasent.errors import AdaSentError, ConfigError
from adasent.systems.base import System
from adasent.text.batch import MAX_CELLS, length_buckets, pad
from adasent.training.loop import default_device

#: Texts of a batch on the CPU, where small ones stay in the cache, and on a GPU, which wants many.
_ON_CPU, _ON_GPU = 128, 4096


def find_device(name: str | None) -> torch.device:
    """A device by name; None is CUDA where there is a device for it, else the CPU."""
    if name is None:
        return default_device()
    try:
        device = torch.device(name)
    except (RuntimeError, TypeError):
        raise ConfigError(f"device must be such as cpu, cuda or cuda:1; got {name!r}") from None
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ConfigError(
            f"device {name!r} is not there: torch {torch.__version__} finds "
            f"{torch.cuda.device_count()} CUDA devices; use cpu"
        )
    return device


@torch.no_grad()
def network_proba(
    model: System, ids: Sequence[np.ndarray], trees: Sequence[np.ndarray] | None = None
) -> np.ndarray:
    """(N, C) probabilities of texts, on the device of the network; rows sum to 1.

    ``trees`` are of a system that composes along them. On a GPU nothing is fetched before the end.
    """
    device = model.embedding.trained.device
    on_gpu = device.type == "cuda"
    size, scale = (_ON_GPU, _ON_GPU // _ON_CPU) if on_gpu else (_ON_CPU, 1)
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    batches = length_buckets(lengths, size, max_cells=scale * MAX_CELLS)
    found = []
    for rows in batches:
        batch = pad([ids[i] for i in rows])
        inputs = [torch.from_numpy(array).to(device) for array in batch]
        structure = {}
        if trees is not None:
            padded = pad([trees[i] for i in rows]).ids
            structure["structure"] = torch.from_numpy(padded).to(device)
        found.append(model(*inputs, **structure).log_probs)
    probabilities = np.empty((len(ids), model.config.n_classes))
    if found:
        probabilities[np.concatenate(batches)] = torch.cat(found).double().exp().cpu().numpy()
    total = probabilities.sum(axis=1, keepdims=True)
    if not (np.isfinite(total) & (total > 0)).all():
        raise AdaSentError(
            "the network overflows on these texts; its weights are far too large: "
            "train again with a lower learning_rate"
        )
    probabilities /= total
    return probabilities

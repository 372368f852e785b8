"""Encoded texts -> probabilities, by a network in torch on the CPU or a GPU."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adasent.errors import AdaSentError, ConfigError
from adasent.estimators.encoding import Encoded
from adasent.systems.base import System
from adasent.text.batch import MAX_CELLS, length_buckets, pad
from adasent.text.rows import VectorTable
from adasent.training.calibration import Votes
from adasent.training.loop import default_device
from adasent.training.run import Run

#: Texts of a batch on the CPU, where small ones stay in the cache, and on a GPU, which wants many.
#:
#: There AdaSent multiplies no padding, so that the size of a batch weighs two other costs. The host
#: takes some 0.1 ms for each level of a batch, an H200 some 5 ns for a cell in float32: a batch
#: keeps it busy for as long as the host is, if it has 2,000 texts of 20 to 59 words, or 5,000 of 1
#: to 20. Larger ones let the device wait for the first of them to be padded, 0.25 ms for 1,000
#: texts; and what comes before and after the pyramid is padded still.
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


def network_proba(
    model: System,
    ids: Sequence[np.ndarray],
    trees: Sequence[np.ndarray] | None = None,
    table: VectorTable | None = None,
) -> np.ndarray:
    """(N, C) probabilities of texts, on the device of the network.

    Rows sum to 1, unless a text may have several labels.

    ``trees`` are of a system that composes along them, ``table`` has the vectors of the ids if they
    are not in the network. On a GPU nothing is fetched before the end.
    """
    found = [(rows, output.log_probs) for rows, output in _outputs(model, ids, trees, table)]
    n_classes = model.config.n_classes
    answers = np.empty((len(ids), 2 * n_classes if model.config.multilabel else n_classes))
    if found:
        rows, log_probs = zip(*found, strict=True)
        answers[np.concatenate(rows)] = torch.cat(log_probs).double().exp().cpu().numpy()
    # What the shares of a class are of: yes and no to it, or else all classes.
    said = answers[:, :n_classes]
    total = said.sum(axis=1, keepdims=True)
    if model.config.multilabel:
        total = said + answers[:, n_classes:]
    if not (np.isfinite(total) & (total > 0)).all():
        raise AdaSentError(
            "the network overflows on these texts; its weights are far too large: "
            "train again with a lower learning_rate"
        )
    probabilities: np.ndarray = said / total
    return probabilities


def held_proba(run: Run, encoded: Encoded, rows: list[int] | None = None) -> np.ndarray:
    """After training: probabilities of some of the validation texts, or of all."""
    held = run.validation
    assert held is not None
    words = encoded.source.held(run, held, list(range(len(held))) if rows is None else rows)
    return network_proba(run.model, words.ids, held.heights, table=words.table)


def network_votes(
    model: System,
    ids: Sequence[np.ndarray],
    trees: Sequence[np.ndarray] | None = None,
    table: VectorTable | None = None,
) -> Votes:
    """What each level says of texts, before it is mixed; a network without levels has one."""
    beliefs: list[np.ndarray] = [np.empty(0)] * len(ids)
    said: list[np.ndarray] = [np.empty((0, 0))] * len(ids)
    for rows, output in _outputs(model, ids, trees, table):
        whole = output.log_probs[:, None]
        log_beliefs = getattr(output, "log_beliefs", torch.zeros_like(whole[:, :, 0]))
        log_probs = getattr(output, "level_log_probs", whole)
        levels = log_beliefs.double().cpu().numpy(), log_probs.double().cpu().numpy()
        for row, own_beliefs, own_said in zip(rows.tolist(), *levels, strict=True):
            exists = own_beliefs > -np.inf
            beliefs[row], said[row] = own_beliefs[exists], own_said[exists]
    counts = np.array([len(one) for one in beliefs])
    return Votes(np.concatenate(beliefs), np.concatenate(said), np.cumsum(counts) - counts)


@torch.no_grad()
def _outputs(
    model: System,
    ids: Sequence[np.ndarray],
    trees: Sequence[np.ndarray] | None,
    table: VectorTable | None,
) -> Iterator[tuple[np.ndarray, Any]]:
    """Positions of texts, and what the network gave for them, batch after batch."""
    device = model.embedding.trained.device
    look_up: Callable[[Tensor], Tensor] = model.embedding
    if table is not None:
        vectors = torch.from_numpy(table.rows(np.arange(len(table)))).to(device)
        look_up = partial(torch.nn.functional.embedding, weight=vectors)
    on_gpu = device.type == "cuda"
    size, scale = (_ON_GPU, _ON_GPU // _ON_CPU) if on_gpu else (_ON_CPU, 1)
    lengths = np.array([len(row) for row in ids], dtype=np.int64)
    # The longest first: with most to compute, a GPU is busy while the host pads the others.
    batches = length_buckets(lengths, size, max_cells=scale * MAX_CELLS)[::-1]
    for rows in batches:
        batch = pad([ids[i] for i in rows.tolist()])
        counts = _send(batch.lengths, device, stay=model.host_lengths)
        structure: dict[str, Any] = {}
        if trees is not None:
            structure["structure"] = _send(pad([trees[i] for i in rows.tolist()]).ids, device)
        words = look_up(_send(batch.ids, device))
        yield rows, model.classify(words, counts, **structure)


def _send(array: np.ndarray, device: torch.device, *, stay: bool = False) -> Tensor:
    """A tensor on the device, or, if it is to stay, one that can be sent there without a wait."""
    tensor = torch.from_numpy(array)
    if device.type != "cuda":
        return tensor.to(device)
    tensor = tensor.pin_memory()
    return tensor if stay else tensor.to(device, non_blocking=True)

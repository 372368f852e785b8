"""Does the error reach the words? Gradient norms at every level of the pyramid.

Two readings of a sample of sentences, both averaged over the sentences that reach a level:

``loss``
    Norm of the gradient of the loss at all units of level t together: what the level learns from.
``root``
    Norm at level t of a unit gradient that starts at the root alone and comes down by the
    paper's equations for the left and right parent. It starts at 1; near 0 at level 1 means that
    it vanished on the way, a large value that it exploded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from adasent.pyramid.weights import Pyramid

#: A root gradient below or above these at the first level has vanished or exploded.
VANISHED, EXPLODED = 1e-3, 1e3


@dataclass(frozen=True)
class GradientFlow:
    """Norms by level, level 1 first. ``root`` is indexed by steps below the root, 0 first."""

    loss: list[float]
    root: list[float]

    @property
    def verdict(self) -> str:
        """``vanishing``, ``exploding`` or ``healthy``."""
        if not np.all(np.isfinite(self.root + self.loss)) or max(self.root) > EXPLODED:
            return "exploding"
        return "vanishing" if min(self.root) < VANISHED else "healthy"

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {"loss": self.loss, "root": self.root, "verdict": self.verdict}


def gradient_flow(pyramid: Pyramid, loss: Tensor, lengths: Tensor) -> GradientFlow:
    """Measure the flow through pyramids of which every unit was kept, with the graph.

    ``loss`` is the sum over their sentences, of ``lengths`` words each.
    """
    units = pyramid.units
    assert units is not None
    counts = pyramid.levels.batch_sizes
    by_loss = torch.autograd.grad(loss, units, retain_graph=True)
    by_root = torch.autograd.grad(_root_sum(units, counts), units)
    loss_norms = [_sentence_norms(g, counts[t:]) for t, g in enumerate(by_loss)]
    ordered = np.sort(lengths.numpy())[::-1]  # packed order: longest first
    below_root: list[list[float]] = [[] for _ in counts]
    for t, gradient in enumerate(by_root):
        for n_words, norm in zip(ordered, _sentence_norms(gradient, counts[t:]), strict=False):
            below_root[n_words - 1 - t].append(norm)
    return GradientFlow(
        [float(np.mean(norms)) for norms in loss_norms],
        [float(np.mean(norms)) for norms in below_root],
    )


def _root_sum(units: list[Tensor], counts: Tensor) -> Tensor:
    """Sum over sentences of a unit vector times the root: its gradient at each root has norm 1."""
    total = units[0].new_zeros(())
    for t, level in enumerate(units):
        has_parent = int(counts[t + 1]) if t + 1 < len(counts) else 0
        roots = level[has_parent : int(counts[t])]  # sentences whose top level is this one
        total = total + roots.sum() / roots.shape[1] ** 0.5
    return total


def _sentence_norms(gradient: Tensor, counts: Tensor) -> list[float]:
    """Norm over all units of a level, for each sentence that reaches it."""
    squares = gradient.square().sum(dim=1).cpu()
    sentence = torch.cat([torch.arange(n) for n in counts.tolist()])
    return squares.new_zeros(int(counts[0])).index_add(0, sentence, squares).sqrt().tolist()

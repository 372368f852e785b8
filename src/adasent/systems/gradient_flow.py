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

from adasent.pyramid.layout import Layout
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
    n_words = np.sort(lengths.numpy())[::-1]  # packed order: longest first
    layout = Layout(n_words, len(units))
    by_loss = torch.autograd.grad(loss, units, retain_graph=True)
    by_root = torch.autograd.grad(_root_sum(units, layout), units)
    loss_norms = [_sentence_norms(g, layout, t) for t, g in enumerate(by_loss)]
    below_root: list[list[float]] = [[] for _ in units]
    for t, gradient in enumerate(by_root):
        norms = _sentence_norms(gradient, layout, t)
        for n_levels, norm in zip(layout.n_levels_of, norms, strict=False):
            below_root[n_levels - 1 - t].append(norm)
    return GradientFlow(
        [float(np.mean(norms)) for norms in loss_norms],
        [float(np.mean(norms)) for norms in below_root],
    )


def _root_sum(units: list[Tensor], layout: Layout) -> Tensor:
    """Sum over sentences of a vector of norm 1 times the root.

    Where a height leaves several units on the top level, they are the root together.
    """
    total = units[0].new_zeros(())
    for t, level in enumerate(units):
        sentence = _sentence_of_row(layout, t)
        at_top = layout.n_levels_of[sentence] == t + 1
        n_numbers = (layout.lengths[sentence] - t) * level.shape[1]
        weight = torch.from_numpy(at_top / np.sqrt(n_numbers)).to(level)
        total = total + (level.sum(dim=1) * weight).sum()
    return total


def _sentence_of_row(layout: Layout, t: int) -> np.ndarray:
    """The sentence that each unit of level t, from 0, is of: those of the words from t on."""
    return layout.text[layout.starts[t] :]


def _sentence_norms(gradient: Tensor, layout: Layout, t: int) -> list[float]:
    """Norm over all units of level t, for each sentence that reaches it."""
    squares = gradient.square().sum(dim=1).cpu()
    sentence = torch.from_numpy(_sentence_of_row(layout, t))
    n_reached = int(layout.counts[t])
    return squares.new_zeros(n_reached).index_add(0, sentence, squares).sqrt().tolist()

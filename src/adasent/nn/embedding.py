"""Word vectors of ids, and from them the first level of the pyramid: h^0 = U x and h^1 = U' h^0.

Training and prediction look words up in the same table but not by the same code; the docstring of
:class:`WordEmbedding` says why.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adasent.text.vocabulary import UNK_ID


class WordEmbedding(nn.Module):
    """The table U, in two parts.

    Words seen in training are a parameter. Words known only from the pre-trained vectors cannot
    occur in training, so they are a buffer: no gradient, no optimiser state, no cost.

    This is the lookup of a network in torch. Two others stand beside it, each for a reason:
    prediction (:meth:`adasent.saving.word_table.WordTable.rows`) needs no torch, reads a packed
    table (half precision, eight bits) and takes each distinct word once; training
    (:class:`adasent.training.stacked.Stack`) looks up in the tables of many models at once, every
    occurrence by itself because each has a gradient, and holds no fixed word but those of
    validation. A test in ``tests/training`` holds them together.
    """

    fixed: Tensor

    def __init__(self, n_trained: int, n_fixed: int, size: int) -> None:
        super().__init__()
        self.trained = nn.Parameter(torch.zeros(n_trained, size))
        self.register_buffer("fixed", torch.zeros(n_fixed, size))

    @torch.no_grad()
    def set_vectors(self, table: Tensor) -> None:
        """Copy a whole table (n_trained + n_fixed, d) in."""
        self.trained.copy_(table[: len(self.trained)])
        self.fixed.copy_(table[len(self.trained) :])

    def forward(self, ids: Tensor) -> Tensor:
        """Ids of any shape -> vectors (..., d)."""
        # Sparse: a batch touches a few hundred of many thousand rows.
        if not len(self.fixed):
            return F.embedding(ids, self.trained, sparse=True)
        is_trained = ids < len(self.trained)
        vectors = F.embedding(torch.where(is_trained, ids, UNK_ID), self.trained, sparse=True)
        # Values are looked at on the CPU only: for another device the host would wait.
        if ids.device.type == "cpu" and bool(is_trained.all()):
            return vectors
        rest = self.fixed[(ids - len(self.trained)).clamp(min=0)]
        return torch.where(is_trained.unsqueeze(-1), vectors, rest)


class Projection(nn.Linear):
    """U': word vectors (..., d) -> units of the first level (..., D). No bias, as in the paper."""

    def __init__(self, vector_size: int, hidden_size: int) -> None:
        super().__init__(vector_size, hidden_size, bias=False)
        nn.init.orthogonal_(self.weight)

    def forward(self, vectors: Tensor) -> Tensor:
        """(..., d) -> (..., D)."""
        return apply_linear(self, vectors)


def apply_linear(layer: nn.Linear, x: Tensor) -> Tensor:
    """(..., n) -> (..., m).

    The leading axes are made one first: where vmap brings a weight for each model, torch would
    otherwise repeat it for each sentence and multiply sentence by sentence.
    """
    rows = x.reshape(-1, x.shape[-1])
    return F.linear(rows, layer.weight, layer.bias).reshape(*x.shape[:-1], layer.out_features)

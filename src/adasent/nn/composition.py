"""Holds the weights of the gated local composition and applies the pyramid to a batch."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from adasent.pyramid.dispatch import choose, pyramid
from adasent.pyramid.packed import pyramid_packed
from adasent.pyramid.weights import Pyramid, PyramidWeights


class GatedComposition(nn.Module):
    """W_L, W_R, b_W, G_L, G_R, b_G, and the MLP of the gate when there is one.

    Parameters have the names of their :class:`PyramidWeights`. ``gate_size`` counts the hidden
    units of an MLP gate; None is the paper's softmax gate.
    """

    def __init__(
        self,
        hidden_size: int,
        *,
        activation: str,
        pooling: str,
        gate_size: int | None,
        copy_bias: float,
        gate_groups: int = 1,
        max_height: int | None = None,
    ) -> None:
        super().__init__()
        self.activation, self.pooling, self.max_height = activation, pooling, max_height
        self.compose_left = nn.Parameter(_half_orthogonal(hidden_size))
        self.compose_right = nn.Parameter(_half_orthogonal(hidden_size))
        self.compose_bias = nn.Parameter(torch.zeros(hidden_size))
        n_gates = 3 * gate_groups
        width = gate_size or n_gates
        self.gate_left = nn.Parameter(torch.randn(width, hidden_size) * 0.01)
        self.gate_right = nn.Parameter(torch.randn(width, hidden_size) * 0.01)
        copy = torch.tensor([copy_bias / 2, copy_bias / 2, 0.0]).repeat_interleave(gate_groups)
        self.gate_out: nn.Parameter | None = None
        self.gate_out_bias: nn.Parameter | None = None
        if gate_size is None:
            self.gate_bias = nn.Parameter(copy)
        else:
            self.gate_bias = nn.Parameter(torch.zeros(width))
            self.gate_out = nn.Parameter(torch.randn(n_gates, width) / width**0.5)
            self.gate_out_bias = nn.Parameter(copy)

    def weights(self) -> PyramidWeights:
        """The weights as the pyramid functions take them."""
        return PyramidWeights(*(getattr(self, name) for name in PyramidWeights._fields))

    def forward(self, words: Tensor, lengths: Tensor) -> Tensor:
        """First-level units of a batch (B, T, D) -> pooled levels (B, L, D).

        Lengths are on the device of the words or, better to predict on CUDA, on the CPU.
        """
        return pyramid(words, lengths, self.weights(), **self._options())

    def trace(self, words: Tensor, lengths: Tensor) -> Pyramid:
        """The same with every unit and gate kept, packed; lengths are on the CPU."""
        packed = pack_padded_sequence(words, lengths, batch_first=True, enforce_sorted=False)
        return pyramid_packed(packed, self.weights(), **self._options(), keep_units=True)

    def recordable(self, device: torch.device) -> bool:
        """Whether a step can be a CUDA graph; the packed pyramid asks the device for lengths."""
        words = torch.empty(1, 1, len(self.compose_bias), device=device)
        return choose(words, self.weights()).name == "cuda"

    def _options(self) -> dict[str, Any]:
        return {"activation": self.activation, "pooling": self.pooling, "height": self.max_height}


def _half_orthogonal(size: int) -> torch.Tensor:
    """An orthogonal matrix over sqrt(2): two of them keep the size of their children's sum."""
    return nn.init.orthogonal_(torch.empty(size, size)) / 2**0.5

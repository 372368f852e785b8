"""Padded words of a batch -> pooled levels, by the fastest implementation that can run here."""

from __future__ import annotations

from torch import Tensor
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from adasent.pyramid.packed import pyramid_packed
from adasent.pyramid.weights import PyramidWeights


def pyramid(
    words: Tensor,
    lengths: Tensor,
    weights: PyramidWeights,
    *,
    activation: str = "tanh",
    pooling: str = "mean",
) -> Tensor:
    """Pooled levels of a padded batch.

    Parameters
    ----------
    words
        (B, T, D) first level h^1; what lies beyond a sentence's length is never read.
    lengths
        (B,) words of each sentence, at least 1 and at most T.

    Returns
    -------
    (B, T, D): row t - 1 is level t pooled; zeros above a sentence's top level.
    """
    packed = pack_padded_sequence(words, lengths.cpu(), batch_first=True, enforce_sorted=False)
    built = pyramid_packed(packed, weights, activation=activation, pooling=pooling)
    levels, _ = pad_packed_sequence(built.levels, batch_first=True, total_length=words.shape[1])
    return levels

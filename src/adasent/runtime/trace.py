"""All that a model computed about one text, as arrays: what an explanation is made from."""

from __future__ import annotations

from dataclasses import dataclass

from adasent.runtime.arrays import Doubles, Floats, Ints


@dataclass(frozen=True)
class Trace:
    """The path of a text of L words through the network. It holds L (L + 1) / 2 units of D numbers.

    Attributes
    ----------
    tokens
        The L words as the model read them; a text without any is one ``<unk>``.
    ids
        (L,) their ids.
    units
        For each level t, (L - t + 1, D) units h^t; unit j covers words j to j + t - 1.
    gates
        For each level t >= 2, so from ``gates[0]`` on, (L - t + 1, 3): how much of its left child,
        of its right child and of their composition a unit holds. Rows sum to 1.
    levels
        (L, D) each level pooled.
    beliefs
        (L,) belief in each level; sums to 1.
    level_probabilities, level_log_probs
        (L, C) probabilities of the classes by each level alone, and their logarithms.
    probabilities
        (C,) the consensus; what ``predict_proba`` gives.
    """

    tokens: tuple[str, ...]
    ids: Ints
    units: tuple[Floats, ...]
    gates: tuple[Floats, ...]
    levels: Floats
    beliefs: Doubles
    level_probabilities: Doubles
    level_log_probs: Doubles
    probabilities: Doubles

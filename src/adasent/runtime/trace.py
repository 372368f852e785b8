"""All that a model computed about one text, as arrays: what an explanation is made from."""

from __future__ import annotations

from dataclasses import dataclass

from adasent.runtime.arrays import Doubles, Floats, Ints


@dataclass(frozen=True)
class Trace:
    """The path of a text of T words through the network, which has L levels.

    L is T, or the network's ``max_height`` where that is less.

    Attributes
    ----------
    tokens
        The T words as the model read them; a text without any is one ``<unk>``.
    ids
        (T,) their ids.
    units
        For each level t, (T - t + 1, D) units h^t; unit j covers words j to j + t - 1.
    gates
        For each level t >= 2, so from ``gates[0]`` on, (T - t + 1, 3, N): how much of its left
        child, of its right child and of their composition a unit holds, in each of N groups of
        dimensions. The three sum to 1.
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

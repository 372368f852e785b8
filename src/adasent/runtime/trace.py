"""All that a model computed about one text, as arrays: what an explanation is made from."""

from __future__ import annotations

from dataclasses import dataclass

from adasent.runtime.arrays import Doubles, Floats, Ints


@dataclass(frozen=True)
class Trace:
    """The path of a text of T words through the network, which has L levels.

    L is T, or the network's ``max_height`` where that is less.

    """

    tokens: tuple[str, ...]  # as the model read them; a text without any is one ``<unk>``
    ids: Ints  # (T,) of the tokens
    #: For each level t, (T - t + 1, D) units h^t; unit j covers words j to j + t - 1.
    units: tuple[Floats, ...]
    #: For each level t >= 2, from ``gates[0]`` on, (T - t + 1, 3, N): how much of its left child,
    #: of its right child and of their composition a unit holds, in each of N groups of dimensions.
    gates: tuple[Floats, ...]
    levels: Floats  # (L, D) pooled
    beliefs: Doubles  # (L,) in the levels; they sum to 1
    level_probabilities: Doubles  # (L, C) of the classes by each level alone
    level_log_probs: Doubles  # their logarithms
    probabilities: Doubles  # (C,) the consensus; what ``predict_proba`` gives

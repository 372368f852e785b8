"""Binary trees of a batch -> their nodes level by level, so that a level is one tensor operation.

A tree comes as heights (see :mod:`adasent.data.trees`): one whole number a word, of the height at
which what ends there is joined to what follows. While a batch is composed, the state of a phrase
lies at the place of its first word; joining two phrases overwrites the left one, and in the end
place 0 holds the root.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Level(NamedTuple):
    """The nodes of one height, M of each sentence: words start:middle joined to middle:end."""

    start: Tensor  # (B, M)
    middle: Tensor  # (B, M)
    end: Tensor  # (B, M)
    exists: Tensor  # (B, M) False where a sentence has fewer such nodes


def tree_levels(heights: Tensor, lengths: Tensor) -> list[Level]:
    """The nodes of each height, from 1 up to the highest that T words may reach, T - 1.

    Nodes of equal height share no word and one of height h has more than h words, so that M is
    T // (h + 1): all levels together hold about T log T nodes, whatever the trees. Of the heights
    (B, T), those beyond a sentence are not read.
    """
    n_words = heights.shape[1]
    places = torch.arange(n_words, device=heights.device)
    lengths = lengths.to(heights.device)[:, None]
    heights = torch.where(places < lengths - 1, heights, 0)
    # A phrase reaches to the nearest higher joints on both sides.
    higher = heights[:, None, :] > heights[:, :, None]  # (B, T, T) joint j above joint i
    start = torch.where(higher & (places < places[:, None]), places + 1, 0).amax(dim=2)
    ends = torch.where(higher & (places > places[:, None]), places + 1, lengths[:, :, None])
    end = ends.amin(dim=2)
    order = heights.argsort(dim=1, stable=True)
    n_below = (heights[:, :, None] < torch.arange(n_words + 1, device=heights.device)).sum(dim=1)
    levels = []
    for height in range(1, n_words):
        rank = n_below[:, height, None] + places[: n_words // (height + 1)]
        exists = rank < n_below[:, height + 1, None]
        joint = order.gather(1, rank.clamp(max=n_words - 1))
        # Nodes that do not exist read place 0: values there are sound, and their own go nowhere.
        first, middle, last = (
            torch.where(exists, at, 0)
            for at in (start.gather(1, joint), joint + 1, end.gather(1, joint))
        )
        levels.append(Level(first, middle, last, exists))
    return levels


def with_spare_place(states: Tensor) -> Tensor:
    """(B, T, F) -> (B, T + 1, F): the last place takes what does not exist."""
    return F.pad(states, (0, 0, 0, 1))


def take(states: Tensor, places: Tensor) -> Tensor:
    """States (B, T, F) at places (B, M) -> (B, M, F)."""
    return states.gather(1, places[:, :, None].expand(-1, -1, states.shape[2]))


def take_children(states: Tensor, level: Level) -> tuple[Tensor, Tensor]:
    """States (B, T + 1, F) of the left and right children (B, M, F) of a level."""
    # Once for both: each reading of the states costs their whole size on the way back.
    places = torch.cat([level.start, level.middle], dim=1)
    left, right = take(states, places).chunk(2, dim=1)
    return left, right


def put(states: Tensor, level: Level, phrases: Tensor) -> Tensor:
    """The states (B, T + 1, F) with the phrases (B, M, F) of a level at their first words."""
    places = torch.where(level.exists, level.start, states.shape[1] - 1)
    return states.scatter(1, places[:, :, None].expand_as(phrases), phrases)

"""RAE (Socher et al. 2011): a recursive autoencoder builds its own tree over word vectors.

The two neighbours whose parent p = tanh(W_1 [c_1; c_2] + b_1), scaled to length 1, gives them back
best are joined, until one node is left. The objective has three parts: cross-entropy of a softmax
on every node, reconstruction error of every parent (each child weighted by its words), and
cross-entropy of the sentence's own softmax on its root and the mean of its nodes.

Ours: word vectors go through a linear map to D dimensions and are scaled to length 1 as well, or
the map could lower the reconstruction error by shrinking them; node losses are averaged over the
nodes of a sentence, not summed, so that every sentence counts alike; the sentence's softmax is
trained with the rest, not after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from adasent.checks import check_range
from adasent.nn import LevelClassifier, Noise, Projection, apply_linear, log_answers
from adasent.systems.base import System, classify_sentences, exists, take_words
from adasent.systems.config import SystemConfig, checked, whole
from adasent.systems.trees import put, take, take_children, tree_levels, with_spare_place


@dataclass(frozen=True)
class RaeConfig(SystemConfig):
    """Shape of an RAE."""

    #: D, dimensions of a node.
    hidden_size: int = whole(100, 1, 4096)
    #: alpha, weight of the reconstruction error; nodes' labels weigh 1 - alpha.
    reconstruction: float = checked(0.2, check_range, 0, 1)


class RaeOutput(NamedTuple):
    """What the network says of B sentences."""

    log_probs: Tensor  # (B, A) of the sentence
    node_log_probs: Tensor  # (B, A) mean over all nodes, words among them
    reconstruction: Tensor  # (B,) mean error over all parents; 0 for a single word


class Rae(System):
    """Greedy trees, recursive autoencoder, softmax."""

    config_type = RaeConfig
    config: RaeConfig

    def __init__(self, config: RaeConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.projection = Projection(config.vector_size, size)
        self.encoder = nn.Linear(2 * size, size)
        self.decoder = nn.Linear(size, 2 * size)
        for layer in (self.encoder, self.decoder):
            nn.init.xavier_uniform_(layer.weight)
            nn.init.zeros_(layer.bias)
        self.label = nn.Linear(size, config.n_classes)
        self.classifier = LevelClassifier(2 * size, 0, config.n_classes, config.multilabel)

    def classify(self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None) -> RaeOutput:
        """Find the trees, then compose them level by level and classify."""
        inside = exists(vectors, lengths)
        words = _unit(self.projection(take_words(vectors, lengths, noise)))  # (B, T, D)
        levels = tree_levels(self.trees(words, lengths), lengths)
        states = with_spare_place(words)
        lefts, rights, parents = [], [], []
        for level in levels:
            left, right = take_children(states, level)
            parent = self._parent(left, right)
            states = put(states, level, parent)
            lefts.append(left)
            rights.append(right)
            parents.append(parent)
        nodes = torch.cat([words, *parents], dim=1)
        is_node = torch.cat([inside, *(level.exists for level in levels)], dim=1)
        mean = _mean(nodes, is_node)
        sentence = torch.cat([states[:, 0], mean], dim=1)
        labels = log_answers(apply_linear(self.label, nodes), self.config.multilabel)
        reconstruction = torch.zeros_like(mean[:, 0])
        if levels:
            start, middle, end, is_parent = (
                torch.cat(part, dim=1) for part in zip(*levels, strict=True)
            )
            errors = self._error(
                torch.cat(lefts, dim=1),
                torch.cat(rights, dim=1),
                torch.cat(parents, dim=1),
                middle - start,
                end - middle,
            )
            reconstruction = _mean(errors[:, :, None], is_parent)[:, 0]
        return RaeOutput(
            classify_sentences(self.classifier, sentence, noise),
            _mean(labels, is_node),
            reconstruction,
        )

    def loss(self, output: RaeOutput, targets: Tensor) -> Tensor:
        """(B,) objective of each sentence; targets are distributions (B, C)."""
        alpha = self.config.reconstruction
        # Cross-entropy is linear in log probabilities: that of their mean is the mean over nodes.
        log_probs = output.log_probs + (1 - alpha) * output.node_log_probs
        return alpha * output.reconstruction - (targets * log_probs).sum(dim=1)

    @torch.no_grad()
    def trees(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Heights (B, T) of the greedy trees over words (B, T, D) of length 1.

        Every step joins one pair in each sentence. Once a sentence is done it goes on joining its
        padding, which nobody reads.
        """
        n_words = words.shape[1]
        heights = lengths.new_zeros(words.shape[:2], device=words.device)
        of_nodes = torch.zeros_like(heights)
        last = torch.arange(n_words, device=words.device).expand_as(heights)  # word of each node
        nodes = words
        errors = self._errors_at(nodes, last, lengths, last[:, :-1])  # (B, pairs)
        for n_nodes in range(n_words, 1, -1):
            at = errors.argmin(dim=1, keepdim=True)  # (B, 1)
            pair = torch.cat([at, at + 1], dim=1)
            height = 1 + of_nodes.gather(1, pair).amax(dim=1, keepdim=True)
            heights = heights.scatter(1, last.gather(1, at), height)
            if n_nodes == 2:
                break
            left, right = take(nodes, pair).chunk(2, dim=1)
            places = torch.arange(n_nodes - 1, device=words.device)
            kept = places + (places >= at)  # the right of the two stands for both
            last = last.gather(1, kept)
            of_nodes = of_nodes.gather(1, kept).scatter(1, at, height)
            nodes = take(nodes, kept)
            nodes = torch.where((places == at)[:, :, None], self._parent(left, right), nodes)
            # Only the pairs on both sides of the new node are new.
            errors = errors.gather(1, kept[:, :-1])
            beside = torch.cat([at - 1, at], dim=1).clamp(min=0, max=n_nodes - 3)
            errors = errors.scatter(1, beside, self._errors_at(nodes, last, lengths, beside))
        return heights

    def _errors_at(self, nodes: Tensor, last: Tensor, lengths: Tensor, places: Tensor) -> Tensor:
        """(B, M) error of joining the nodes at places (B, M) to the next; infinite with padding."""
        left, right = take(nodes, places), take(nodes, places + 1)
        start, middle, end = (
            F.pad(last, (1, 0), value=-1).gather(1, places + shift) for shift in range(3)
        )
        errors = self._error(left, right, self._parent(left, right), middle - start, end - middle)
        return errors.masked_fill(end >= lengths.to(end.device)[:, None], float("inf"))

    def _parent(self, left: Tensor, right: Tensor) -> Tensor:
        """(B, M, D) twice -> (B, M, D), of length 1."""
        children = torch.cat([left, right], dim=2)
        return _unit(torch.tanh(apply_linear(self.encoder, children)))

    def _error(
        self, left: Tensor, right: Tensor, parent: Tensor, n_left: Tensor, n_right: Tensor
    ) -> Tensor:
        """(B, M) squared distance of the children from what their parent gives back.

        Each child counts by its share of the words (B, M).
        """
        found_left, found_right = apply_linear(self.decoder, parent).chunk(2, dim=2)
        share = n_left / (n_left + n_right).clamp(min=1)
        of_left = (left - found_left).square().sum(dim=2)
        of_right = (right - found_right).square().sum(dim=2)
        return share * of_left + (1 - share) * of_right

    def penalty(self) -> Tensor:
        """||W_1||_F^2 + ||W_2||_F^2."""
        return self.encoder.weight.square().sum() + self.decoder.weight.square().sum()


def _unit(vectors: Tensor) -> Tensor:
    """Scaled to length 1; a zero vector stays zero and its gradient finite."""
    return vectors * (vectors.square().sum(dim=-1, keepdim=True) + 1e-6).rsqrt()


def _mean(values: Tensor, exists: Tensor) -> Tensor:
    """Mean (B, F) of the values (B, N, F) that exist; 0 where none does."""
    total = values.masked_fill(~exists[:, :, None], 0.0).sum(dim=1)
    return total / exists.sum(dim=1, keepdim=True).clamp(min=1)

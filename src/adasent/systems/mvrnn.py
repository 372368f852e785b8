"""MV-RecNN (Socher et al. 2012): each word a vector and a matrix, joined along a binary parse.

Phrases (a, A) and (b, B) make p = tanh(W [B a; A b] + b_W) and P = W_M [A; B]; the vector of the
root is classified. A word's matrix is I + diag(a) + U V of rank r beside the diagonal: the identity
at first, as a word that changes nothing, and for good in words never seen in training.

Ours: word vectors go through a linear map to D dimensions first, as in AdaSent; there is a bias;
only the root has a label, because the benchmarks label sentences.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adasent.checks import check_range
from adasent.errors import ConfigError
from adasent.nn import LevelClassifier, Noise, Projection, WordEmbedding, apply_linear
from adasent.systems.base import System, SystemOutput, classify_sentences, exists, take_words
from adasent.systems.config import SystemConfig, whole
from adasent.systems.trees import put, take_children, tree_levels, with_spare_place


@dataclass(frozen=True)
class MvRecNNConfig(SystemConfig):
    """Shape of an MV-RecNN."""

    #: D: vectors have D numbers and matrices D x D.
    hidden_size: int = whole(25, 1, 256)
    #: r of U V.
    rank: int = 3
    #: Hidden units of the classifier; 0 makes it the softmax of the paper.
    classifier_size: int = whole(0, 0, 4096)

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("rank", self.rank, 1, self.hidden_size, whole=True)

    @property
    def matrix_size(self) -> int:
        """Numbers of a word's matrix: its diagonal, U and V."""
        return (1 + 2 * self.rank) * self.hidden_size


class WordsAndMatrices(WordEmbedding):
    """A word table with the matrix of each word behind its vector, in the same row.

    So the matrices are trained as the vectors are: only those that occur in a batch. A row costs
    d + (1 + 2 r) D numbers.
    """

    def __init__(self, config: MvRecNNConfig) -> None:
        size = config.vector_size + config.matrix_size
        super().__init__(config.n_trained, config.n_fixed, size)
        self.vector_size = config.vector_size
        n_factors = config.rank * config.hidden_size
        # U is random and V zero: the matrix is the identity, and V learns at once.
        with torch.no_grad():
            self.trained[:, -2 * n_factors : -n_factors].normal_(std=config.hidden_size**-0.5)

    @torch.no_grad()
    def set_vectors(self, table: Tensor) -> None:
        """Copy the vectors of a whole table (n_trained + n_fixed, d) in; matrices stay."""
        self.trained[:, : self.vector_size] = table[: len(self.trained)]
        self.fixed[:, : self.vector_size] = table[len(self.trained) :]


class MvRecNN(System):
    """Vectors and matrices composed from the words to the root."""

    config_type = MvRecNNConfig
    config: MvRecNNConfig

    def __init__(self, config: MvRecNNConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.embedding = WordsAndMatrices(config)
        self.projection = Projection(config.vector_size, size)
        self.join_vectors = nn.Linear(2 * size, size)
        self.join_matrices = nn.Linear(2 * size, size, bias=False)
        with torch.no_grad():  # a phrase starts as the mean of its parts, with a little noise
            self.join_vectors.bias.zero_()
            for layer in (self.join_vectors, self.join_matrices):
                halves = torch.eye(size).repeat(1, 2) / 2
                layer.weight.copy_(halves + 0.01 * torch.randn_like(halves))
        self.classifier = LevelClassifier(
            size, config.classifier_size, config.n_classes, config.multilabel
        )

    def forward(
        self, ids: Tensor, lengths: Tensor, *, structure: Tensor | None = None
    ) -> SystemOutput:
        """Classify a padded batch of ids (B, T) with the heights (B, T) of their trees."""
        return self.classify(self.embedding(ids), lengths, structure=structure)

    def classify(
        self,
        vectors: Tensor,
        lengths: Tensor,
        noise: Noise | None = None,
        *,
        structure: Tensor | None = None,
    ) -> SystemOutput:
        """Compose each level of the trees at once, classify the roots.

        Vectors (B, T, d + matrix_size) are rows of the word table; ``structure`` (B, T) holds the
        heights of the trees.
        """
        if structure is None:
            raise ConfigError(
                "MV-RecNN composes along a parse: expected the heights of the trees, got none; "
                "pass structure=heights, one whole number a word"
            )
        states = with_spare_place(self._words(vectors, lengths, noise))
        for level in tree_levels(structure, lengths):
            states = put(states, level, self._join(*take_children(states, level)))
        root = states[:, 0, : self.config.hidden_size]
        return SystemOutput(classify_sentences(self.classifier, root, noise))

    def _words(self, vectors: Tensor, lengths: Tensor, noise: Noise | None) -> Tensor:
        """(B, T, D + D D): vector and transposed matrix of each word."""
        size, rank = self.config.hidden_size, self.config.rank
        inside = exists(vectors, lengths)
        numbers = vectors[:, :, self.config.vector_size :].masked_fill(~inside[:, :, None], 0.0)
        vectors = vectors[:, :, : self.config.vector_size]
        words = self.projection(take_words(vectors, lengths, noise))
        factors = numbers[:, :, size:].reshape(*inside.shape, 2, rank, size)
        diagonal = torch.eye(size, dtype=words.dtype, device=words.device) * (
            1 + numbers[:, :, None, :size]
        )
        transposed = diagonal + factors[:, :, 1].transpose(2, 3) @ factors[:, :, 0]
        return torch.cat([words, transposed.flatten(2)], dim=2)

    def _join(self, left: Tensor, right: Tensor) -> Tensor:
        """Two phrases (B, M, D + D D) -> one."""
        size = self.config.hidden_size
        a, b = left[:, :, None, :size], right[:, :, None, :size]  # (B, M, 1, D)
        # Transposed matrices lie side by side as the rows of one product, for all nodes together.
        matrices = (*left.shape[:2], size, size)
        of_a = left[:, :, size:].reshape(matrices)
        of_b = right[:, :, size:].reshape(matrices)
        crossed = torch.cat([a @ of_b, b @ of_a], dim=3)[:, :, 0]  # (B, M, 2 D)
        vector = torch.tanh(apply_linear(self.join_vectors, crossed))
        matrix = apply_linear(self.join_matrices, torch.cat([of_a, of_b], dim=3))
        return torch.cat([vector, matrix.flatten(2)], dim=2)

    def penalty(self) -> Tensor:
        """||W||_F^2 + ||W_M||_F^2."""
        return self.join_vectors.weight.square().sum() + self.join_matrices.weight.square().sum()

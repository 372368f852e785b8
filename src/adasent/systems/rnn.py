"""Recurrent networks: the last state of a simple one, and a bidirectional one pooled over words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adasent.checks import check_range
from adasent.nn import LevelClassifier, Noise
from adasent.nn.embedding import apply_linear
from adasent.systems.base import (
    System,
    SystemConfig,
    SystemOutput,
    classify_sentences,
    exists,
    pool_words,
    take_words,
)


@dataclass(frozen=True)
class RnnConfig(SystemConfig):
    """Shape of a recurrent network, of one direction or two.

    Attributes
    ----------
    hidden_size
        D, dimensions of a state (of each direction).
    classifier_size
        Hidden units of the classifier; 0 makes it linear.
    """

    hidden_size: int = 100
    classifier_size: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("hidden_size", self.hidden_size, 1, 4096, whole=True)
        check_range("classifier_size", self.classifier_size, 0, 4096, whole=True)


class Recurrence(nn.Module):
    """h_t = tanh(W x_t + H h_(t-1) + b), h_0 = 0."""

    def __init__(self, vector_size: int, hidden_size: int) -> None:
        super().__init__()
        self.from_word = nn.Linear(vector_size, hidden_size)
        self.from_state = nn.Linear(hidden_size, hidden_size, bias=False)
        nn.init.orthogonal_(self.from_state.weight)

    def forward(self, words: Tensor, inside: Tensor, *, backwards: bool = False) -> Tensor:
        """All states (B, T, D) of words (B, T, d).

        Parameters
        ----------
        inside
            (B, T) where there is a word; elsewhere the state stays what it was.
        backwards
            From the last word to the first.
        """
        inputs = apply_linear(self.from_word, words)  # (B, T, D)
        state = torch.zeros_like(inputs[:, 0])
        states = []
        positions = range(words.shape[1])
        for t in reversed(positions) if backwards else positions:
            following = torch.tanh(inputs[:, t] + self.from_state(state))
            state = torch.where(inside[:, t, None], following, state)
            states.append(state)
        return torch.stack(states[::-1] if backwards else states, dim=1)


class Rnn(System):
    """The paper's background: a simple recurrent network whose last state is the sentence."""

    config_type = RnnConfig
    config: RnnConfig

    def __init__(self, config: RnnConfig) -> None:
        super().__init__(config)
        self.recurrence = Recurrence(config.vector_size, config.hidden_size)
        self.classifier = LevelClassifier(
            config.hidden_size, config.classifier_size, config.n_classes
        )

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Read to the end, then classify."""
        words = take_words(vectors, lengths, noise)
        last = self.recurrence(words, exists(words, lengths))[:, -1]
        return SystemOutput(classify_sentences(self.classifier, last, noise))


class BRnn(System):
    """Lai et al. 2015: a word is its left context, itself and its right context; max over words.

    The context of a word is the state *before* it in each direction. What the three say together,
    y_i = tanh(W [c_l; e; c_r] + b), is pooled by its maximum.
    """

    config_type = RnnConfig
    config: RnnConfig

    def __init__(self, config: RnnConfig) -> None:
        super().__init__(config)
        self.left = Recurrence(config.vector_size, config.hidden_size)
        self.right = Recurrence(config.vector_size, config.hidden_size)
        self.latent = nn.Linear(2 * config.hidden_size + config.vector_size, config.hidden_size)
        self.classifier = LevelClassifier(
            config.hidden_size, config.classifier_size, config.n_classes
        )

    def classify(
        self, vectors: Tensor, lengths: Tensor, noise: Noise | None = None
    ) -> SystemOutput:
        """Contexts, latent features, maximum over words, classifier."""
        words = take_words(vectors, lengths, noise)
        inside = exists(words, lengths)
        nothing = torch.zeros_like(self.left.from_state.weight[0]).expand(len(words), 1, -1)
        left = self.left(words, inside)
        right = self.right(words, inside, backwards=True)
        left = torch.cat([nothing, left[:, :-1]], dim=1)
        # Beyond the last word the right state is still zero, so its context is zero as well.
        right = torch.cat([right[:, 1:], nothing], dim=1)
        features = torch.tanh(apply_linear(self.latent, torch.cat([left, words, right], dim=2)))
        sentences = pool_words(features, lengths, "max")
        return SystemOutput(classify_sentences(self.classifier, sentences, noise))

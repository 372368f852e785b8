"""Recurrent networks: the last state of a simple one, and a bidirectional one pooled over words."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from adasent.nn import LevelClassifier, apply_linear
from adasent.systems.base import SentenceSystem, exists, pool_words
from adasent.systems.config import SystemConfig, whole


@dataclass(frozen=True)
class RnnConfig(SystemConfig):
    """Shape of a recurrent network, of one direction or two."""

    #: D, dimensions of a state (of each direction).
    hidden_size: int = whole(100, 1, 4096)
    #: Hidden units of the classifier; 0 makes it linear.
    classifier_size: int = whole(100, 0, 4096)


class Recurrence(nn.Module):
    """h_t = tanh(W x_t + H h_(t-1) + b), h_0 = 0."""

    def __init__(self, vector_size: int, hidden_size: int) -> None:
        super().__init__()
        self.from_word = nn.Linear(vector_size, hidden_size)
        self.from_state = nn.Linear(hidden_size, hidden_size, bias=False)
        nn.init.orthogonal_(self.from_state.weight)

    def forward(self, words: Tensor, inside: Tensor, *, backwards: bool = False) -> Tensor:
        """All states (B, T, D) of words (B, T, d).

        Where there is no word ``inside`` (B, T), the state stays what it was.
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


class Rnn(SentenceSystem):
    """The paper's background: a simple recurrent network whose last state is the sentence."""

    config_type = RnnConfig
    config: RnnConfig

    def __init__(self, config: RnnConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.recurrence = Recurrence(config.vector_size, size)
        self.classifier = LevelClassifier(
            size, config.classifier_size, config.n_classes, config.multilabel
        )

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """The state after the last word."""
        states: Tensor = self.recurrence(words, exists(words, lengths))
        return states[:, -1]


class BRnn(SentenceSystem):
    """Lai et al. 2015: a word is its left context, itself and its right context; max over words.

    The context of a word is the state *before* it in each direction. What the three say together,
    y_i = tanh(W [c_l; e; c_r] + b), is pooled by its maximum.
    """

    config_type = RnnConfig
    config: RnnConfig

    def __init__(self, config: RnnConfig) -> None:
        super().__init__(config)
        size = config.hidden_size
        self.left = Recurrence(config.vector_size, size)
        self.right = Recurrence(config.vector_size, size)
        self.latent = nn.Linear(2 * size + config.vector_size, size)
        self.classifier = LevelClassifier(
            size, config.classifier_size, config.n_classes, config.multilabel
        )

    def sentences(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Contexts, latent features, maximum over words."""
        inside = exists(words, lengths)
        nothing = torch.zeros_like(self.left.from_state.weight[0]).expand(len(words), 1, -1)
        left = self.left(words, inside)
        right = self.right(words, inside, backwards=True)
        left = torch.cat([nothing, left[:, :-1]], dim=1)
        # Beyond the last word the right state is still zero, so its context is zero as well.
        right = torch.cat([right[:, 1:], nothing], dim=1)
        features = torch.tanh(apply_linear(self.latent, torch.cat([left, words, right], dim=2)))
        return pool_words(features, lengths, "max")

"""AdaSent with one part taken out or put in, to see what that part is worth.

Variants of the network live here and not in the product: each is AdaSent but for a few lines.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from adasent.estimators.adasent import AdaSentClassifier
from adasent.estimators.neural import NeuralClassifier
from adasent.nn import GatedComposition
from adasent.pyramid.weights import PyramidWeights
from adasent.systems.adasent import AdaSent
from adasent.systems.base import cross_entropy
from adasent.systems.config import AdaSentConfig


class _Beliefs(nn.Module):
    """Equal belief in every level."""

    def forward(self, levels: Tensor, exists: Tensor) -> Tensor:
        scores = torch.zeros(exists.shape, dtype=levels.dtype, device=levels.device)
        return torch.log_softmax(scores.masked_fill(~exists, float("-inf")), dim=1)


class NoLevelGate(AdaSent):
    """All levels are believed alike."""

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        self.level_gate = _Beliefs()  # type: ignore[assignment]


class _FixedComposition(GatedComposition):
    """The initial bias for a gate, whatever the children are."""

    copy_bias: float

    def weights(self) -> PyramidWeights:
        found = super().weights()
        bias = torch.zeros_like(found.gate_bias)
        bias[:2] = self.copy_bias / 2
        still = torch.zeros_like(found.gate_left)
        return found._replace(gate_left=still, gate_right=still, gate_bias=bias)


class FixedGates(AdaSent):
    """Local gates that do not look at their children: always the initial bias."""

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        self.composition = _FixedComposition(
            config.hidden_size,
            activation=config.activation,
            pooling=config.pooling,
            gate_size=None,
            copy_bias=config.copy_bias,
        )
        self.composition.copy_bias = config.copy_bias


class _Capped(AdaSent):
    cap: int

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        gate, cap = self.level_gate, self.cap

        class Gate(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.gate = gate

            def forward(self, levels: Tensor, exists: Tensor) -> Tensor:
                low = torch.arange(exists.shape[1], device=exists.device) < cap
                found: Tensor = self.gate(levels, exists & low)
                return found

        self.level_gate = Gate()  # type: ignore[assignment]


class Depth1(_Capped):
    """Only words: the first level decides alone."""

    cap = 1


class Depth3(_Capped):
    """Phrases of at most three words."""

    cap = 3


class Depth7(_Capped):
    """Phrases of at most seven words."""

    cap = 7


class LevelLoss(AdaSent):
    """An auxiliary loss: every level should be right by itself, too."""

    weight = 0.3

    def loss(self, output: Any, targets: Tensor) -> Tensor:
        """Cross-entropy of the consensus, plus the mean of that of the levels."""
        exists = torch.isfinite(output.log_beliefs)
        levels = output.level_log_probs  # (B, L, C)
        each = -torch.where(targets[:, None] > 0, targets[:, None] * levels, 0.0).sum(dim=2)
        mean = torch.where(exists, each, 0.0).sum(dim=1) / exists.sum(dim=1)
        return cross_entropy(output.log_probs, targets) + self.weight * mean


ABLATIONS: dict[str, type[AdaSent]] = {
    "no level gate": NoLevelGate,
    "fixed local gates": FixedGates,
    "words only": Depth1,
    "at most 3 words": Depth3,
    "at most 7 words": Depth7,
    "loss on each level": LevelLoss,
}


class AblationClassifier(AdaSentClassifier):
    """``AdaSentClassifier`` over another network; it predicts through torch and is not saved."""

    predict_proba = NeuralClassifier.predict_proba


def make_ablation(name: str, **settings: Any) -> AblationClassifier:
    """An estimator of an ablation."""
    kind = type("Ablation", (AblationClassifier,), {"network_type": ABLATIONS[name]})
    made: AblationClassifier = kind(**settings)
    return made

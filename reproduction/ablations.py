"""AdaSent with one part taken out or put in, to see what that part is worth.

Variants of the network live here and not in the product: each is AdaSent but for a few lines.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from adasent.estimators.adasent import AdaSentClassifier
from adasent.estimators.neural import NeuralClassifier
from adasent.nn import GatedComposition, Projection
from adasent.pyramid.weights import PyramidWeights
from adasent.systems.adasent import AdaSent
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
        bias[: 2 * found.n_groups] = self.copy_bias / 2
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
            gate_groups=config.gate_groups,
            max_height=config.max_height,
        )
        self.composition.copy_bias = config.copy_bias


class _Root(nn.Module):
    """All belief in the highest level."""

    def forward(self, levels: Tensor, exists: Tensor) -> Tensor:
        above = torch.cat([exists[:, 1:], torch.zeros_like(exists[:, :1])], dim=1)
        scores = torch.zeros(exists.shape, dtype=levels.dtype, device=levels.device)
        return scores.masked_fill(~exists | above, float("-inf"))


class RootOnly(AdaSent):
    """Only the root is classified, as in GrConv; the rest is AdaSent's."""

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        self.level_gate = _Root()  # type: ignore[assignment]


class _FirstLevel(Projection):
    """U' with a bias, and with an activation after it if there is one."""

    def __init__(self, vector_size: int, hidden_size: int, activation: nn.Module) -> None:
        super().__init__(vector_size, hidden_size)
        self.bias = nn.Parameter(torch.zeros(hidden_size))
        self.activation = activation

    def forward(self, vectors: Tensor) -> Tensor:
        projected: Tensor = self.activation(super().forward(vectors))
        return projected


class BiasedWords(AdaSent):
    """A bias on the units of the first level."""

    activation: type[nn.Module] = nn.Identity

    def __init__(self, config: AdaSentConfig) -> None:
        super().__init__(config)
        sizes = config.vector_size, config.hidden_size
        self.projection = _FirstLevel(*sizes, self.activation())


class TanhWords(BiasedWords):
    """A bias and tanh on them."""

    activation = nn.Tanh


ABLATIONS: dict[str, type[AdaSent]] = {
    "no level gate": NoLevelGate,
    "fixed local gates": FixedGates,
    "root only": RootOnly,
    "bias on words": BiasedWords,
    "bias and tanh on words": TanhWords,
}


class AblationClassifier(AdaSentClassifier):
    """``AdaSentClassifier`` over another network; it predicts through torch and is not saved."""

    predict_proba = NeuralClassifier.predict_proba


def make_ablation(name: str, **settings: Any) -> AblationClassifier:
    """An estimator of an ablation."""
    kind = type("Ablation", (AblationClassifier,), {"network_type": ABLATIONS[name]})
    made: AblationClassifier = kind(**settings)
    return made

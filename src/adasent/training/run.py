"""What one model needs to be trained: its network, its texts, its settings and its seed."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from adasent.systems.base import System
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples

#: Name of the trained part of the word table, the only weight that is not dense.
TABLE = "embedding.trained"


@dataclass(frozen=True)
class Run:
    """One training run."""

    model: System  # fresh, on the CPU; it has the best weights when training ends
    training: Examples
    validation: Examples | None  # tells the best epoch; None runs all and keeps the last
    config: TrainingConfig
    seed: int  # of the order of batches and every dropout; initial weights are the caller's

    def details(self) -> dict[str, Any]:
        """What else there is to say of the run, as JSON values; it decides the model too."""
        return {}

    @property
    def kind(self) -> Hashable:
        """Equal for runs that can be stacked: the same network but for its words, and optimiser."""
        network = self.model.config.to_dict()
        settings = [(k, v) for k, v in network.items() if k not in ("n_trained", "n_fixed")]
        dtype = next(self.model.parameters()).dtype
        training = self.config.optimizer, self.config.fine_tune, self.validation is None
        return type(self.model), *settings, dtype, *training

    @property
    def epoch_size(self) -> int:
        """Texts of an epoch."""
        return min(len(self.training), self.config.epoch_size or len(self.training))

    @property
    def height(self) -> int | None:
        """Levels of a pyramid at most, if the network has such a bound."""
        return getattr(self.model.config, "max_height", None)


def dense_weights(model: System) -> dict[str, Tensor]:
    """All weights but the word table, by name."""
    return {name: p.detach() for name, p in model.named_parameters() if name != TABLE}

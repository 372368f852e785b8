"""One frozen dataclass for each system: everything that fixes the shape of its network.

Configs are checked on construction, hold JSON values only, and are saved with the model whole.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from typing import Any

from adasent.checks import JsonConfig, check_choice, check_flag, check_optional, check_range
from adasent.errors import ConfigError


def checked(default: Any, check: Callable[..., None], *limits: Any, **how: Any) -> Any:
    """A field that must pass ``check(name, value, *limits, **how)``; MISSING: without a default."""
    return field(
        default=default, metadata={"check": lambda name, value: check(name, value, *limits, **how)}
    )


def whole(default: Any, low: int, high: float = float("inf")) -> Any:
    """A field for a whole number from ``low`` to ``high``."""
    return checked(default, check_range, low, high, whole=True)


@dataclass(frozen=True)
class SystemConfig(JsonConfig):
    """Sizes that follow from the data."""

    #: Rows of the word table: words seen in training, with PAD and UNK.
    n_trained: int = whole(MISSING, 2)
    #: C.
    n_classes: int = whole(MISSING, 1)
    #: d, dimensions of a word vector.
    vector_size: int = whole(MISSING, 1)
    #: Further rows of the word table, for words that keep their pre-trained vector.
    n_fixed: int = whole(0, 0)
    #: Whether a text may have several of the classes, or none: each then has a probability of its
    #: own, a sigmoid of its score. Else a text has one class, and the probabilities sum to 1.
    multilabel: bool = checked(False, check_flag)

    def __post_init__(self) -> None:
        for one in fields(self):
            if "check" in one.metadata:
                one.metadata["check"](one.name, getattr(self, one.name))


@dataclass(frozen=True)
class AdaSentConfig(SystemConfig):
    """Shape of an AdaSent network."""

    #: D, dimensions of a unit.
    hidden_size: int = whole(100, 1, 4096)
    #: Over the units of a level.
    pooling: str = checked("max", check_choice, ("mean", "max"))
    #: f of the composition.
    activation: str = checked("tanh", check_choice, ("tanh", "relu"))
    #: Groups of dimensions with gates of their own, dimension d being of group d mod gate_groups:
    #: 1 is the paper's gate, hidden_size a gate for each dimension.
    gate_groups: int = whole(1, 1, 4096)
    #: Levels of a pyramid, and so words of a phrase, at most; None for as many as words.
    max_height: int | None = checked(None, check_optional, 1)
    #: Softmax of a linear score, as in the paper, or of an MLP's.
    local_gate: str = checked("softmax", check_choice, ("softmax", "mlp"))
    level_gate: str = checked("softmax", check_choice, ("softmax", "mlp"))
    #: Normalise a pooled level to mean 0 and variance 1 over its dimensions before gate and
    #: classifier, with a learned gain and offset. A maximum over many units is larger than one
    #: over few; so it no longer depends on the level how large they are.
    level_norm: bool = checked(True, check_flag)
    #: Hidden units of the classifier shared by all levels; 0 makes it linear.
    classifier_size: int = whole(100, 0, 4096)
    #: Hidden units of a gate that is an MLP.
    gate_size: int = whole(20, 1, 4096)
    #: Initial bias of the local gate towards copying a child: b_G starts at
    #: (copy_bias, copy_bias, 0) / 2.
    copy_bias: float = checked(4.0, check_range, -20, 20)
    #: Weight of the mean loss of the levels, each classifying by itself, beside the loss of their
    #: consensus.
    level_loss: float = checked(0.0, check_range, 0, 100)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.hidden_size % self.gate_groups:
            raise ConfigError(
                f"gate_groups must divide hidden_size, {self.hidden_size}; got {self.gate_groups}"
            )

"""One frozen dataclass for each system: everything that fixes the shape of its network.

Configs are checked on construction, hold JSON values only, and are saved with the model whole.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from adasent.errors import ConfigError, nearest


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ``ConfigError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {value!r}")


def check_range(
    name: str, value: object, low: float, high: float = float("inf"), *, whole: bool = False
) -> None:
    """Raise ``ConfigError`` unless ``low <= value <= high`` (and whole, if asked)."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and math.isfinite(value) and low <= value <= high  # type: ignore[arg-type,operator]
    if not inside or (whole and value != int(value)):  # type: ignore[call-overload]
        kind = "a whole number" if whole else "a number"
        limit = f"of at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise ConfigError(f"{name} must be {kind} {limit}; got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise ``ConfigError`` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False; got {value!r}")


class JsonConfig:
    """Round trip between a dataclass and a JSON object, with unknown keys refused."""

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping; an unknown key is an error that names the nearest valid one."""
        valid = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        for key in values:
            if key not in valid:
                raise ConfigError(f"unknown setting {key!r}{nearest(key, valid)}")
        return cls(**values)


@dataclass(frozen=True)
class SystemConfig(JsonConfig):
    """Sizes that follow from the data.

    Attributes
    ----------
    n_trained, n_fixed
        Rows of the word table: words seen in training (with PAD and UNK), and further words
        that keep their pre-trained vector.
    n_classes
        C, at least 1.
    vector_size
        d, dimensions of a word vector.
    """

    n_trained: int
    n_classes: int
    vector_size: int
    n_fixed: int = 0

    def __post_init__(self) -> None:
        check_range("n_trained", self.n_trained, 2, whole=True)
        check_range("n_fixed", self.n_fixed, 0, whole=True)
        check_range("n_classes", self.n_classes, 1, whole=True)
        check_range("vector_size", self.vector_size, 1, whole=True)


@dataclass(frozen=True)
class AdaSentConfig(SystemConfig):
    """Shape of an AdaSent network.

    Attributes
    ----------
    hidden_size
        D, dimensions of a unit.
    pooling
        ``mean`` or ``max`` over the units of a level.
    activation
        f of the composition, ``tanh`` or ``relu``.
    local_gate, level_gate
        ``softmax`` of a linear score, as in the paper, or ``mlp``.
    level_norm
        Normalise a pooled level to mean 0 and variance 1 over its dimensions before gate and
        classifier, with a learned gain and offset. A maximum over many units is larger than one
        over few; so it no longer depends on the level how large they are.
    classifier_size
        Hidden units of the classifier shared by all levels; 0 makes it linear.
    gate_size
        Hidden units of a gate that is an MLP.
    copy_bias
        Initial bias of the local gate towards copying a child: b_G starts at
        (copy_bias, copy_bias, 0) / 2.
    """

    hidden_size: int = 100
    pooling: str = "max"
    activation: str = "tanh"
    local_gate: str = "softmax"
    level_gate: str = "softmax"
    level_norm: bool = True
    classifier_size: int = 100
    gate_size: int = 20
    copy_bias: float = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_range("hidden_size", self.hidden_size, 1, 4096, whole=True)
        check_choice("pooling", self.pooling, ("mean", "max"))
        check_choice("activation", self.activation, ("tanh", "relu"))
        check_choice("local_gate", self.local_gate, ("softmax", "mlp"))
        check_choice("level_gate", self.level_gate, ("softmax", "mlp"))
        check_flag("level_norm", self.level_norm)
        check_range("classifier_size", self.classifier_size, 0, 4096, whole=True)
        check_range("gate_size", self.gate_size, 1, 4096, whole=True)
        check_range("copy_bias", self.copy_bias, -20, 20)

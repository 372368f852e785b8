"""One frozen dataclass for each system: everything that fixes the shape of its network.

Configs are checked on construction, hold JSON values only, and are saved with the model whole.
"""

from __future__ import annotations

from dataclasses import dataclass

from adasent.checks import JsonConfig, check_choice, check_flag, check_range


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

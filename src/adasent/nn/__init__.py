"""The stages of the network, in the order a sentence meets them."""

from adasent.nn.composition import GatedComposition
from adasent.nn.dropout import Noise, keyed_dropout
from adasent.nn.embedding import Projection, WordEmbedding, apply_linear
from adasent.nn.levels import LevelClassifier, LevelGate, consensus, log_answers
from adasent.nn.norm import LevelNorm

__all__ = [
    "GatedComposition",
    "LevelClassifier",
    "LevelGate",
    "LevelNorm",
    "Noise",
    "Projection",
    "WordEmbedding",
    "apply_linear",
    "consensus",
    "keyed_dropout",
    "log_answers",
]

"""The stages of the network, in the order a sentence meets them."""

from adasent.nn.classifier import LevelClassifier
from adasent.nn.composition import GatedComposition
from adasent.nn.consensus import consensus
from adasent.nn.dropout import Noise, keyed_dropout
from adasent.nn.embedding import Projection, WordEmbedding
from adasent.nn.gating import LevelGate

__all__ = [
    "GatedComposition",
    "LevelClassifier",
    "LevelGate",
    "Noise",
    "Projection",
    "WordEmbedding",
    "consensus",
    "keyed_dropout",
]

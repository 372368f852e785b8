"""How a network is trained: one frozen dataclass, checked on construction."""

from __future__ import annotations

from dataclasses import dataclass

from adasent.checks import JsonConfig, check_choice, check_range

#: Word vectors of fewer dimensions are small.
SMALL_VECTORS = 150


def suited_to(vector_size: int) -> dict[str, float]:
    """Settings that depend on the dimensions of the word vectors, for who does not give them.

    Many dimensions overfit sooner: they want more dropout and smaller steps. Few do not bear it.
    """
    if vector_size < SMALL_VECTORS:
        return {"learning_rate": 1e-3, "vector_dropout": 0.3}
    return {"learning_rate": 5e-4, "vector_dropout": 0.5}


@dataclass(frozen=True)
class TrainingConfig(JsonConfig):
    """Settings of the training loop.

    Attributes
    ----------
    optimizer
        ``adagrad``, as in the paper, or ``adam``.
    learning_rate
        Step size of every weight.
    table_rate
        Step size of the word table, as a multiple of the learning rate.
    average
        Epochs that the running mean of the weights goes back, which is what is validated and kept;
        0 keeps the weights themselves.
    penalty
        lambda, on the squared Frobenius norms of W_L and W_R.
    clip_norm
        Gradients of a larger joint norm are scaled down to it.
    word_dropout
        Share of words replaced by the unknown word.
    vector_dropout
        Dropout on word vectors.
    dropout
        Dropout before each layer of the classifier.
    fine_tune
        Train the word vectors too.
    epochs
        Passes over the training part, at most.
    batch_size
        Sentences of a batch, at most.
    patience
        Epochs without a better validation score before training stops.
    """

    optimizer: str = "adam"
    learning_rate: float = 1e-3
    table_rate: float = 1.0
    average: float = 0.0
    penalty: float = 1e-4
    clip_norm: float = 5.0
    word_dropout: float = 0.1
    vector_dropout: float = 0.3
    dropout: float = 0.3
    fine_tune: bool = True
    epochs: int = 30
    batch_size: int = 50
    patience: int = 10

    def __post_init__(self) -> None:
        check_choice("optimizer", self.optimizer, ("adagrad", "adam"))
        check_range("learning_rate", self.learning_rate, 1e-8, 100)
        check_range("table_rate", self.table_rate, 0, 1000)
        check_range("average", self.average, 0, 1000)
        check_range("penalty", self.penalty, 0)
        check_range("clip_norm", self.clip_norm, 1e-8)
        check_range("word_dropout", self.word_dropout, 0, 0.95)
        check_range("vector_dropout", self.vector_dropout, 0, 0.95)
        check_range("dropout", self.dropout, 0, 0.95)
        check_range("epochs", self.epochs, 1, whole=True)
        check_range("batch_size", self.batch_size, 1, whole=True)
        check_range("patience", self.patience, 1, whole=True)

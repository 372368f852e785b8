"""How a network is trained: one frozen dataclass, checked on construction."""

from __future__ import annotations

from dataclasses import dataclass

from adasent.checks import JsonConfig, check_choice, check_flag, check_optional, check_range

#: What may tell the best epoch (:mod:`adasent.training.metric`).
METRICS = ("accuracy", "macro_f1", "balanced_accuracy", "loss")

#: Word vectors of fewer dimensions are small.
SMALL_VECTORS = 150


def suited_to(vector_size: int) -> dict[str, float]:
    """Settings that depend on the dimensions of the word vectors, for who does not give them.

    Many dimensions overfit sooner: they want more dropout and smaller steps. Few do not bear it.
    """
    if vector_size < SMALL_VECTORS:
        return {"learning_rate": 1e-3, "vector_dropout": 0.3}
    return {"learning_rate": 5e-4, "vector_dropout": 0.5}


#: The same above an encoder that is tuned: its vectors adapt, and need no such noise.
ABOVE_TUNED = {"learning_rate": 1e-3, "vector_dropout": 0.1}


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
        Epochs, at most: passes over the training part, unless ``epoch_size`` says otherwise.
    epoch_size
        Texts of an epoch, which go on where the epoch before has ended: with very many texts, the
        model is then validated several times a pass. None is a whole pass.
    batch_size
        Sentences of a batch, at most.
    patience
        Epochs without a better validation score before training stops.
    metric
        The validation score: ``accuracy``, ``macro_f1``, ``balanced_accuracy`` or ``loss``.
    calibrate
        After training, divide what the softmax takes by a temperature that makes the probabilities
        of the validation part as likely as can be.
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
    epoch_size: int | None = None
    batch_size: int = 50
    patience: int = 10
    metric: str = "accuracy"
    calibrate: bool = False

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
        check_optional("epoch_size", self.epoch_size, 1)
        check_range("batch_size", self.batch_size, 1, whole=True)
        check_range("patience", self.patience, 1, whole=True)
        check_choice("metric", self.metric, METRICS)
        check_flag("calibrate", self.calibrate)


@dataclass(frozen=True)
class TuningConfig(JsonConfig):
    """How an encoder is trained with the network above it.

    The network's own settings are those of :class:`TrainingConfig`; its learning rate follows the
    same course of warm-up and decay. AdamW, and no running mean: the decay does its work.

    Attributes
    ----------
    encoder_rate
        Step size of the encoder's top layer at its highest.
    layer_decay
        Each layer has so much of the step size of the one above it; embeddings come below all.
    warmup
        Share of the steps in which step sizes rise to their highest; then they fall to 0.
    weight_decay
        Of the encoder's matrices.
    tuning_epochs
        Passes over the training part, at most, in place of ``epochs``: the steps are planned for
        all of them.
    tuning_batch
        Texts of a step on each device, in place of ``batch_size``.
    accumulate
        Parts that a batch is computed in, one after another, to need less memory.
    """

    encoder_rate: float = 3e-5
    layer_decay: float = 0.9
    warmup: float = 0.1
    weight_decay: float = 0.01
    tuning_epochs: int = 4
    tuning_batch: int = 32
    accumulate: int = 1

    def __post_init__(self) -> None:
        check_range("encoder_rate", self.encoder_rate, 0, 1)
        check_range("layer_decay", self.layer_decay, 0, 1)
        check_range("warmup", self.warmup, 0, 1)
        check_range("weight_decay", self.weight_decay, 0, 1)
        check_range("tuning_epochs", self.tuning_epochs, 1, whole=True)
        check_range("tuning_batch", self.tuning_batch, 1, whole=True)
        check_range("accumulate", self.accumulate, 1, whole=True)

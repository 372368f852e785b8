"""``AdaSentClassifier``: scikit-learn's contract over texts, from strings to labels."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch

from adasent.estimators.neural import NeuralClassifier, _n_threads
from adasent.estimators.prediction import find_device, network_proba
from adasent.estimators.predictor import Predictor
from adasent.runtime.network import Network
from adasent.runtime.threads import blas_threads
from adasent.saving.adasent import AdaSentFolder, read_adasent
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig, SystemConfig
from adasent.text.encoder import check_texts
from adasent.text.tokenize import Tokenizer
from adasent.training.config import SMALL_VECTORS

if TYPE_CHECKING:
    from adasent.explain import Explanation


@dataclass(kw_only=True, eq=False, repr=False)
class AdaSentClassifier(NeuralClassifier):
    """Classify short texts by a consensus over phrase scales.

    Parameters
    ----------
    vectors
        Pre-trained word vectors: a file, the name of a registered set, ``WordVectors``, gensim's
        ``KeyedVectors``, or a list of these, used side by side. None starts from random vectors.
    vector_size
        d, when ``vectors`` is None.
    extra_words
        How many of the most frequent pre-trained words to keep beside the training words, so
        that words unseen in training have their vector at prediction.
    tokenizer
        ``words``, ``kim`` or a callable from a string to a list of strings.
    min_count
        Training words rarer than this are unknown words.
    max_words
        Longer texts are cut there, with a warning. None: 2,000, or less where the longest
        twentieth of the training texts would take more than half of the work
        (:func:`adasent.text.cutting.cut_length`).
    hidden_size, pooling, activation, gate_groups, max_height, local_gate, level_gate, \
level_norm, classifier_size, gate_size, copy_bias, level_loss
        The network; see :class:`adasent.systems.config.AdaSentConfig`. ``gate_groups`` of None is a
        gate for each dimension.
    optimizer, learning_rate, table_rate, average, penalty, clip_norm, word_dropout, \
vector_dropout, dropout, fine_tune, epochs, batch_size, patience
        Training; see :class:`adasent.training.config.TrainingConfig`. A learning rate or vector
        dropout of None is chosen by the dimensions of the word vectors (:meth:`suited_to`).
    validation_fraction
        Share of the training texts held back to choose the epoch; 0 trains all epochs on all.
    class_weight
        None, ``balanced`` or a mapping from label to weight.
    checkpoint
        Folder that keeps the state after each epoch. A run that was killed goes on from there
        when ``fit`` is called again with the same data and settings; ``save`` deletes the state of
        a finished run once the model is on disk. None keeps nothing.
    random_state
        Seed of everything random. The same seed gives the same model, bit for bit, on one machine.
    n_jobs
        Threads for training and prediction; None is 1. More help a little on an idle machine and
        hurt much on a busy one, and the last bits of a result depend on their number.
    device
        Where to train and predict: ``cpu``, ``cuda``, ``cuda:1``. None trains on CUDA where there
        is a device for it, and predicts on the CPU. The last digits depend on it.
    verbose
        1 shows progress on standard error.

    Attributes
    ----------
    classes_
        The labels, in the order of the columns of ``predict_proba``.
    history_
        One row an epoch.
    vocabulary_
        The words the model knows.
    model_
        The network.
    """

    system = "adasent"
    network_type = AdaSent
    config_type = AdaSentConfig

    hidden_size: int = 100
    pooling: str = "max"
    activation: str = "tanh"
    gate_groups: int | None = None
    max_height: int | None = None
    local_gate: str = "softmax"
    level_gate: str = "softmax"
    level_norm: bool = True
    classifier_size: int = 100
    gate_size: int = 20
    copy_bias: float = 4.0
    level_loss: float = 0.3
    # Chosen on dev parts of the paper's five sets together (results/search).
    table_rate: float = 0.3
    average: float = 1.0
    penalty: float = 1e-3
    word_dropout: float = 0.0
    _folder: AdaSentFolder = field(init=False)  # that a model was loaded from

    @staticmethod
    def suited_to(vector_size: int) -> dict[str, float]:
        """Many dimensions overfit sooner and want more dropout; few do not bear it."""
        return {
            "learning_rate": 1e-3,
            "vector_dropout": 0.3 if vector_size < SMALL_VECTORS else 0.6,
        }

    def _shape(self, table: np.ndarray, **sizes: int) -> tuple[SystemConfig, np.ndarray]:
        every = {"gate_groups": self.hidden_size} if self.gate_groups is None else {}
        return super()._shape(table, **sizes, **every)

    # -- prediction ----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``.

        They come from the numpy runtime, as those of ``adasent.load`` do, or from the GPU that
        ``device`` names.
        """
        self._check_fitted("call fit, or AdaSentClassifier.load")
        if find_device(self.device or "cpu").type != "cpu":
            return network_proba(self._placed(), self.encoder_(check_texts(X)))
        predictor = Predictor(Network(*self._weights()), self.encoder_, self.classes_)
        with blas_threads(_n_threads(self.n_jobs)):
            return predictor.predict_proba(X)

    def explain(self, X: Any, *, exact: bool = False) -> Explanation | list[Explanation]:
        """Why a text, or each text of a list, gets its label; see ``docs/explanations.md``."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        config, table, tensors = self._weights()
        # Copies: parts of an explanation are found late, and the network may be trained on.
        network = Network(config, table, {name: one.copy() for name, one in tensors.items()})
        predictor = Predictor(network, self.encoder_, self.classes_)
        with blas_threads(_n_threads(self.n_jobs)):
            found: Explanation | list[Explanation] = predictor.explain(X, exact=exact)
        return found

    @cached_property
    def model_(self) -> AdaSent:
        """The network in torch; of a loaded model it is built when it is first asked for."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        read = self._folder
        trained, fixed = read.table.unpack()
        tensors = read.tensors | {"embedding.trained": trained, "embedding.fixed": fixed}
        model = AdaSent(read.config)
        model.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        return model.eval()

    def _weights(self) -> tuple[AdaSentConfig, WordTable, dict[str, np.ndarray]]:
        """Shape, word table and other tensors of the network as they are now."""
        if "model_" not in vars(self):
            return self._folder.config, self._folder.table, self._folder.tensors
        tensors = {name: tensor.numpy() for name, tensor in self.model_.state_dict().items()}
        table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
        return self.model_.config, table, tensors

    # -- saving --------------------------------------------------------------------------------

    @classmethod
    def _open(cls, folder: str | os.PathLike[str]) -> AdaSentFolder:
        return read_adasent(folder)

    def _stored(self) -> tuple[AdaSentConfig, dict[str, np.ndarray]]:
        config, table, tensors = self._weights()
        return config, table.to_tensors() | tensors

    @classmethod
    def _from_opened(cls, opened: Any, tokenizer: Tokenizer | None, folder: Path) -> Self:
        clf = super()._from_opened(opened, tokenizer, folder)
        clf.vector_size = opened.config.vector_size
        clf._folder = opened
        return clf

"""``AdaSentClassifier``: scikit-learn's contract over texts, from strings to labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import torch
from sklearn.base import TransformerMixin

from adasent.checks import check_flag
from adasent.estimators.encoding import Encoded
from adasent.estimators.examples import choose_examples
from adasent.estimators.neural import NeuralClassifier
from adasent.estimators.prediction import find_device, held_proba
from adasent.estimators.predictor import Predictor
from adasent.estimators.threads import n_threads, threads
from adasent.runtime.network import Network
from adasent.runtime.threads import blas_threads
from adasent.saving.adasent import AdaSentFolder, read_adasent
from adasent.saving.word_table import WordTable
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig, SystemConfig
from adasent.text.encoder import check_texts
from adasent.text.tokenize import Tokenizer
from adasent.training.config import SMALL_VECTORS, TrainingConfig
from adasent.training.run import Run

if TYPE_CHECKING:
    from adasent.explain import Explanation


@dataclass(kw_only=True, eq=False, repr=False)
class AdaSentClassifier(TransformerMixin, NeuralClassifier):  # type: ignore[misc]
    """Classify short texts by a consensus over phrase scales.

    Parameters
    ----------
    vectors
        Pre-trained word vectors: a file, the name of a registered set, ``WordVectors``, gensim's
        ``KeyedVectors``, or a list of these, used side by side. ``auto`` is the best that can be
        had, which may be downloaded: a warning says so before. None starts from random vectors.
        See ``docs/vectors.md``.
    encoder
        What makes the word vectors in place of a table: a folder as transformers writes it, or a
        name on its hub. None stands on ``vectors``. See ``docs/encoders.md``.
    tune_encoder
        Train the encoder too; otherwise its vectors are computed once and kept on disk.
    save_encoder
        Put the encoder into the folder of the model; otherwise the model names it with its hash,
        and needs it where it was. One that was tuned is always put there.
    encoder_rate, layer_decay, warmup, weight_decay, tuning_epochs, tuning_batch, accumulate
        How the encoder is trained; see :class:`adasent.training.config.TuningConfig`.
    vector_size
        d, when there are no pre-trained vectors and no encoder.
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
vector_dropout, dropout, fine_tune, epochs, epoch_size, batch_size, patience, metric, calibrate
        Training; see :class:`adasent.training.config.TrainingConfig`. A learning rate or vector
        dropout of None is chosen by the dimensions of the word vectors (:meth:`suited_to`).
    validation_fraction
        Share of the training texts held back to choose the epoch; 0 trains all epochs on all.
    keep_examples
        Keep a few short held-out texts, with their labels, with the model, for pages that show it.
        Leave them out where the texts are private; the words of all texts are kept in any case.
    class_weight
        None, ``balanced`` or a mapping from label to weight.
    checkpoint
        Folder that keeps the state after each epoch. A run that was killed goes on from there
        when ``fit`` is called again with the same data and settings; ``save`` deletes the state of
        a finished run once the model is on disk. None keeps nothing.
    warm_start
        Whether ``fit`` goes on from the model that is there, if there is one, in place of beginning
        anew; see ``docs/training.md``.
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
    thresholds_
        Where a text may have several labels, the probability from which on it has each of them,
        found on the validation part; else None.
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
    pooling: str = "mean"
    activation: str = "tanh"
    gate_groups: int | None = None
    max_height: int | None = None
    local_gate: str = "softmax"
    level_gate: str = "softmax"
    level_norm: bool = True
    classifier_size: int = 100
    gate_size: int = 20
    copy_bias: float = 4.0
    level_loss: float = 0.5
    # Chosen on dev parts of the paper's five sets together (results/search).
    table_rate: float = 0.3
    average: float = 1.0
    penalty: float = 1e-3
    word_dropout: float = 0.0
    keep_examples: bool = True
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

    def _training_config(self, vector_size: int) -> TrainingConfig:
        check_flag("keep_examples", self.keep_examples)
        return super()._training_config(vector_size)

    def _keep(self, run: Run, encoded: Encoded) -> dict[str, Any]:
        held = run.validation
        if not self.keep_examples or held is None:
            return {}
        found = choose_examples(held, encoded.classes, partial(held_proba, run, encoded))
        return {"examples": found}

    # -- prediction ----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; columns are in the order of ``classes_``.

        Rows sum to 1, unless a text may have several labels. They come from the numpy runtime, as
        those of ``adasent.load`` do, or from the GPU that ``device`` names.
        """
        self._check_fitted("call fit, or AdaSentClassifier.load")
        if find_device(self.device or "cpu").type != "cpu":
            return self._by_network(check_texts(X))
        with self._on_cpu() as predictor:
            return predictor.predict_proba(X)

    def transform(self, X: Any) -> np.ndarray:
        """(N, 2 D) vectors of texts, those of :meth:`Predictor.transform`."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        with self._on_cpu() as predictor:
            return predictor.transform(X)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of :meth:`transform`."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        with self._on_cpu() as predictor:
            return predictor.get_feature_names_out()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []  # vectors are of single precision
        return tags

    @contextmanager
    def _on_cpu(self) -> Iterator[Predictor]:
        """The numpy runtime over the network as it is now."""
        self.encoder_.place("cpu")
        predictor = self._predictor(Network(*self._weights()))
        with threads(self.n_jobs), blas_threads(n_threads(self.n_jobs)):
            yield predictor

    def explain(self, X: Any, *, method: str = "shapley") -> Explanation | list[Explanation]:
        """Why a text, or each text of a list, gets its label; see ``docs/explanations.md``."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        config, table, tensors = self._weights()
        self.encoder_.place("cpu")
        # Copies: parts of an explanation are found late, and the network may be trained on.
        network = Network(config, table, {name: one.copy() for name, one in tensors.items()})
        predictor = self._predictor(network)
        with threads(self.n_jobs), blas_threads(n_threads(self.n_jobs)):
            found: Explanation | list[Explanation] = predictor.explain(X, method=method)
        return found

    def _predictor(self, network: Network) -> Predictor:
        return Predictor(network, self.encoder_, self.classes_, thresholds=self.thresholds_)

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

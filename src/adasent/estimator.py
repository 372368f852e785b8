"""``AdaSentClassifier``: scikit-learn's contract over texts, from strings to labels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import torch
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import check_random_state

from adasent.compact import WordTable, from_int8, round_to_half, to_int8
from adasent.data import fetch_file, held_out, vector_sets
from adasent.errors import AdaSentWarning, DataError, ModelFormatError
from adasent.inputs import check_examples, example_weights
from adasent.persistence import TRAINING, SavedModel, read_model, write_model
from adasent.runtime.network import Network
from adasent.runtime.predictor import Predictor, encoder_of
from adasent.runtime.threads import blas_threads
from adasent.systems.adasent import AdaSent
from adasent.systems.config import AdaSentConfig, check_range
from adasent.text.encoder import TextEncoder, tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name
from adasent.text.vectors import (
    NEW_WORD_SPREAD,
    WordVectors,
    align,
    as_vectors,
    frequent_words,
)
from adasent.text.vocabulary import SPECIALS, Vocabulary
from adasent.training.checkpoint import Checkpoint, run_fingerprint
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.loop import default_device, train
from adasent.training.progress import ProgressBar
from adasent.training.run import Run

VectorSource = str | os.PathLike[str] | WordVectors | Any


class _Task(NamedTuple):
    """A fit that is ready to train, and what will be needed after it."""

    run: Run
    classes: np.ndarray
    encoder: TextEncoder
    n_texts: int


class AdaSentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        Longer texts are cut there, with a warning. Cost grows with the square of the length.
    hidden_size, pooling, activation, local_gate, level_gate, classifier_size, gate_size, copy_bias
        The network; see :class:`adasent.systems.config.AdaSentConfig`.
    optimizer, learning_rate, penalty, clip_norm, word_dropout, vector_dropout, dropout, \
fine_tune, epochs, batch_size, patience
        Training; see :class:`adasent.training.config.TrainingConfig`.
    validation_fraction
        Share of the training texts held back to choose the epoch; 0 trains all epochs on all.
    class_weight
        None, ``balanced`` or a mapping from label to weight.
    checkpoint
        Folder that keeps the state after each epoch. A run that was killed goes on from there
        when ``fit`` is called again with the same data and settings. None keeps nothing.
    random_state
        Seed of everything random. The same seed gives the same model, bit for bit, on one machine.
    n_jobs
        Threads for training and prediction; None is 1. More help a little on an idle machine and
        hurt much on a busy one, and the last bits of a result depend on their number.
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

    def __init__(
        self,
        *,
        vectors: VectorSource | Sequence[VectorSource] | None = None,
        vector_size: int = 50,
        extra_words: int = 30_000,
        tokenizer: str | Tokenizer = "words",
        min_count: int = 1,
        max_words: int = 2000,
        hidden_size: int = 100,
        pooling: str = "max",
        activation: str = "tanh",
        local_gate: str = "softmax",
        level_gate: str = "softmax",
        classifier_size: int = 100,
        gate_size: int = 20,
        copy_bias: float = 4.0,
        optimizer: str = "adam",
        learning_rate: float = 1e-3,
        penalty: float = 1e-4,
        clip_norm: float = 5.0,
        word_dropout: float = 0.1,
        vector_dropout: float = 0.3,
        dropout: float = 0.5,
        fine_tune: bool = True,
        epochs: int = 30,
        batch_size: int = 50,
        patience: int = 10,
        validation_fraction: float = 0.1,
        class_weight: Mapping[Any, float] | str | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        random_state: int | np.random.RandomState | None = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.vectors = vectors
        self.vector_size = vector_size
        self.extra_words = extra_words
        self.tokenizer = tokenizer
        self.min_count = min_count
        self.max_words = max_words
        self.hidden_size = hidden_size
        self.pooling = pooling
        self.activation = activation
        self.local_gate = local_gate
        self.level_gate = level_gate
        self.classifier_size = classifier_size
        self.gate_size = gate_size
        self.copy_bias = copy_bias
        self.optimizer = optimizer
        self.learning_rate = learning_rate
        self.penalty = penalty
        self.clip_norm = clip_norm
        self.word_dropout = word_dropout
        self.vector_dropout = vector_dropout
        self.dropout = dropout
        self.fine_tune = fine_tune
        self.epochs = epochs
        self.batch_size = batch_size
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.checkpoint = checkpoint
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        validation: tuple[Any, Any] | None = None,
    ) -> Self:
        """Train on texts and labels.

        Parameters
        ----------
        X
            Strings: list, array or Series.
        y
            One label a text: strings, integers, booleans.
        sample_weight
            (N,) weight of each text in the loss; zero leaves it out of the loss.
        validation
            Texts and labels that choose the epoch, in place of ``validation_fraction``.

        Returns
        -------
        The estimator itself. After Ctrl-C it holds the best model so far, and a warning says so.
        """
        task = self._prepare(X, y, sample_weight, validation)
        device = default_device()
        checkpoint = None
        with _threads(self.n_jobs):
            if self.checkpoint is not None:
                path = Path(self.checkpoint) / "checkpoint.safetensors"
                checkpoint = Checkpoint(path, run_fingerprint(task.run, device))
            (history,) = train(
                [task.run],
                callbacks=[ProgressBar()] if self.verbose else [],
                checkpoint=checkpoint,
                device=device,
            )
        if history.interrupted:
            warnings.warn(
                f"training was interrupted after {len(history)} epochs; "
                f"the model is that of epoch {(history.best_epoch or 0) + 1}",
                AdaSentWarning,
                stacklevel=2,
            )
        elif checkpoint is not None:
            checkpoint.clear()
        return self._finish(task, history)

    def _prepare(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> _Task:
        """Everything before training: checked, tokenised, encoded, with a fresh network."""
        config = self._training_config()
        texts, labels = check_examples(X, y)
        classes = np.unique(labels)
        if len(classes) == 1:
            warnings.warn(
                f"only one class, {labels.tolist()[0]!r}, in the labels; "
                "it will always be predicted",
                AdaSentWarning,
                stacklevel=3,
            )
        weights = example_weights(sample_weight, self.class_weight, labels)
        # A text without weight is left out altogether: of the vocabulary and the validation too.
        used = np.flatnonzero(weights)
        texts, labels = [texts[i] for i in used], labels[used]
        weights = (weights[used] / weights[used].mean()).astype(np.float32)
        targets = np.searchsorted(classes, labels)
        seed = _seed(self.random_state)

        tokenizer = get_tokenizer(self.tokenizer)
        tokens = tokenise(texts, tokenizer, self.max_words)
        if validation is None:
            kept, held = held_out(labels.tolist(), self.validation_fraction, seed, texts=texts)
        else:
            kept, held = np.arange(len(texts)), np.empty(0, dtype=np.int64)
        sources = _read_sources(self.vectors)
        vocabulary = Vocabulary.build(
            (tokens[i] for i in kept),
            min_count=self.min_count,
            extra=frequent_words(sources, self.extra_words),
        )
        table = _word_table(sources, vocabulary, self.vector_size, seed)
        network = AdaSentConfig(
            n_trained=vocabulary.n_training,
            n_fixed=len(vocabulary) - vocabulary.n_training,
            n_classes=len(classes),
            vector_size=table.shape[1],
            **{name: getattr(self, name) for name in _NETWORK_SETTINGS},
        )
        one_hot = np.eye(len(classes), dtype=np.float32)
        examples = Examples([vocabulary.encode(row) for row in tokens], one_hot[targets], weights)
        training = examples.take(kept)
        held_examples: Examples | None = examples.take(held) if len(held) else None
        if validation is not None:
            held_examples = self._encode_validation(validation, vocabulary, tokenizer, classes)

        with torch.random.fork_rng(devices=[]), _threads(self.n_jobs):
            torch.manual_seed(seed)
            model = AdaSent(network)
            model.embedding.set_vectors(torch.from_numpy(table))
        return _Task(
            Run(model, training, held_examples, config, seed),
            classes,
            TextEncoder(tokenizer, vocabulary, self.max_words),
            len(texts),
        )

    def _finish(self, task: _Task, history: History) -> Self:
        """Everything after training: the fitted attributes."""
        run = task.run
        assert isinstance(run.model, AdaSent)
        _round_table(run.model)
        self.classes_ = task.classes
        self.vocabulary_ = task.encoder.vocabulary
        self.encoder_ = task.encoder
        self.model_ = run.model
        self.history_ = history
        self.training_ = {
            "n_texts": task.n_texts,
            "n_validation": len(run.validation) if run.validation else 0,
            "seed": run.seed,
            "settings": run.config.to_dict(),
            "history": history.to_dict(),
            "versions": {"torch": torch.__version__, "numpy": np.__version__},
        }
        return self

    def _encode_validation(
        self,
        validation: tuple[Any, Any],
        vocabulary: Vocabulary,
        tokenizer: Tokenizer,
        classes: np.ndarray,
    ) -> Examples:
        texts, labels = check_examples(*validation)
        unknown = sorted(set(labels.tolist()) - set(classes.tolist()), key=str)
        if unknown:
            raise DataError(
                f"validation labels {unknown[:3]!r} do not occur in training; "
                f"expected one of {classes.tolist()!r}"
            )
        targets = np.searchsorted(classes, labels)
        return Examples(
            TextEncoder(tokenizer, vocabulary, self.max_words)(texts),
            np.eye(len(classes), dtype=np.float32)[targets],
            np.ones(len(texts), dtype=np.float32),
        )

    def _training_config(self) -> TrainingConfig:
        check_range("validation_fraction", self.validation_fraction, 0, 0.9)
        check_range("extra_words", self.extra_words, 0, whole=True)
        check_range("vector_size", self.vector_size, 1, whole=True)
        check_range("min_count", self.min_count, 1, whole=True)
        check_range("max_words", self.max_words, 1, whole=True)
        return TrainingConfig(**{f.name: getattr(self, f.name) for f in fields(TrainingConfig)})

    # -- prediction ----------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each text, as the user gave it in ``fit``."""
        best = self.predict_proba(X).argmax(axis=1)
        labels: np.ndarray = self.classes_[best]
        return labels

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``.

        They come from the numpy runtime, as those of ``adasent.load`` do.
        """
        self._check_fitted("call fit, or AdaSentClassifier.load")
        predictor = Predictor(Network(*self._weights()), self.encoder_, self.classes_)
        with blas_threads(_n_threads(self.n_jobs)):
            return predictor.predict_proba(X)

    @cached_property
    def model_(self) -> AdaSent:
        """The network in torch; of a loaded model it is built when it is first asked for."""
        self._check_fitted("call fit, or AdaSentClassifier.load")
        saved = self._saved
        trained, fixed = saved.table.unpack()
        tensors = saved.tensors | {"embedding.trained": trained, "embedding.fixed": fixed}
        model = AdaSent(saved.config)
        model.load_state_dict({name: torch.from_numpy(tensor) for name, tensor in tensors.items()})
        return model.eval()

    def _weights(self) -> tuple[AdaSentConfig, WordTable, dict[str, np.ndarray]]:
        """Shape, word table and other tensors of the network as they are now."""
        if "model_" not in vars(self):
            return self._saved.config, self._saved.table, self._saved.tensors
        tensors = {name: tensor.numpy() for name, tensor in self.model_.state_dict().items()}
        table = WordTable.wide(tensors.pop("embedding.trained"), tensors.pop("embedding.fixed"))
        return self.model_.config, table, tensors

    def _check_fitted(self, remedy: str) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(f"this AdaSentClassifier is not fitted yet; {remedy}")

    # -- saving --------------------------------------------------------------------------------

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder; see ``docs/format.md``."""
        self._check_fitted("call fit before save")
        config, table, tensors = self._weights()
        write_model(
            folder,
            SavedModel(
                config,
                self.vocabulary_,
                self.classes_,
                tokenizer_name(self.encoder_.tokenizer),
                self.encoder_.max_words,
                table,
                tensors,
                self.training_,
            ),
        )

    @classmethod
    def load(cls, folder: str | os.PathLike[str], *, tokenizer: Tokenizer | None = None) -> Self:
        """Read a saved model.

        Parameters
        ----------
        tokenizer
            The callable the model was trained with, needed only if it was not a named one.
        """
        saved = read_model(folder)
        encoder = encoder_of(saved, tokenizer)
        network = saved.config.to_dict()
        known = {name: network[name] for name in _NETWORK_SETTINGS}
        try:
            settings = saved.training.get("settings", {})
            names = [f.name for f in fields(TrainingConfig) if f.name in settings]
            known |= TrainingConfig(**{name: settings[name] for name in names}).to_dict()
            history = History.from_dict(saved.training.get("history", History().to_dict()))
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelFormatError(
                f"{Path(folder) / TRAINING}: settings or history cannot be read: {error}"
            ) from error
        clf = cls(
            **known,
            vector_size=saved.config.vector_size,
            tokenizer=tokenizer or saved.tokenizer,
            max_words=saved.max_words,
            random_state=saved.training.get("seed", 0),
        )
        clf.classes_ = saved.classes
        clf.vocabulary_ = saved.vocabulary
        clf.encoder_ = encoder
        clf._saved = saved
        clf.training_ = saved.training
        clf.history_ = history
        return clf

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        tags.input_tags.two_d_array = False
        tags.non_deterministic = False
        return tags


def fit_together(estimators: Sequence[AdaSentClassifier], parts: Sequence[tuple[Any, Any]]) -> None:
    """``fit`` of each estimator on its texts and labels, trained as one where they are alike.

    The models are those that ``fit`` gives one by one. After Ctrl-C, ``history_.interrupted`` tells
    which are not complete.
    """
    tasks = [clf._prepare(*part) for clf, part in zip(estimators, parts, strict=True)]
    kinds: dict[Hashable, list[int]] = {}
    for i, task in enumerate(tasks):
        kinds.setdefault(task.run.kind, []).append(i)
    with _threads(estimators[0].n_jobs):
        for members in kinds.values():
            histories = train([tasks[i].run for i in members])
            for i, history in zip(members, histories, strict=True):
                estimators[i]._finish(tasks[i], history)


_NETWORK_SETTINGS = tuple(
    f.name
    for f in fields(AdaSentConfig)
    if f.name not in ("n_trained", "n_fixed", "n_classes", "vector_size")
)


def _n_threads(n_jobs: int | None) -> int:
    """How many threads to use."""
    if n_jobs is None:
        return 1
    check_range("n_jobs", n_jobs, 1, whole=True)
    return n_jobs


@contextmanager
def _threads(n_jobs: int | None) -> Iterator[None]:
    """Run torch on so many threads, and on as many as before afterwards."""
    n_threads = _n_threads(n_jobs)
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _seed(random_state: int | np.random.RandomState | None) -> int:
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        check_range("random_state", int(random_state), 0, 2**63 - 1, whole=True)
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31))


def _read_sources(vectors: Any) -> list[WordVectors]:
    """The vectors setting -> word vectors in memory."""
    if vectors is None:
        return []
    many = vectors if isinstance(vectors, list | tuple) else [vectors]
    sources = []
    for one in many:
        if isinstance(one, str) and not Path(one).exists() and one in vector_sets():
            one = fetch_file(one)
        sources.append(as_vectors(one))
    return sources


def _word_table(
    sources: list[WordVectors], vocabulary: Vocabulary, size: int, seed: int
) -> np.ndarray:
    """(V, d) initial word table."""
    if sources:
        return align(sources, vocabulary, seed=seed)
    table = np.random.default_rng(seed).normal(0.0, NEW_WORD_SPREAD, (len(vocabulary), size))
    table[: len(SPECIALS)] = 0.0
    return table.astype(np.float32)


@torch.no_grad()
def _round_table(model: AdaSent) -> None:
    """Round the word table to what is saved of it, so that saving loses nothing."""
    trained, fixed = model.embedding.trained, model.embedding.fixed
    trained.copy_(torch.from_numpy(round_to_half(trained.numpy())))
    fixed.copy_(torch.from_numpy(from_int8(*to_int8(fixed.numpy()))))

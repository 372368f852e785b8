"""What the estimators of all networks share: from strings to a network, and from texts to labels.

A subclass names its network and the network's config; its keywords are the fields of that config
and of ``TrainingConfig``, beside those that say how texts are read.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from adasent.checks import check_flag, check_optional, check_range
from adasent.data import held_out
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.base import TextClassifier, check_examples, check_training, seed_from
from adasent.estimators.encoding import (
    Encoded,
    VectorSource,
    count_unseen,
    first_table,
    positions_in,
    read_sources,
)
from adasent.estimators.prediction import find_device, network_proba
from adasent.saving.folder import TRAINING
from adasent.saving.model import Opened, SavedModel, naming, tokenizer_of
from adasent.saving.word_table import from_int8, round_to_half, to_int8
from adasent.systems.base import System
from adasent.systems.config import SystemConfig
from adasent.text.cutting import cut_of
from adasent.text.encoder import TextEncoder, check_texts, cut, tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer, tokenizer_name
from adasent.text.vocabulary import Vocabulary
from adasent.training.callbacks import ProgressBar
from adasent.training.checkpoint import CHECKPOINT_FILE, Checkpoint, run_fingerprint
from adasent.training.config import TrainingConfig, suited_to
from adasent.training.examples import Examples
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.run import Run
from adasent.vectors.words import frequent_words


class Size(NamedTuple):
    """How many numbers a network learns: for each word, and beside the words."""

    word: int
    network: int


class TrainedOn(NamedTuple):
    """Where a network was trained."""

    device: str  # "cpu", or the name of the CUDA device
    threads: int  # of torch


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(TextClassifier):
    """Base of the estimators that train a network, with the keywords of them all.

    :class:`~adasent.estimators.adasent.AdaSentClassifier` says what they mean.
    """

    network_type: ClassVar[type[System]]
    config_type: ClassVar[type[SystemConfig]]  # the dataclass that fixes its shape

    vectors: VectorSource | Sequence[VectorSource] | None = None
    vector_size: int = 50
    extra_words: int = 30_000
    tokenizer: str | Tokenizer = "words"
    min_count: int = 1
    max_words: int | None = None
    optimizer: str = "adam"
    learning_rate: float | None = None
    table_rate: float = 1.0
    average: float = 0.0
    penalty: float = 1e-4
    clip_norm: float = 5.0
    word_dropout: float = 0.1
    vector_dropout: float | None = None
    dropout: float = 0.3
    fine_tune: bool = True
    epochs: int = 30
    batch_size: int = 50
    patience: int = 10
    validation_fraction: float = 0.1
    class_weight: Mapping[Any, float] | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None
    device: str | None = None
    verbose: int = 0

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
        X, y
            Strings in a list, array or Series, and one label a text.
        sample_weight
            (N,) weight of each text in the loss; zero leaves it out of the loss.
        validation
            Texts and labels that choose the epoch, in place of ``validation_fraction``.

        Returns
        -------
        The estimator itself. After Ctrl-C it holds the best model so far, and a warning says so.

        Notes
        -----
        With a ``checkpoint``, the state of a finished run stays there until ``save`` has written
        the model: until then ``fit`` with the same data goes straight to the end.
        """
        encoded = self.encode(X, y, sample_weight, validation)
        run = self._build(encoded)
        device = find_device(self.device)
        checkpoint = None
        with _threads(self.n_jobs):
            if self.checkpoint is not None:
                path = Path(self.checkpoint) / CHECKPOINT_FILE
                checkpoint = Checkpoint(path, run_fingerprint(run, device))
                checkpoint.check_writable()
            (history,) = train(
                [run],
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
            self._finish(run, encoded, history, device)
        self._checkpoint = None if history.interrupted else checkpoint
        return self

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, in place of a model that is there; see ``docs/format.md``.

        Once it is on disk, the checkpoint of the finished run that it came from is deleted.
        """
        super().save(folder)
        checkpoint: Checkpoint | None = getattr(self, "_checkpoint", None)
        if checkpoint is not None:
            checkpoint.clear()
            self._checkpoint = None

    def encode(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
    ) -> Encoded:
        """The first half of ``fit``: texts and vectors as numbers, for :func:`fit_encoded`.

        The settings of network and training play no part, so that estimators which differ in
        nothing else (:meth:`reading_settings`) can share what this returns.
        """
        self._training_config(self.vector_size)
        # A text without weight is left out altogether: of the vocabulary and the validation too.
        texts, labels, targets, weights, classes = check_training(
            X, y, sample_weight, self.class_weight
        )
        weights = (weights / weights.mean()).astype(np.float32)
        seed = seed_from(self.random_state, 2**63 - 1)
        tokenizer = get_tokenizer(self.tokenizer)
        whole = [run_tokenizer(tokenizer, text) for text in texts]
        height = getattr(self, "max_height", None)  # of the one network that has such a setting
        check_optional("max_height", height, 1)
        cutting = cut_of(whole, self.max_words, height)
        tokens = cut(whole, cutting.max_words)
        if validation is None:
            kept, held = held_out(labels.tolist(), self.validation_fraction, seed, texts=texts)
        else:
            kept, held = np.arange(len(texts)), np.empty(0, dtype=np.int64)
        sources = read_sources(self.vectors)
        vocabulary = Vocabulary.build(
            (tokens[i] for i in kept),
            min_count=self.min_count,
            extra=frequent_words(sources, self.extra_words),
        )
        one_hot = np.eye(len(classes), dtype=np.float32)
        examples = Examples(
            [vocabulary.encode(row) for row in tokens],
            one_hot[targets],
            weights,
            self._parse(texts, tokens),
        )
        training = examples.take(kept)
        held_examples: Examples | None = examples.take(held) if len(held) else None
        held_tokens = [tokens[i] for i in held]
        if validation is not None:
            held_texts, held_labels = check_examples(*validation)
            held_tokens = tokenise(held_texts, tokenizer, cutting.max_words)
            held_examples = Examples(
                [vocabulary.encode(row) for row in held_tokens],
                one_hot[positions_in(held_labels, classes)],
                np.ones(len(held_texts), dtype=np.float32),
                self._parse(held_texts, held_tokens),
            )

        return Encoded(
            training,
            held_examples,
            first_table(sources, vocabulary, self.vector_size, seed),
            classes,
            TextEncoder(tokenizer, vocabulary, cutting.max_words),
            seed,
            len(texts),
            count_unseen(held_tokens, vocabulary, sources) if held_tokens else None,
            cutting,
        )

    @staticmethod
    def suited_to(vector_size: int) -> dict[str, float]:
        """Settings that follow from the dimensions of the word vectors where none are given."""
        return suited_to(vector_size)

    def reading_settings(self) -> dict[str, Any]:
        """The settings that :meth:`encode` depends on."""
        others = {*network_settings(self.config_type), *TrainingConfig().to_dict()}
        others.discard("max_height")  # texts are cut by what they cost
        return {n: v for n, v in self.get_params(deep=False).items() if n not in others}

    def _build(self, encoded: Encoded) -> Run:
        """A fresh network for texts that were encoded by an estimator of the same vectors."""
        vocabulary = encoded.encoder.vocabulary
        network, table = self._shape(
            encoded.table,
            n_trained=vocabulary.n_training,
            n_fixed=len(vocabulary) - vocabulary.n_training,
            n_classes=len(encoded.classes),
        )
        with torch.random.fork_rng(devices=[]), _threads(self.n_jobs):
            torch.manual_seed(encoded.seed)
            model = self.network_type(network)
            model.embedding.set_vectors(torch.from_numpy(table))
        config = self._training_config(encoded.table.shape[1])
        return Run(model, encoded.training, encoded.validation, config, encoded.seed)

    def _finish(self, run: Run, encoded: Encoded, history: History, device: torch.device) -> None:
        """Everything after training: the fitted attributes."""
        _round_table(run.model)
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        self.trained_on_ = TrainedOn(name, torch.get_num_threads())
        self.classes_ = encoded.classes
        self.vocabulary_ = encoded.encoder.vocabulary
        self.encoder_ = encoded.encoder
        self.model_: Any = run.model
        self.history_ = history
        self.training_ = {
            "n_texts": encoded.n_texts,
            "n_validation": len(run.validation) if run.validation else 0,
            "unseen": encoded.unseen and encoded.unseen._asdict(),
            "cut": encoded.cut._asdict(),
            "seed": run.seed,
            "settings": run.config.to_dict(),
            "history": history.to_dict(),
            "versions": {"torch": torch.__version__, "numpy": np.__version__},
        }

    # -- saving --------------------------------------------------------------------------------

    def _stored(self) -> tuple[SystemConfig, dict[str, np.ndarray]]:
        """The shape of the network, and its tensors as they are saved."""
        tensors = {name: tensor.numpy() for name, tensor in self.model_.state_dict().items()}
        return self.model_.config, tensors

    def _to_saved(self) -> SavedModel:
        config, tensors = self._stored()
        return SavedModel(
            self.system,
            config.to_dict(),
            tokenizer_name(self.encoder_.tokenizer),
            self.encoder_.max_words,
            self.classes_,
            self.vocabulary_.to_list(),
            tensors,
            self.training_,
        )

    @classmethod
    def _from_opened(
        cls, opened: Opened[Any, Vocabulary], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        saved = opened.saved
        with naming(folder / TRAINING):
            settings, history = _read_training(saved.training)
        network = {name: getattr(opened.config, name) for name in network_settings(cls.config_type)}
        clf = cls(
            **network | settings,
            tokenizer=tokenizer or saved.tokenizer,
            max_words=saved.max_words,
            random_state=saved.training.get("seed", 0),
        )
        clf.vocabulary_ = opened.vocabulary
        clf.encoder_ = TextEncoder(
            tokenizer_of(saved, tokenizer), opened.vocabulary, saved.max_words
        )
        clf.history_ = history
        return clf

    def _shape(self, table: np.ndarray, **sizes: int) -> tuple[SystemConfig, np.ndarray]:
        """The network's config, of its settings and the sizes of the data; the table it takes."""
        settings = {name: getattr(self, name) for name in network_settings(self.config_type)}
        table = self.network_type.widen(table, settings)
        return self.config_type(**{"vector_size": table.shape[1], **settings, **sizes}), table

    def _parse(
        self, texts: Sequence[str], tokens: Sequence[Sequence[str]]
    ) -> list[np.ndarray] | None:
        """Trees of the texts, for a network that composes along them."""
        return None

    def _training_config(self, vector_size: int) -> TrainingConfig:
        check_range("validation_fraction", self.validation_fraction, 0, 0.9)
        check_range("extra_words", self.extra_words, 0, whole=True)
        check_range("vector_size", self.vector_size, 1, whole=True)
        check_range("min_count", self.min_count, 1, whole=True)
        check_optional("max_words", self.max_words, 1)
        settings = {f.name: getattr(self, f.name) for f in fields(TrainingConfig)}
        for name, value in self.suited_to(vector_size).items():
            if settings[name] is None:
                settings[name] = value
        return TrainingConfig(**settings)

    # -- prediction ----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; rows sum to 1, columns are in the order of ``classes_``."""
        self._check_fitted(f"call fit, or {type(self).__name__}.load")
        texts = check_texts(X)
        tokens = tokenise(texts, self.encoder_.tokenizer, self.encoder_.max_words)
        ids = [self.vocabulary_.encode(row) for row in tokens]
        with _threads(self.n_jobs):
            return network_proba(self._placed(), ids, self._parse(texts, tokens))

    def _placed(self) -> System:
        """The network where ``device`` says that it predicts; a copy, kept, if that is a GPU."""
        device = find_device(self.device or "cpu")
        model: System = self.model_
        if device.type == "cpu":
            return model
        kept = vars(self).get("_copy")
        if kept is None or kept[0] is not model or kept[1] != device:
            self._copy = kept = model, device, copy.deepcopy(model).to(device)
        return kept[2]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_copy"}


def fit_encoded(estimators: Sequence[NeuralClassifier], texts: Sequence[Encoded]) -> None:
    """``fit`` of each estimator on its encoded texts, trained as one stack where they are alike.

    The models are those that ``fit`` gives one by one. After Ctrl-C, ``history_.interrupted`` tells
    which are not complete. All are trained on the device and the threads of the first.
    """
    runs = [clf._build(encoded) for clf, encoded in zip(estimators, texts, strict=True)]
    device = find_device(estimators[0].device)
    kinds: dict[Hashable, list[int]] = {}
    for i, run in enumerate(runs):
        kinds.setdefault(run.kind, []).append(i)
    with _threads(estimators[0].n_jobs):
        for members in kinds.values():
            histories = train([runs[i] for i in members], device=device)
            for i, history in zip(members, histories, strict=True):
                estimators[i]._finish(runs[i], texts[i], history, device)


def network_settings(config_type: type[SystemConfig]) -> tuple[str, ...]:
    """Fields of a config that are a user's choice; the others follow from the data."""
    given = {f.name for f in fields(SystemConfig)}
    return tuple(f.name for f in fields(config_type) if f.name not in given)


def network_size(estimator: NeuralClassifier, vector_size: int, n_classes: int) -> Size:
    """The size of the network that the estimator would train."""

    def total(n_words: int) -> int:
        table = np.zeros((n_words, vector_size), dtype=np.float32)
        config, _ = estimator._shape(table, n_trained=n_words, n_classes=n_classes)
        with torch.random.fork_rng(devices=[]):
            model = estimator.network_type(config)
        return sum(parameter.numel() for parameter in model.parameters())

    word = total(3) - total(2)
    return Size(word, total(2) - 2 * word)


def _n_threads(n_jobs: int | None) -> int:
    """How many threads to use."""
    check_optional("n_jobs", n_jobs, 1)
    return n_jobs or 1


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


@torch.no_grad()
def _round_table(model: System) -> None:
    """Round the word table to what is saved of it, so that saving loses nothing."""
    trained, fixed = model.embedding.trained, model.embedding.fixed
    trained.copy_(torch.from_numpy(round_to_half(trained.numpy())))
    fixed.copy_(torch.from_numpy(from_int8(*to_int8(fixed.numpy()))))


def _read_training(training: dict[str, Any]) -> tuple[dict[str, Any], History]:
    """Settings of training and the history, as ``training.json`` has them; both may be missing."""
    settings, history = training.get("settings", {}), training.get("history", History().to_dict())
    if not isinstance(settings, dict) or not isinstance(history, dict):
        raise ConfigError("expected settings and history to be objects")
    known = {f.name: settings[f.name] for f in fields(TrainingConfig) if f.name in settings}
    config = TrainingConfig(**known)
    check_flag("fine_tune", config.fine_tune)
    return config.to_dict(), History.from_dict(history)

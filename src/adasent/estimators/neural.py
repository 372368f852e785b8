"""What the estimators of all networks share: from strings to a network, and from texts to labels.

A subclass names its network and the network's config; its keywords are the fields of that config
and of ``TrainingConfig``, beside those that say how texts are read.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import torch

from adasent.checks import check_flag, check_optional, check_range
from adasent.data.default_vectors import AUTO
from adasent.encoders.protocol import WordEncoder
from adasent.errors import AdaSentWarning, ConfigError
from adasent.estimators.base import (
    Targeted,
    TextClassifier,
    check_targets,
    seed_from,
)
from adasent.estimators.encoding import (
    Encoded,
    TableWords,
    VectorSource,
    WordSource,
    encode_texts,
    is_word,
)
from adasent.estimators.going_on import GoesOn
from adasent.estimators.held import look_back
from adasent.estimators.prediction import find_device, held_proba, network_proba
from adasent.estimators.saved_network import SavedNetwork, network_settings
from adasent.estimators.threads import threads
from adasent.estimators.thresholds import HALF, fit_thresholds
from adasent.systems.base import System
from adasent.systems.config import SystemConfig
from adasent.text.encoder import check_texts
from adasent.text.passage import Passage
from adasent.text.tokenize import Tokenizer, get_tokenizer
from adasent.training.callbacks import ProgressBar
from adasent.training.checkpoint import CHECKPOINT_FILE, Checkpoint, run_fingerprint
from adasent.training.config import ABOVE_TUNED, TrainingConfig, TuningConfig, suited_to
from adasent.training.history import History
from adasent.training.loop import train
from adasent.training.metric import is_of_classes
from adasent.training.run import Run
from adasent.training.tuning import TunedRun, tune


class Size(NamedTuple):
    """How many numbers a network learns: for each word, and beside the words."""

    word: int
    network: int


class TrainedOn(NamedTuple):
    """Where a network was trained."""

    device: str  # "cpu", or the name of the CUDA device
    threads: int  # of torch


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralClassifier(GoesOn, SavedNetwork, TextClassifier):
    """Base of the estimators that train a network, with the keywords of them all.

    :class:`~adasent.estimators.adasent.AdaSentClassifier` says what they mean.
    """

    network_type: ClassVar[type[System]]
    config_type: ClassVar[type[SystemConfig]]  # the dataclass that fixes its shape

    vectors: str | VectorSource | Sequence[VectorSource] | None = AUTO
    encoder: str | os.PathLike[str] | None = None
    tune_encoder: bool = False
    save_encoder: bool = True
    encoder_rate: float = 3e-5
    layer_decay: float = 0.9
    warmup: float = 0.1
    weight_decay: float = 0.01
    tuning_epochs: int = 4
    tuning_batch: int = 32
    accumulate: int = 1
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
    epoch_size: int | None = None
    batch_size: int = 50
    patience: int = 10
    metric: str = "accuracy"
    calibrate: bool = True
    validation_fraction: float = 0.1
    class_weight: Mapping[Any, float] | str | None = None
    checkpoint: str | os.PathLike[str] | None = None
    warm_start: bool = False
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
        classes: Any = None,
        several: bool = False,
    ) -> Self:
        """Train on texts and labels; with ``warm_start``, further, if there is a model.

        Parameters
        ----------
        X, y
            Strings in a list, array or Series, and one label a text; or, with ``classes``, soft
            labels: an (N, C) matrix of the probability of each class for each text. Where a text
            may have several labels: a list of labels of each text, [] for none; or, with
            ``classes``, an (N, C) matrix of 0 and 1, some of whose rows do not sum to 1.
        sample_weight
            (N,) weight of each text in the loss; zero leaves it out of the loss.
        validation
            Texts and labels that choose the epoch, in place of ``validation_fraction``.
        classes
            The C labels that the columns of a matrix stand for.
        several
            Whether the matrix has soft labels of texts that may have several labels: the
            probability of each class by itself.

        Returns
        -------
        The estimator itself. After Ctrl-C it holds the best model so far, and a warning says so.

        Notes
        -----
        With a ``checkpoint``, the state of a finished run stays there until ``save`` has written
        the model: until then ``fit`` with the same data goes straight to the end.
        """
        check_flag("warm_start", self.warm_start)
        if self.warm_start and self.__sklearn_is_fitted__():
            if classes is not None:
                raise ConfigError("expected labels to go on with, got soft labels (classes=...)")
            return self._go_on(X, y, sample_weight, validation)
        encoded = self.encode(X, y, sample_weight, validation, classes, several=several)
        return self._train(self._build(encoded), encoded, self.checkpoint)

    def _check_shape(self) -> None:
        """Refuse to go on with a network that cannot, or settings that are not those it has."""
        if self.encoder is not None:
            raise ConfigError("a model on an encoder cannot be trained further; fit a new one")
        if self.thresholds_ is not None:
            raise ConfigError("a model of several labels cannot be trained further; fit a new one")
        if self.network_type.widen.__func__ is not System.widen.__func__:  # type: ignore[attr-defined]
            raise ConfigError(
                f"{type(self).__name__} keeps more of a word than its vector, so new words cannot "
                "be added; fit a new model"
            )
        for name in network_settings(self.config_type):
            wanted, there = getattr(self, name), getattr(self.model_.config, name)
            if wanted is not None and wanted != there:
                raise ConfigError(
                    f"{name} is {wanted!r} and the fitted model has {there!r}: a network that is "
                    "trained further keeps its shape; set it back, or fit a new model"
                )

    def _train(self, run: Run, encoded: Encoded, folder: str | os.PathLike[str] | None) -> Self:
        """From a run to the fitted estimator; a folder keeps the state after each epoch."""
        device = find_device(self.device)
        bar = ProgressBar()
        if encoded.multilabel:
            bar.measure = "micro F1"
        checkpoint = None
        with threads(self.n_jobs):
            if folder is not None:
                path = Path(folder) / CHECKPOINT_FILE
                checkpoint = Checkpoint(path, run_fingerprint(run, device))
                checkpoint.check_writable()
            (history,) = _trainer(run)(
                [run],
                callbacks=[bar] if self.verbose else [],
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

    def encode(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        classes: Any = None,
        fraction: float | None = None,
        *,
        several: bool = False,
    ) -> Encoded:
        """The first half of ``fit``: texts and vectors as numbers, for :func:`fit_encoded`.

        The settings of network and training play no part, so that estimators which differ in
        nothing else (:meth:`reading_settings`) can share what this returns.
        """
        self._training_config(self.vector_size)
        # A text without weight is left out altogether: of the vocabulary and the validation too.
        labelled = check_targets(X, y, classes, sample_weight, self.class_weight, several=several)
        fraction = self.validation_fraction if fraction is None else fraction
        return self._encode_with(self._source(), labelled, validation, fraction)

    def _encode_with(
        self,
        source: WordSource,
        labelled: Targeted,
        validation: tuple[Any, Any] | None,
        fraction: float,
        reader: WordEncoder | None = None,
    ) -> Encoded:
        """Checked texts as numbers; a ``reader`` that is there goes before the settings."""
        height = getattr(self, "max_height", None)  # of the one network that has such a setting
        check_optional("max_height", height, 1)
        with threads(self.n_jobs):
            return encode_texts(
                labelled,
                validation,
                source,
                reader.tokenizer if reader is not None else get_tokenizer(self.tokenizer),
                self._parse,
                max_words=reader.max_words if reader is not None else self.max_words,
                height=height,
                fraction=fraction,
                seed=seed_from(self.random_state, 2**63 - 1),
            )

    def _source(self) -> WordSource:
        """Where the word vectors come from: the one place that asks whether there is an encoder."""
        if self.encoder is None:
            return TableWords(self.vectors, self.vector_size, self.extra_words, self.min_count)
        from adasent.estimators.contextual import encoder_words

        if self.vectors is not None and not is_word(self.vectors, AUTO):
            raise ConfigError("expected vectors or an encoder, got both; leave one of them out")
        tuning = TuningConfig(**{f.name: getattr(self, f.name) for f in fields(TuningConfig)})
        chosen = tuning if self.tune_encoder else None
        return encoder_words(self.encoder, chosen, self.device, tell=self.verbose > 0)

    @staticmethod
    def suited_to(vector_size: int) -> dict[str, float]:
        """Settings that follow from the dimensions of the word vectors where none are given."""
        return suited_to(vector_size)

    def open_settings(self, vector_size: int) -> dict[str, float]:
        """:meth:`suited_to`, or what suits a network above an encoder that is tuned."""
        return ABOVE_TUNED if self.tune_encoder else self.suited_to(vector_size)

    def reading_settings(self) -> dict[str, Any]:
        """The settings that :meth:`encode` depends on."""
        others = {*network_settings(self.config_type), *TrainingConfig().to_dict()}
        others.discard("max_height")  # texts are cut by what they cost
        return {n: v for n, v in self.get_params(deep=False).items() if n not in others}

    def _build(self, encoded: Encoded) -> Run:
        """A fresh network for texts that were encoded by an estimator of the same vectors."""
        if encoded.multilabel and is_of_classes(self.metric):
            raise ConfigError(
                f"metric: {self.metric} is of texts with one label; of several labels accuracy, "
                "which is then micro F1, or loss decides"
            )
        network, table = self._shape(
            encoded.table,
            n_trained=encoded.n_trained,
            n_fixed=len(encoded.table) - encoded.n_trained,
            n_classes=len(encoded.classes),
            multilabel=encoded.multilabel,
        )
        with torch.random.fork_rng(devices=[]), threads(self.n_jobs):
            torch.manual_seed(encoded.seed)
            model = self.network_type(network)
            model.embedding.set_vectors(torch.from_numpy(table))
            if encoded.multilabel:
                shares = encoded.training.targets[:, : len(encoded.classes)].mean(axis=0)
                model.start_at(torch.from_numpy(shares))
        config = self._training_config(encoded.table.shape[1])
        return encoded.source.run(model, encoded, config)

    def _finish(self, run: Run, encoded: Encoded, history: History, device: torch.device) -> None:
        """Everything after training: the fitted attributes."""
        looked_back = look_back(run, encoded)
        self.thresholds_ = self._thresholds(run, encoded)
        kept = self._keep(run, encoded)
        encoder = encoded.source.finish(run, encoded)
        name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
        self.trained_on_ = TrainedOn(name, torch.get_num_threads())
        self.classes_ = encoded.classes
        self.vocabulary_ = encoder.vocabulary
        self.encoder_ = encoder
        self.model_: Any = run.model
        self.history_ = history
        self.training_ = {
            "n_texts": encoded.n_texts,
            "n_validation": len(run.validation) if run.validation else 0,
            "unseen": encoded.unseen and encoded.unseen._asdict(),
            "vectors": encoded.vectors,
            "cut": encoded.cut._asdict(),
            "seed": run.seed,
            "settings": run.config.to_dict(),
            "history": history.to_dict(),
            "versions": {"torch": torch.__version__, "numpy": np.__version__},
            **looked_back,
            **run.details(),
            **kept,
        }

    def _keep(self, run: Run, encoded: Encoded) -> dict[str, Any]:
        """What else ``training_`` has of the trained and calibrated network."""
        return {}

    def _thresholds(self, run: Run, encoded: Encoded) -> np.ndarray | None:
        """(C,) thresholds, by the validation part if there is one; None for one label a text."""
        if not encoded.multilabel:
            return None
        n_classes, held = len(encoded.classes), run.validation
        if held is None:
            return np.full(n_classes, HALF)
        return fit_thresholds(held_proba(run, encoded), held.targets[:, :n_classes] >= HALF)

    def _shape(self, table: np.ndarray, **sizes: int) -> tuple[SystemConfig, np.ndarray]:
        """The network's config, of its settings and the sizes of the data; the table it takes."""
        settings = {name: getattr(self, name) for name in network_settings(self.config_type)}
        wide = self.network_type.widen(table, settings)
        if self.encoder is not None and wide.shape != table.shape:
            raise ConfigError(
                f"{type(self).__name__} keeps more of a word than its vector, which an encoder "
                "does not have; leave out the encoder, or take another system or setting"
            )
        return self.config_type(**{"vector_size": wide.shape[1], **settings, **sizes}), wide

    def _parse(self, passages: Sequence[Passage]) -> list[np.ndarray] | None:
        """Trees of the texts, for a network that composes along them."""
        return None

    def _training_config(self, vector_size: int) -> TrainingConfig:
        check_range("validation_fraction", self.validation_fraction, 0, 0.9)
        check_range("extra_words", self.extra_words, 0, whole=True)
        check_range("vector_size", self.vector_size, 1, whole=True)
        check_range("min_count", self.min_count, 1, whole=True)
        check_optional("max_words", self.max_words, 1)
        check_flag("tune_encoder", self.tune_encoder)
        check_flag("save_encoder", self.save_encoder)
        settings = {f.name: getattr(self, f.name) for f in fields(TrainingConfig)}
        for name, value in self.open_settings(vector_size).items():
            if settings[name] is None:
                settings[name] = value
        return TrainingConfig(**settings)

    # -- prediction ----------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """(N, C) probabilities; columns are in the order of ``classes_``.

        Rows sum to 1, unless a text may have several labels.
        """
        self._check_fitted(f"call fit, or {type(self).__name__}.load")
        with threads(self.n_jobs):
            return self._by_network(check_texts(X))

    def _by_network(self, texts: list[str]) -> np.ndarray:
        """The same in torch, where ``device`` says."""
        model = self._placed()
        parts = self.encoder_.stream(texts)
        found = [network_proba(model, part.ids, table=part.table) for part in parts]
        return np.concatenate(found)

    def _placed(self) -> System:
        """The network where ``device`` says that it predicts; a copy, kept, if that is a GPU."""
        device = find_device(self.device or "cpu")
        self.encoder_.place(str(device))
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
    with threads(estimators[0].n_jobs):
        for members in kinds.values():
            alike = [runs[i] for i in members]
            histories = _trainer(alike[0])(alike, device=device)
            for i, history in zip(members, histories, strict=True):
                estimators[i]._finish(runs[i], texts[i], history, device)


def _trainer(run: Run) -> Callable[..., list[History]]:
    """The loop for runs of its kind."""
    return tune if isinstance(run, TunedRun) else train


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

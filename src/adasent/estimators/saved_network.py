"""What the estimators of networks have to do with folders: models are saved and opened."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from adasent.checks import check_flag
from adasent.data.default_vectors import AUTO
from adasent.encoders.saved import open_words, written_words
from adasent.errors import ConfigError
from adasent.saving.folder import TRAINING
from adasent.saving.model import Opened, SavedModel, naming, tokenizer_of, write_model
from adasent.systems.config import SystemConfig
from adasent.text.tokenize import Tokenizer, tokenizer_name
from adasent.text.vocabulary import Vocabulary
from adasent.training.checkpoint import Checkpoint
from adasent.training.config import TrainingConfig, TuningConfig
from adasent.training.history import History


class SavedNetwork:
    """``save`` of the estimators of networks, and the other way round.

    It stands beside the base of these estimators, whose attributes it reads.
    """

    config_type: ClassVar[type[SystemConfig]]
    _checkpoint: Checkpoint | None  # of a finished run, until it is saved

    if TYPE_CHECKING:  # of NeuralClassifier

        def __getattr__(self, name: str) -> Any: ...

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the model to a folder, in place of a model that is there; see ``docs/format.md``.

        Once it is on disk, the checkpoint of the finished run that it came from is deleted.
        """
        self._check_fitted("call fit before save")
        with written_words(self.encoder_, inside=self.save_encoder) as (entry, files):
            write_model(folder, replace(self._to_saved(), encoder=entry), files)
        checkpoint: Checkpoint | None = getattr(self, "_checkpoint", None)
        if checkpoint is not None:
            checkpoint.clear()
            self._checkpoint = None

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
            thresholds=self.thresholds_,
        )

    @classmethod
    def _from_opened(
        cls, opened: Opened[Any, Vocabulary], tokenizer: Tokenizer | None, folder: Path
    ) -> Self:
        saved = opened.saved
        with naming(folder / TRAINING):
            settings, history = _read_training(saved.training)
        network = {name: getattr(opened.config, name) for name in network_settings(cls.config_type)}
        if saved.encoder is not None:
            network |= {
                "encoder": saved.encoder.name,
                "tune_encoder": saved.encoder.tuned,
                "save_encoder": saved.encoder.inside,
            }
        make: Any = cls
        clf = make(
            **network | settings,
            vectors=_asked_vectors(saved.training),
            tokenizer=tokenizer or saved.tokenizer,
            max_words=saved.max_words,
            random_state=saved.training.get("seed", 0),
        )
        clf.vocabulary_ = opened.vocabulary
        words = tokenizer_of(saved, tokenizer)
        clf.encoder_ = open_words(saved.encoder, folder, words, opened.vocabulary, saved.max_words)
        clf.history_ = history
        found: Self = clf
        return found


def network_settings(config_type: type[SystemConfig]) -> tuple[str, ...]:
    """Fields of a config that are a user's choice; the others follow from the data."""
    given = {f.name for f in fields(SystemConfig)}
    return tuple(f.name for f in fields(config_type) if f.name not in given)


def _read_training(training: dict[str, Any]) -> tuple[dict[str, Any], History]:
    """Settings of training and the history, as ``training.json`` has them; both may be missing."""
    history = training.get("history", History().to_dict())
    settings, tuning = training.get("settings", {}), training.get("tuning", {})
    if not all(isinstance(one, dict) for one in (settings, tuning, history)):
        raise ConfigError("expected settings and history to be objects")
    config = TrainingConfig(**_known(TrainingConfig, settings))
    check_flag("fine_tune", config.fine_tune)
    tuned = TuningConfig(**_known(TuningConfig, tuning))
    return config.to_dict() | tuned.to_dict(), History.from_dict(history)


def _asked_vectors(training: Mapping[str, Any]) -> str | None:
    """The setting that a fit of a loaded model has: files and objects are not kept with a model."""
    said = training.get("vectors")
    return AUTO if isinstance(said, dict) and said.get("auto") is True else None


def _known(config_type: Any, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that are fields of a config."""
    return {f.name: values[f.name] for f in fields(config_type) if f.name in values}

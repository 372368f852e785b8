"""What is exported: a loaded model or a folder in, its checked parts out."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from adasent.errors import ConfigError
from adasent.estimators.predictor import Predictor
from adasent.estimators.registry import saved_system
from adasent.estimators.starter import find_model
from adasent.runtime.network import Network
from adasent.saving.adasent import read_adasent
from adasent.saving.word_table import WordTable
from adasent.text.tokenize import tokenizer_name
from adasent.text.vocabulary import Vocabulary


class Reading(NamedTuple):
    """How a model reads texts."""

    tokenizer: str  # its name; ``custom`` if it is the user's own
    max_words: int
    vocabulary: Vocabulary


class Source(NamedTuple):
    """A model of AdaSent on a word table."""

    network: Network
    table: WordTable
    reading: Reading
    classes: list[Any]
    thresholds: list[float] | None
    training: dict[str, Any]


def source_of(model: Predictor | str | os.PathLike[str]) -> Source:
    """A loaded model, or that of a folder; refused unless it is AdaSent on a word table."""
    return _of_predictor(model) if isinstance(model, Predictor) else _of_folder(model)


def _of_folder(folder: str | os.PathLike[str]) -> Source:
    """A saved model; a tokenizer of the user's own is not asked for."""
    system = saved_system(folder)
    if system != "adasent":
        raise ConfigError(
            f"expected a model of AdaSent, which is what can be exported; {folder} holds one of "
            f"{system}: train one with --system adasent, or teach one with adasent teach"
        )
    saved, config, vocabulary, table, tensors = read_adasent(find_model(folder))
    if saved.encoder is not None:
        raise _on_an_encoder()
    return Source(
        Network(config, table, tensors),
        table,
        Reading(saved.tokenizer, saved.max_words, vocabulary),
        saved.classes.tolist(),
        None if saved.thresholds is None else saved.thresholds.tolist(),
        saved.training,
    )


def _of_predictor(predictor: Predictor) -> Source:
    encoder, table = predictor.encoder, predictor.network.table
    if encoder.contextual or not isinstance(table, WordTable):
        raise _on_an_encoder()
    return Source(
        predictor.network,
        table,
        Reading(tokenizer_name(encoder.tokenizer), encoder.max_words, encoder.vocabulary),
        predictor.classes_.tolist(),
        None if predictor.thresholds_ is None else predictor.thresholds_.tolist(),
        predictor.training_,
    )


def _on_an_encoder() -> ConfigError:
    return ConfigError(
        "the model stands on an encoder, which is not exported: expected one that stands on word "
        "vectors; adasent teach makes one of it"
    )

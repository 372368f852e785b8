"""What the folder of a network holds, and the tensors of AdaSent by shape.

AdaSent's word table is stored in fewer bytes than that of the other networks; see
:mod:`adasent.saving.word_table`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from adasent.errors import ModelFormatError
from adasent.saving.folder import TENSORS
from adasent.saving.model import SavedModel, Schema, Stored, naming, read_model
from adasent.saving.word_table import WordTable, stored_table
from adasent.systems.config import AdaSentConfig, SystemConfig
from adasent.text.vocabulary import Vocabulary

N = TypeVar("N", bound=SystemConfig)


def tensor_shapes(config: AdaSentConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of a network with this configuration."""
    d, size, n_classes = config.vector_size, config.hidden_size, config.n_classes
    mlp_gate = config.local_gate == "mlp"
    n_gates = 3 * config.gate_groups
    width = config.gate_size if mlp_gate else n_gates
    shapes: dict[str, tuple[int, ...]] = {
        "embedding.trained": (config.n_trained, d),
        "embedding.fixed": (config.n_fixed, d),
        "projection.weight": (size, d),
        "composition.compose_left": (size, size),
        "composition.compose_right": (size, size),
        "composition.compose_bias": (size,),
        "composition.gate_left": (width, size),
        "composition.gate_right": (width, size),
        "composition.gate_bias": (width,),
    }
    if mlp_gate:
        shapes["composition.gate_out"] = (n_gates, width)
        shapes["composition.gate_out_bias"] = (n_gates,)
    if config.level_norm:
        shapes["level_norm.weight"] = (size,)
        shapes["level_norm.bias"] = (size,)
    if config.level_gate == "mlp":
        shapes["level_gate.score.0.weight"] = (config.gate_size, size)
        shapes["level_gate.score.0.bias"] = (config.gate_size,)
        shapes["level_gate.score.2.weight"] = (1, config.gate_size)
        shapes["level_gate.score.2.bias"] = (1,)
    else:
        shapes["level_gate.score.weight"] = (1, size)
        shapes["level_gate.score.bias"] = (1,)
    if config.classifier_size:
        shapes["classifier.hidden.weight"] = (config.classifier_size, size)
        shapes["classifier.hidden.bias"] = (config.classifier_size,)
    shapes["classifier.out.weight"] = (n_classes, config.classifier_size or size)
    shapes["classifier.out.bias"] = (n_classes,)
    return shapes


def network_schema(
    system: str,
    parse_settings: Callable[[dict[str, Any]], N],
    tensors: Callable[[N], Mapping[str, Stored]],
) -> Schema[N, Vocabulary]:
    """What the folder of a network holds: as many labels and words as its configuration says."""

    def parse_config(settings: dict[str, Any], n_classes: int) -> N:
        config = parse_settings(settings)
        if n_classes != config.n_classes:
            raise ModelFormatError(f"{n_classes} labels for {config.n_classes} classes")
        return config

    def parse_words(words: list[Any], config: N) -> Vocabulary:
        n_words = config.n_trained + config.n_fixed
        if len(words) != n_words:
            raise ModelFormatError(f"expected a list of {n_words} words")
        return Vocabulary.from_list(words, n_training=config.n_trained)

    return Schema(system, parse_config, parse_words, lambda config, *_: tensors(config))


def _parse_settings(settings: dict[str, Any]) -> AdaSentConfig:
    for name, value in settings.items():
        if isinstance(value, float) and name not in ("copy_bias", "level_loss"):
            raise ModelFormatError(f"{name} must not be a fraction; got {value!r}")
    # Models saved before there was a norm do not mention it, and have none.
    return AdaSentConfig.from_dict({"level_norm": False, **settings})


def _stored(config: AdaSentConfig) -> dict[str, Stored]:
    shapes = tensor_shapes(config)
    table = stored_table(shapes.pop("embedding.trained"), shapes.pop("embedding.fixed"))
    return table | {name: Stored(shape) for name, shape in shapes.items()}


class AdaSentFolder(NamedTuple):
    """What was read from the folder of an AdaSent model."""

    saved: SavedModel
    config: AdaSentConfig
    vocabulary: Vocabulary
    table: WordTable  # as small as it is stored
    tensors: dict[str, np.ndarray]  # the others


def read_adasent(folder: str | os.PathLike[str]) -> AdaSentFolder:
    """Read and check the folder of an AdaSent model; raises ``ModelFormatError``."""
    opened = read_model(folder, network_schema("adasent", _parse_settings, _stored))
    tensors = dict(opened.saved.tensors)
    with naming(Path(folder) / TENSORS):
        table = WordTable.take_from(tensors)
    return AdaSentFolder(*opened, table, tensors)

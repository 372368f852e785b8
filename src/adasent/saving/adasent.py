"""A model as a folder: tensors in safetensors, everything else in JSON. Never pickle, no torch.

``docs/format.md`` describes the format for readers in other languages. What every saved model
shares, and the distrust of whatever is read, is in :mod:`adasent.saving.folder`; here every shape
is checked against the configuration before a tensor is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adasent.errors import ModelFormatError
from adasent.saving.folder import (
    CONFIG,
    MAX_BYTES,
    TENSORS,
    TRAINING,
    VOCABULARY,
    check_finite,
    check_names,
    inside,
    naming,
    open_tensors,
    read_header,
    read_json,
    read_object,
    short,
    to_json,
    write_folder,
)
from adasent.saving.word_table import WordTable
from adasent.systems.config import AdaSentConfig
from adasent.text.vocabulary import Vocabulary

__all__ = [
    "CONFIG",
    "MAX_BYTES",
    "TENSORS",
    "TRAINING",
    "SavedModel",
    "read_model",
    "tensor_shapes",
    "write_model",
]

_TRAINED, _FIXED, _SCALE = "embedding.trained", "embedding.fixed", "embedding.fixed_scale"
#: Types of the stored tensors that are not float32.
_STORED_KINDS = {_TRAINED: ("F16", "F32"), _FIXED: ("I8",)}


@dataclass(frozen=True)
class SavedModel:
    """All that a folder holds.

    Attributes
    ----------
    classes
        (C,) the user's labels in the order of the probabilities.
    tokenizer
        Name of the tokenizer; ``custom`` when it was a callable, which is not saved.
    table
        The word table, as small as it is stored.
    tensors
        Every other tensor of the network by name, float32.
    training
        Summary of the run: settings, history, data sizes. Nothing here affects a prediction.
    """

    config: AdaSentConfig
    vocabulary: Vocabulary
    classes: np.ndarray
    tokenizer: str
    max_words: int
    table: WordTable
    tensors: dict[str, np.ndarray]
    training: dict[str, Any] = field(default_factory=dict)


def tensor_shapes(config: AdaSentConfig) -> dict[str, tuple[int, ...]]:
    """Name and shape of every tensor of a network with this configuration."""
    d, size, n_classes = config.vector_size, config.hidden_size, config.n_classes
    mlp_gate = config.local_gate == "mlp"
    width = config.gate_size if mlp_gate else 3
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
        shapes["composition.gate_out"] = (3, width)
        shapes["composition.gate_out_bias"] = (3,)
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


def write_model(folder: str | os.PathLike[str], model: SavedModel) -> None:
    """Write a model folder, in place of the model that is there; configuration last."""
    header = {
        "system": "adasent",
        "network": model.config.to_dict(),
        "tokenizer": model.tokenizer,
        "max_words": model.max_words,
    }
    vocabulary = to_json(model.vocabulary.to_list())
    write_folder(folder, header, model.classes, _stored(model), vocabulary, model.training)


def read_model(folder: str | os.PathLike[str]) -> SavedModel:
    """Read and check a model folder.

    Raises
    ------
    ModelFormatError
        For anything missing, corrupt, inconsistent, oversized or outside the folder.
    """
    source = Path(folder)
    network, tokenizer, max_words, classes = read_header(source, "adasent", "network")
    with naming(source / CONFIG):
        config = _parse_network(network, len(classes))
    words = read_json(source, VOCABULARY)
    n_rows = config.n_trained + config.n_fixed
    if not isinstance(words, list) or len(words) != n_rows:
        raise ModelFormatError(f"{source / VOCABULARY}: expected a list of {n_rows} words")
    try:
        vocabulary = Vocabulary.from_list(words, n_training=config.n_trained)
    except ModelFormatError as error:
        raise ModelFormatError(f"{source / VOCABULARY}: {short(error)}") from error
    tensors = _read_tensors(source, tensor_shapes(config))
    table = WordTable(tensors.pop(_TRAINED), tensors.pop(_FIXED), tensors.pop(_SCALE))
    training = read_object(source, TRAINING)
    return SavedModel(config, vocabulary, classes, tokenizer, max_words, table, tensors, training)


def _parse_network(network: Mapping[str, Any], n_labels: int) -> AdaSentConfig:
    for name, value in network.items():
        if isinstance(value, float) and name != "copy_bias":
            raise ModelFormatError(f"{name} must not be a fraction; got {value!r}")
    # Models saved before there was a norm do not mention it, and have none.
    config = AdaSentConfig.from_dict({"level_norm": False, **network})
    if n_labels != config.n_classes:
        raise ModelFormatError(f"{n_labels} labels for {config.n_classes} classes")
    return config


def _stored(model: SavedModel) -> dict[str, np.ndarray]:
    """Every tensor of a model as it is stored: the word table in fewer bytes."""
    table = model.table.pack()
    return {_TRAINED: table.trained, _FIXED: table.fixed, _SCALE: table.scale, **model.tensors}


def _read_tensors(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Inverse of :func:`_stored`, with every name, shape, type and value checked."""
    path = inside(folder, TENSORS)
    stored = {**shapes, _SCALE: shapes[_FIXED][:1]}
    with open_tensors(folder) as file:
        check_names(path, set(file.keys()), set(stored))
        for name, shape in stored.items():
            view = file.get_slice(name)
            kinds = _STORED_KINDS.get(name, ("F32",))
            if tuple(view.get_shape()) != shape or view.get_dtype() not in kinds:
                raise ModelFormatError(
                    f"{path}: {name} should be {shape} of {' or '.join(kinds)}, "
                    f"is {tuple(view.get_shape())} of {view.get_dtype()}"
                )
        tensors = {name: file.get_tensor(name) for name in stored}
    for name, tensor in tensors.items():
        with np.errstate(over="ignore"):
            # The rows of a scale are eight bits times it; they are not multiplied out at loading.
            largest = tensor * np.float32(128) if name == _SCALE else tensor
        check_finite(path, name, largest)
    return tensors

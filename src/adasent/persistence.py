"""A model as a folder: tensors in safetensors, everything else in JSON. Never pickle, no torch.

``docs/format.md`` describes the format for readers in other languages. Whatever is read is
treated as hostile: fixed file names, bounded sizes, every shape checked against the
configuration before a tensor is used.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from adasent import __version__
from adasent.compact import WordTable
from adasent.errors import ModelFormatError
from adasent.systems.config import AdaSentConfig
from adasent.text.tokenize import TOKENIZERS
from adasent.text.vocabulary import Vocabulary

FORMAT = 1
TENSORS, CONFIG, VOCABULARY, TRAINING = (
    "model.safetensors",
    "config.json",
    "vocabulary.json",
    "training.json",
)
#: Bytes of each file, at most: far above any real model, low enough to be read without harm.
MAX_BYTES = {
    TENSORS: 8 * 2**30,
    CONFIG: 16 * 2**20,
    VOCABULARY: 256 * 2**20,
    TRAINING: 16 * 2**20,
}

_TRAINED, _FIXED, _SCALE = "embedding.trained", "embedding.fixed", "embedding.fixed_scale"
#: Types of the stored tensors that are not float32.
_STORED_KINDS = {_TRAINED: ("F16", "F32"), _FIXED: ("I8",)}

#: Name of a kind of label -> its Python type and the kinds of numpy arrays that hold it.
_LABEL_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "U"),
    "int": (int, "iu"),
    "float": (float, "f"),
    "bool": (bool, "b"),
}


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
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ModelFormatError(f"cannot save to {target}: a file of that name is in the way")
    kind, values = _labels_to_json(model.classes)
    target.mkdir(parents=True, exist_ok=True)
    # Without a configuration the folder is no model: a kill half-way never leaves a mixed one.
    (target / CONFIG).unlink(missing_ok=True)
    # Not save_file: it makes files that others cannot read, whatever the umask.
    _replace(target / TENSORS, save(_stored(model)))
    _write_json(target / VOCABULARY, model.vocabulary.to_list())
    _write_json(target / TRAINING, model.training)
    _write_json(
        target / CONFIG,
        {
            "format": FORMAT,
            "library_version": __version__,
            "system": "adasent",
            "network": model.config.to_dict(),
            "tokenizer": model.tokenizer,
            "max_words": model.max_words,
            "labels": {"kind": kind, "values": values},
        },
    )


def read_model(folder: str | os.PathLike[str]) -> SavedModel:
    """Read and check a model folder.

    Raises
    ------
    ModelFormatError
        For anything missing, corrupt, inconsistent, oversized or outside the folder.
    """
    source = Path(folder)
    if not source.is_dir():
        raise ModelFormatError(f"expected a model folder, but {source} is not a folder")
    header = _read_object(source, CONFIG)
    if header.get("format") != FORMAT:
        raise ModelFormatError(
            f"{source / CONFIG}: expected format {FORMAT}, got {_short(header.get('format'))}; "
            "it was written by another version of adasent, install that or train again"
        )
    try:
        config, classes, tokenizer, max_words = _parse_header(header)
    except KeyError as error:
        raise ModelFormatError(f"{source / CONFIG}: {error} is missing") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(f"{source / CONFIG}: {_short(error)}") from error
    words = _read_json(source, VOCABULARY)
    n_rows = config.n_trained + config.n_fixed
    if not isinstance(words, list) or len(words) != n_rows:
        raise ModelFormatError(f"{source / VOCABULARY}: expected a list of {n_rows} words")
    try:
        vocabulary = Vocabulary.from_list(words, n_training=config.n_trained)
    except ModelFormatError as error:
        raise ModelFormatError(f"{source / VOCABULARY}: {_short(error)}") from error
    tensors = _read_tensors(source, tensor_shapes(config))
    table = WordTable(tensors.pop(_TRAINED), tensors.pop(_FIXED), tensors.pop(_SCALE))
    training = _read_object(source, TRAINING)
    return SavedModel(config, vocabulary, classes, tokenizer, max_words, table, tensors, training)


def _parse_header(header: Mapping[str, Any]) -> tuple[AdaSentConfig, np.ndarray, str, int]:
    """Network, labels, tokenizer and max_words of ``config.json``."""
    if header["system"] != "adasent":
        raise ModelFormatError(f"unknown system {header['system']!r}; expected 'adasent'")
    network = header["network"]
    if not isinstance(network, dict):
        raise ModelFormatError("expected network to be an object")
    for name, value in network.items():
        if isinstance(value, float) and name != "copy_bias":
            raise ModelFormatError(f"{name} must not be a fraction; got {value!r}")
    config = AdaSentConfig.from_dict(network)
    tokenizer, max_words = header["tokenizer"], header["max_words"]
    if tokenizer not in (*TOKENIZERS, "custom"):
        raise ModelFormatError(f"unknown tokenizer {tokenizer!r}")
    if type(max_words) is not int or max_words < 1:
        raise ModelFormatError(f"max_words must be a whole number of at least 1; got {max_words!r}")
    classes = _labels_from_json(header["labels"])
    if len(classes) != config.n_classes:
        raise ModelFormatError(f"{len(classes)} labels for {config.n_classes} classes")
    return config, classes, tokenizer, max_words


def _stored(model: SavedModel) -> dict[str, np.ndarray]:
    """Every tensor of a model as it is stored: the word table in fewer bytes."""
    table = model.table.pack()
    stored = {_TRAINED: table.trained, _FIXED: table.fixed, _SCALE: table.scale, **model.tensors}
    return {name: np.ascontiguousarray(tensor) for name, tensor in stored.items()}


def _read_tensors(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    """Inverse of :func:`_stored`, with every name, shape, type and value checked."""
    path = _inside(folder, TENSORS)
    stored = {**shapes, _SCALE: shapes[_FIXED][:1]}
    try:
        with safe_open(path, "np") as file:
            names = set(file.keys())
            if names != set(stored):
                raise ModelFormatError(
                    f"{path}: tensors missing: {_some(set(stored) - names)}; "
                    f"not expected: {_some(names - set(stored))}"
                )
            for name, shape in stored.items():
                view = file.get_slice(name)
                kinds = _STORED_KINDS.get(name, ("F32",))
                if tuple(view.get_shape()) != shape or view.get_dtype() not in kinds:
                    raise ModelFormatError(
                        f"{path}: {name} should be {shape} of {' or '.join(kinds)}, "
                        f"is {tuple(view.get_shape())} of {view.get_dtype()}"
                    )
            tensors = {name: file.get_tensor(name) for name in stored}
    except SafetensorError as error:
        raise ModelFormatError(
            f"{path} is not a whole safetensors file: {_short(error)}"
        ) from error
    for name, tensor in tensors.items():
        with np.errstate(over="ignore"):
            # The rows of a scale are eight bits times it; they are not multiplied out at loading.
            largest = tensor * np.float32(128) if name == _SCALE else tensor
        if not np.isfinite(largest).all():
            raise ModelFormatError(f"{path}: {name} holds values that are not finite")
    return tensors


def _some(names: set[str]) -> str:
    listed = ", ".join(map(repr, sorted(names)[:3])) + (", ..." if len(names) > 3 else "")
    return _short(listed) if names else "none"


def _short(value: object) -> str:
    """What a file said, on one line of bounded length, fit for a message."""
    text = value if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:200] + "..."


def _inside(folder: Path, name: str) -> Path:
    """The path of a plain file of the folder; links that lead out of it are refused."""
    path, limit = folder / name, MAX_BYTES[name]
    if not path.exists():
        raise ModelFormatError(f"{folder} is not a whole model: {name} is missing")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ModelFormatError(f"{path} is not a plain file of this folder; refused")
    if path.stat().st_size > limit:
        raise ModelFormatError(f"{path}: {path.stat().st_size} bytes, expected at most {limit}")
    return path


def _read_json(folder: Path, name: str) -> Any:
    path = _inside(folder, name)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not JSON: {_short(error)}") from error


def _read_object(folder: Path, name: str) -> dict[str, Any]:
    value = _read_json(folder, name)
    if not isinstance(value, dict):
        raise ModelFormatError(f"{folder / name}: expected a JSON object")
    return value


def _write_json(path: Path, value: object) -> None:
    # ASCII escapes keep lone surrogates in words intact.
    _replace(path, json.dumps(value, indent=1).encode("ascii"))


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    part.write_bytes(content)
    part.replace(path)


def _labels_to_json(classes: np.ndarray) -> tuple[str, list[Any]]:
    values = classes.tolist()
    for kind, (python_type, _) in _LABEL_KINDS.items():
        if all(type(value) is python_type for value in values):
            return kind, values
    raise ModelFormatError(
        f"labels must all be str, int, float or bool to be saved; got {values[:3]!r}"
    )


def _labels_from_json(entry: Mapping[str, Any]) -> np.ndarray:
    kind, values = entry["kind"], entry["values"]
    if kind not in _LABEL_KINDS or not isinstance(values, list) or not values:
        raise ModelFormatError(f"labels of kind {kind!r} cannot be read")
    python_type, array_kinds = _LABEL_KINDS[kind]
    labels = np.array(values) if all(type(v) is python_type for v in values) else None
    # Integers beyond 64 bits would become floats or objects.
    if labels is None or labels.dtype.kind not in array_kinds:
        raise ModelFormatError(f"labels are not all of kind {kind}")
    if len(set(values)) != len(values) or (kind == "float" and not np.isfinite(labels).all()):
        raise ModelFormatError("labels are not distinct and finite")
    return labels

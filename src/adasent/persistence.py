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
from safetensors.numpy import save_file

from adasent import __version__
from adasent.errors import ConfigError, ModelFormatError
from adasent.systems.config import AdaSentConfig
from adasent.text.vocabulary import Vocabulary

FORMAT = 1
TENSORS, CONFIG, VOCABULARY, TRAINING = (
    "model.safetensors",
    "config.json",
    "vocabulary.json",
    "training.json",
)
MAX_JSON_BYTES = 256 * 2**20
MAX_TENSOR_BYTES = 8 * 2**30

_LABEL_KINDS: dict[str, type] = {"str": str, "int": int, "float": float, "bool": bool}


@dataclass(frozen=True)
class SavedModel:
    """All that a folder holds.

    Attributes
    ----------
    classes
        (C,) the user's labels in the order of the probabilities.
    tokenizer
        Name of the tokenizer; ``custom`` when it was a callable, which is not saved.
    training
        Summary of the run: settings, history, data sizes. Nothing here affects a prediction.
    """

    config: AdaSentConfig
    vocabulary: Vocabulary
    classes: np.ndarray
    tokenizer: str
    max_words: int
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
    """Write a model folder; files that are there are replaced one by one, configuration last."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ModelFormatError(f"cannot save to {target}: a file of that name is in the way")
    target.mkdir(parents=True, exist_ok=True)
    part = target / (TENSORS + ".part")
    save_file({k: np.ascontiguousarray(v) for k, v in model.tensors.items()}, part)
    part.replace(target / TENSORS)
    _write_json(target / VOCABULARY, model.vocabulary.to_list())
    _write_json(target / TRAINING, model.training)
    kind, values = _labels_to_json(model.classes)
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
    header = _read_json(source, CONFIG)
    if not isinstance(header, dict):
        raise ModelFormatError(f"{source / CONFIG}: expected a JSON object")
    if header.get("format") != FORMAT:
        raise ModelFormatError(
            f"{source / CONFIG}: expected format {FORMAT}, got {header.get('format')!r}; "
            "it was written by another version of adasent, install that or train again"
        )
    try:
        if header["system"] != "adasent":
            raise ModelFormatError(f"{source / CONFIG}: unknown system {header['system']!r}")
        config = AdaSentConfig.from_dict(header["network"])
        tokenizer, max_words = header["tokenizer"], header["max_words"]
        classes = _labels_from_json(header["labels"])
    except (KeyError, TypeError, ConfigError, AttributeError) as error:
        raise ModelFormatError(f"{source / CONFIG}: {error} is missing or wrong") from error
    if not isinstance(tokenizer, str) or type(max_words) is not int or max_words < 1:
        raise ModelFormatError(f"{source / CONFIG}: tokenizer or max_words is wrong")
    if len(classes) != config.n_classes:
        raise ModelFormatError(
            f"{source / CONFIG}: {len(classes)} labels for {config.n_classes} classes"
        )
    words = _read_json(source, VOCABULARY)
    n_rows = config.n_trained + config.n_fixed
    if not isinstance(words, list) or len(words) != n_rows:
        raise ModelFormatError(f"{source / VOCABULARY}: expected a list of {n_rows} words")
    vocabulary = Vocabulary.from_list(words, n_training=config.n_trained)
    tensors = _read_tensors(source, tensor_shapes(config))
    training = _read_json(source, TRAINING) if (source / TRAINING).exists() else {}
    return SavedModel(config, vocabulary, classes, tokenizer, max_words, tensors, training)


def _read_tensors(folder: Path, shapes: Mapping[str, tuple[int, ...]]) -> dict[str, np.ndarray]:
    path = _inside(folder, TENSORS, MAX_TENSOR_BYTES)
    try:
        with safe_open(path, "np") as file:
            names = set(file.keys())
            if names != set(shapes):
                raise ModelFormatError(
                    f"{path}: tensors missing: {_some(set(shapes) - names)}; "
                    f"not expected: {_some(names - set(shapes))}"
                )
            for name, shape in shapes.items():
                view = file.get_slice(name)
                # The word table may be stored in half precision.
                kinds = ("F32", "F16") if name.startswith("embedding.") else ("F32",)
                if tuple(view.get_shape()) != shape or view.get_dtype() not in kinds:
                    raise ModelFormatError(
                        f"{path}: {name} should be {shape} of {' or '.join(kinds)}, "
                        f"is {tuple(view.get_shape())} of {view.get_dtype()}"
                    )
            tensors = {name: file.get_tensor(name) for name in shapes}
    except SafetensorError as error:
        raise ModelFormatError(f"{path} is not a whole safetensors file: {error}") from error
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ModelFormatError(f"{path}: {name} holds values that are not finite")
    return tensors


def _some(names: set[str]) -> str:
    return ", ".join(sorted(names)[:3]) + (", ..." if len(names) > 3 else "") or "none"


def _inside(folder: Path, name: str, limit: int) -> Path:
    """The path of a plain file of the folder; links that lead out of it are refused."""
    path = folder / name
    if not path.exists():
        raise ModelFormatError(f"{folder} is not a whole model: {name} is missing")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ModelFormatError(f"{path} is not a plain file of this folder; refused")
    if path.stat().st_size > limit:
        raise ModelFormatError(f"{path}: {path.stat().st_size} bytes, expected at most {limit}")
    return path


def _read_json(folder: Path, name: str) -> Any:
    path = _inside(folder, name, MAX_JSON_BYTES)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not JSON: {error}") from error


def _write_json(path: Path, value: object) -> None:
    part = path.with_name(path.name + ".part")
    # ASCII escapes keep lone surrogates in words intact.
    part.write_text(json.dumps(value, indent=1), encoding="ascii")
    part.replace(path)


def _labels_to_json(classes: np.ndarray) -> tuple[str, list[Any]]:
    values = classes.tolist()
    for kind, python_type in _LABEL_KINDS.items():
        if all(type(value) is python_type for value in values):
            return kind, values
    raise ModelFormatError(
        f"labels must all be str, int, float or bool to be saved; got {values[:3]!r}"
    )


def _labels_from_json(entry: Mapping[str, Any]) -> np.ndarray:
    kind, values = entry["kind"], entry["values"]
    if kind not in _LABEL_KINDS or not isinstance(values, list) or not values:
        raise ModelFormatError(f"labels of kind {kind!r} cannot be read")
    if not all(type(value) is _LABEL_KINDS[kind] for value in values):
        raise ModelFormatError(f"labels are not all of kind {kind}")
    if len(set(values)) != len(values):
        raise ModelFormatError("labels are not distinct")
    return np.array(values)

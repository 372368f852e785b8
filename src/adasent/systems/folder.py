"""A system without a network as a folder: arrays in safetensors, everything else in JSON.

The file names, the limits and the distrust of whatever is read are those of
:mod:`adasent.persistence`.
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
from adasent.errors import ModelFormatError
from adasent.persistence import (
    CONFIG,
    FORMAT,
    TENSORS,
    TRAINING,
    VOCABULARY,
    _inside,
    _labels_from_json,
    _labels_to_json,
    _read_json,
    _read_object,
    _replace,
    _short,
    _some,
    _write_json,
)
from adasent.text.tokenize import TOKENIZERS


@dataclass(frozen=True)
class SavedSystem:
    """All that a folder holds.

    Attributes
    ----------
    system
        Name of the system.
    settings
        Its configuration as JSON values.
    tokenizer
        Name of the tokenizer; ``custom`` when it was a callable, which is not saved.
    classes
        (C,) the user's labels in the order of the probabilities.
    vocabulary
        A JSON list that the system reads itself.
    arrays
        float32 arrays by name.
    training
        Summary of the fit. Nothing here affects a prediction.
    """

    system: str
    settings: dict[str, Any]
    tokenizer: str
    max_words: int
    classes: np.ndarray
    vocabulary: list[Any]
    arrays: dict[str, np.ndarray]
    training: dict[str, Any] = field(default_factory=dict)

    def check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise ``ModelFormatError`` unless the arrays are exactly these."""
        names, expected = set(self.arrays), set(shapes)
        if names != expected:
            raise ModelFormatError(
                f"{TENSORS}: tensors missing: {_some(expected - names)}; "
                f"not expected: {_some(names - expected)}"
            )
        for name, shape in shapes.items():
            if self.arrays[name].shape != shape:
                raise ModelFormatError(
                    f"{TENSORS}: {name} should be {shape}, is {self.arrays[name].shape}"
                )


def write_system(folder: str | os.PathLike[str], saved: SavedSystem) -> None:
    """Write a folder, in place of the model that is there; configuration last."""
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ModelFormatError(f"cannot save to {target}: a file of that name is in the way")
    kind, values = _labels_to_json(saved.classes)
    target.mkdir(parents=True, exist_ok=True)
    # Without a configuration the folder is no model: a kill half-way never leaves a mixed one.
    (target / CONFIG).unlink(missing_ok=True)
    arrays = {name: np.ascontiguousarray(array) for name, array in saved.arrays.items()}
    _replace(target / TENSORS, save(arrays))
    # A line for each of 100,000 n-grams and their words would double the file.
    vocabulary = json.dumps(saved.vocabulary, separators=(",", ":"))
    _replace(target / VOCABULARY, vocabulary.encode("ascii"))
    _write_json(target / TRAINING, saved.training)
    _write_json(
        target / CONFIG,
        {
            "format": FORMAT,
            "library_version": __version__,
            "system": saved.system,
            "settings": saved.settings,
            "tokenizer": saved.tokenizer,
            "max_words": saved.max_words,
            "labels": {"kind": kind, "values": values},
        },
    )


def read_system(folder: str | os.PathLike[str], system: str) -> SavedSystem:
    """Read and check the folder of that system.

    Raises
    ------
    ModelFormatError
        For anything missing, corrupt, oversized or outside the folder. Settings, vocabulary and
        shapes are left for the system to check.
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
        if header["system"] != system:
            raise ModelFormatError(f"expected system {system!r}, got {header['system']!r}")
        settings, tokenizer, max_words = (
            header[key] for key in ("settings", "tokenizer", "max_words")
        )
        if not isinstance(settings, dict):
            raise ModelFormatError("expected settings to be an object")
        if tokenizer not in (*TOKENIZERS, "custom"):
            raise ModelFormatError(f"unknown tokenizer {tokenizer!r}")
        if type(max_words) is not int or max_words < 1:
            raise ModelFormatError(
                f"max_words must be a whole number of at least 1; got {max_words!r}"
            )
        classes = _labels_from_json(header["labels"])
    except KeyError as error:
        raise ModelFormatError(f"{source / CONFIG}: {error} is missing") from error
    except (ValueError, TypeError) as error:
        raise ModelFormatError(f"{source / CONFIG}: {_short(error)}") from error
    vocabulary = _read_json(source, VOCABULARY)
    if not isinstance(vocabulary, list) or not vocabulary:
        raise ModelFormatError(f"{source / VOCABULARY}: expected a list that is not empty")
    return SavedSystem(
        system,
        settings,
        tokenizer,
        max_words,
        classes,
        vocabulary,
        _read_arrays(source),
        _read_object(source, TRAINING),
    )


def _read_arrays(folder: Path) -> dict[str, np.ndarray]:
    path = _inside(folder, TENSORS)
    arrays: dict[str, np.ndarray] = {}
    try:
        with safe_open(path, "np") as file:
            for name in file.keys():  # noqa: SIM118  it is no mapping
                kind = file.get_slice(name).get_dtype()
                if kind != "F32":
                    raise ModelFormatError(f"{path}: {_short(name)} should be F32, is {kind}")
                arrays[name] = file.get_tensor(name)
    except SafetensorError as error:
        raise ModelFormatError(
            f"{path} is not a whole safetensors file: {_short(error)}"
        ) from error
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ModelFormatError(f"{path}: {_short(name)} holds values that are not finite")
    return arrays

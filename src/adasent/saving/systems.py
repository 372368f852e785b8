"""A system other than AdaSent as a folder: arrays in safetensors, everything else in JSON.

The files are those of :mod:`adasent.saving.folder`, as is the distrust of whatever is read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from adasent.errors import ModelFormatError
from adasent.saving.folder import (
    TENSORS,
    TRAINING,
    VOCABULARY,
    check_finite,
    check_names,
    inside,
    open_tensors,
    read_header,
    read_json,
    read_object,
    short,
    write_folder,
)


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
        check_names(TENSORS, set(self.arrays), set(shapes))
        for name, shape in shapes.items():
            if self.arrays[name].shape != shape:
                raise ModelFormatError(
                    f"{TENSORS}: {name} should be {shape}, is {self.arrays[name].shape}"
                )


def write_system(folder: str | os.PathLike[str], saved: SavedSystem) -> None:
    """Write a folder, in place of the model that is there; configuration last."""
    header = {
        "system": saved.system,
        "settings": saved.settings,
        "tokenizer": saved.tokenizer,
        "max_words": saved.max_words,
    }
    # A line for each of 100,000 n-grams and their words would double the file.
    vocabulary = json.dumps(saved.vocabulary, separators=(",", ":")).encode("ascii")
    write_folder(folder, header, saved.classes, saved.arrays, vocabulary, saved.training)


def read_system(folder: str | os.PathLike[str], system: str) -> SavedSystem:
    """Read and check the folder of that system.

    Raises
    ------
    ModelFormatError
        For anything missing, corrupt, oversized or outside the folder. Settings, vocabulary and
        shapes are left for the system to check.
    """
    source = Path(folder)
    header = read_header(source, system, "settings")
    vocabulary = read_json(source, VOCABULARY)
    if not isinstance(vocabulary, list) or not vocabulary:
        raise ModelFormatError(f"{source / VOCABULARY}: expected a list that is not empty")
    arrays, training = _read_arrays(source), read_object(source, TRAINING)
    return SavedSystem(system, *header, vocabulary, arrays, training)


def _read_arrays(folder: Path) -> dict[str, np.ndarray]:
    path = inside(folder, TENSORS)
    arrays: dict[str, np.ndarray] = {}
    with open_tensors(folder) as file:
        for name in file.keys():  # noqa: SIM118  it is no mapping
            kind = file.get_slice(name).get_dtype()
            if kind != "F32":
                raise ModelFormatError(f"{path}: {short(name)} should be F32, is {kind}")
            arrays[name] = file.get_tensor(name)
    for name, array in arrays.items():
        check_finite(path, name, array)
    return arrays

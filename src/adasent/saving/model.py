"""A saved model of any system: four files of a folder on one side, checked values on the other.

Tensors are in safetensors, everything else in JSON; never pickle. ``docs/format.md`` describes the
format for readers in other languages. Whatever is read is treated as hostile: fixed file names,
bounded sizes, links that lead out of the folder refused, and the shape of every tensor compared
with what the configuration says before anything is allocated. Needs no torch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from adasent.checks import check_integer, check_range
from adasent.encoders.folder import EncoderFolder, SavedEncoder
from adasent.errors import ConfigError, ModelFormatError
from adasent.saving.folder import CONFIG, TENSORS, TRAINING, VOCABULARY, repair, write_files
from adasent.text.tokenize import TOKENIZERS, Tokenizer, get_tokenizer
from adasent.version import __version__

#: Of models that stand on a word table, and of those that stand on an encoder, which a reader of
#: the first would take for models that know no word.
FORMAT, WITH_ENCODER = 1, 2
#: Bytes of each file, at most: far above any real model, low enough to be read without harm.
MAX_BYTES = {
    TENSORS: 8 * 2**30,
    CONFIG: 16 * 2**20,
    VOCABULARY: 256 * 2**20,
    TRAINING: 16 * 2**20,
}

#: Name of a kind of label -> its Python type and the kinds of numpy arrays that hold it.
_LABEL_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "U"),
    "int": (int, "iu"),
    "float": (float, "f"),
    "bool": (bool, "b"),
}
#: How often a folder is read again that was replaced while it was read.
_ATTEMPTS = 5

C = TypeVar("C")
V = TypeVar("V")


@dataclass(frozen=True)
class SavedModel:
    """All that a folder holds."""

    system: str
    settings: dict[str, Any]  # the configuration as JSON values
    tokenizer: str  # its name; ``custom`` when it was a callable, which is not saved
    max_words: int
    classes: np.ndarray  # (C,) the user's labels in the order of the probabilities
    vocabulary: list[Any]  # JSON values whose meaning is the system's
    tensors: dict[str, np.ndarray]  # as they are stored
    training: dict[str, Any] = field(default_factory=dict)  # affects no prediction
    encoder: SavedEncoder | None = None  # that it stands on, in place of a word table
    thresholds: np.ndarray | None = None  # (C,) where a text may have several labels


class Stored(NamedTuple):
    """What the header of the tensors must say of one of them."""

    shape: tuple[int, ...]
    kinds: tuple[str, ...] = ("F32",)


@dataclass(frozen=True)
class Schema(Generic[C, V]):
    """What the values in the folder of a system mean, and which tensors they ask for."""

    system: str
    parse_settings: Callable[[dict[str, Any], int], C]  # also of the number of labels
    parse_vocabulary: Callable[[list[Any], C], V]  # the list is not empty
    tensors: Callable[[C, V, int], Mapping[str, Stored]]  # by name; also of the number of labels


class Opened(NamedTuple, Generic[C, V]):
    """A folder that was read, and what its values mean."""

    saved: SavedModel
    config: C
    vocabulary: V


def write_model(
    folder: str | os.PathLike[str], model: SavedModel, encoder: EncoderFolder | None = None
) -> None:
    """Write a model folder, in place of the model that is there; all of it or nothing.

    Parameters
    ----------
    encoder
        What is to be copied into the folder, if anything.
    """
    kind, labels = _labels_to_json(model.classes)
    header = {
        "format": FORMAT if model.encoder is None else WITH_ENCODER,
        "library_version": __version__,
        "system": model.system,
        _settings_key(model.system): model.settings,
        "tokenizer": model.tokenizer,
        "max_words": model.max_words,
        "labels": {"kind": kind, "values": labels},
    }
    if model.thresholds is not None:
        header["thresholds"] = model.thresholds.tolist()
    if model.encoder is not None:
        header["encoder"] = model.encoder.to_dict()
    contiguous = {name: np.ascontiguousarray(array) for name, array in model.tensors.items()}
    # A word a line where a line is a word; n-grams and counts would double the file.
    flat = all(isinstance(word, str) for word in model.vocabulary)
    vocabulary = _to_json(model.vocabulary, indent=1 if flat else None)
    write_files(
        folder,
        {
            TENSORS: save(contiguous),
            VOCABULARY: vocabulary,
            TRAINING: _to_json(model.training),
            CONFIG: _to_json(header),
        },
        None if encoder is None else encoder.files,
    )


def read_model(folder: str | os.PathLike[str], schema: Schema[C, V]) -> Opened[C, V]:
    """Read and check the folder of a system.

    Raises
    ------
    ModelFormatError
        For anything missing, corrupt, inconsistent, oversized or outside the folder.
    """
    source = Path(folder)
    repair(source)
    for _ in range(_ATTEMPTS):
        before = _identity(source)
        try:
            opened = _read(source, schema)
        except ModelFormatError:
            if before == _identity(source):
                raise
        else:
            if before == _identity(source):
                return opened
    raise ModelFormatError(f"{source} is replaced again and again while it is read; try later")


def system_of(folder: str | os.PathLike[str]) -> str | None:
    """The name that a folder gives for its system; None where it does not say."""
    source = Path(folder)
    repair(source)
    try:
        system = _read_object(source, CONFIG).get("system")
    except ModelFormatError:
        return None
    return system if isinstance(system, str) else None


def tokenizer_of(saved: SavedModel, tokenizer: Tokenizer | None = None) -> Tokenizer:
    """The tokenizer of a model: the named one, or the callable that the user brings."""
    if saved.tokenizer == "custom" and tokenizer is None:
        raise ConfigError(
            "the model was trained with a tokenizer of its own; pass it: "
            "load(folder, tokenizer=...)"
        )
    return get_tokenizer(tokenizer or saved.tokenizer)


# -- reading -------------------------------------------------------------------------------------


def _read(source: Path, schema: Schema[C, V]) -> Opened[C, V]:
    if not source.is_dir():
        raise ModelFormatError(f"expected a model folder, but {source} is not a folder")
    header = _read_object(source, CONFIG)
    number = header.get("format")
    if number not in (FORMAT, WITH_ENCODER):
        raise ModelFormatError(
            f"{source / CONFIG}: expected format {FORMAT} or {WITH_ENCODER}, got {_short(number)}; "
            "it was written by another version of adasent, install that or train again"
        )
    with naming(source / CONFIG):
        if header["system"] != schema.system:
            raise ModelFormatError(f"expected system {schema.system!r}, got {header['system']!r}")
        key = _settings_key(schema.system)
        settings, tokenizer, max_words = header[key], header["tokenizer"], header["max_words"]
        if not isinstance(settings, dict):
            raise ModelFormatError(f"expected {key} to be an object")
        if tokenizer not in (*TOKENIZERS, "custom"):
            raise ModelFormatError(f"unknown tokenizer {tokenizer!r}")
        check_integer("max_words", max_words, 1)
        classes = _labels_from_json(header["labels"])
        config = schema.parse_settings(settings, len(classes))
        thresholds = _thresholds_from_json(header.get("thresholds"), len(classes))
        if getattr(config, "multilabel", False) != (thresholds is not None):
            raise ModelFormatError(
                "expected thresholds where network.multilabel is true, and only there"
            )
        encoder = None
        if number == WITH_ENCODER:
            encoder = SavedEncoder.from_dict(header["encoder"])
    words = _read_json(source, VOCABULARY)
    with naming(source / VOCABULARY):
        if not isinstance(words, list) or not words:
            raise ModelFormatError("expected a list that is not empty")
        vocabulary = schema.parse_vocabulary(words, config)
    with naming(source / CONFIG):
        expected = schema.tensors(config, vocabulary, len(classes))
    tensors = _read_tensors(source, expected)
    training = _read_object(source, TRAINING)
    saved = SavedModel(
        schema.system,
        settings,
        tokenizer,
        max_words,
        classes,
        words,
        tensors,
        training,
        encoder,
        thresholds,
    )
    return Opened(saved, config, vocabulary)


def _identity(folder: Path) -> tuple[int, ...]:
    """Numbers that change when the folder is replaced."""
    try:
        found, config = folder.stat(), (folder / CONFIG).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, config.st_ino, config.st_mtime_ns


def _settings_key(system: str) -> str:
    return "network" if system == "adasent" else "settings"


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever values of a file make fail becomes an error that names the file."""
    try:
        yield
    except KeyError as error:
        raise ModelFormatError(f"{path}: {_short(error)} is missing") from error
    except (ValueError, TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
        raise ModelFormatError(f"{path}: {_short(error)}") from error


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


def _read_tensors(folder: Path, expected: Mapping[str, Stored]) -> dict[str, np.ndarray]:
    """Every tensor, once the header has said of all that they are what they must be."""
    path = _inside(folder, TENSORS)
    try:
        with safe_open(path, "np") as file:
            _check_header(path, file, expected)
            tensors = {name: file.get_tensor(name) for name in expected}
    except SafetensorError as error:
        raise ModelFormatError(
            f"{path} is not a whole safetensors file: {_short(error)}"
        ) from error
    for name, tensor in tensors.items():
        if not np.isfinite(tensor).all():
            raise ModelFormatError(f"{path}: {name} holds values that are not finite")
    return tensors


def _check_header(path: Path, file: Any, expected: Mapping[str, Stored]) -> None:
    found = set(file.keys())
    if found != set(expected):
        raise ModelFormatError(
            f"{path}: tensors missing: {_some(set(expected) - found)}; "
            f"not expected: {_some(found - set(expected))}"
        )
    for name, (shape, kinds) in expected.items():
        view = file.get_slice(name)
        if tuple(view.get_shape()) != shape or view.get_dtype() not in kinds:
            raise ModelFormatError(
                f"{path}: {name} should be {shape} of {' or '.join(kinds)}, "
                f"is {tuple(view.get_shape())} of {view.get_dtype()}"
            )


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


def _short(value: object) -> str:
    """What a file said, on one line of bounded length, fit for a message."""
    text = " ".join(str(value).split())
    return text if len(text) <= 200 else text[:200] + "..."


def _some(names: set[str]) -> str:
    listed = ", ".join(map(repr, sorted(names)[:3])) + (", ..." if len(names) > 3 else "")
    return _short(listed) if names else "none"


# -- JSON ----------------------------------------------------------------------------------------


def _to_json(value: object, indent: int | None = 1) -> bytes:
    """ASCII escapes keep lone surrogates in words intact."""
    separators = (",", ":") if indent is None else None
    return json.dumps(value, indent=indent, separators=separators).encode("ascii")


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


def _thresholds_from_json(values: Any, n_classes: int) -> np.ndarray | None:
    if values is None:
        return None
    if not isinstance(values, list) or len(values) != n_classes:
        raise ModelFormatError(f"expected thresholds to be a list of {n_classes} numbers")
    for value in values:
        check_range("thresholds", value, 0, 1)
    return np.array(values, dtype=np.float64)

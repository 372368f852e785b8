"""What every saved model shares: four files of a folder in, checked JSON values and tensors out.

Whatever is read is treated as hostile: fixed file names, bounded sizes, links that lead out of the
folder refused. What the values mean is for :mod:`adasent.saving.adasent` and
:mod:`adasent.saving.systems` to say and check. Needs no torch.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from adasent.errors import ModelFormatError
from adasent.text.tokenize import TOKENIZERS
from adasent.version import __version__

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

#: Name of a kind of label -> its Python type and the kinds of numpy arrays that hold it.
_LABEL_KINDS: dict[str, tuple[type, str]] = {
    "str": (str, "U"),
    "int": (int, "iu"),
    "float": (float, "f"),
    "bool": (bool, "b"),
}


class Header(NamedTuple):
    """What ``config.json`` says of every model, checked."""

    settings: dict[str, Any]
    tokenizer: str
    max_words: int
    classes: np.ndarray


def write_folder(
    folder: str | os.PathLike[str],
    header: Mapping[str, Any],
    classes: np.ndarray,
    tensors: Mapping[str, np.ndarray],
    vocabulary: bytes,
    training: Mapping[str, Any],
) -> None:
    """Write a model folder, in place of the model that is there; configuration last.

    Parameters
    ----------
    header
        Entries of the configuration beside format, version and labels.
    vocabulary
        The JSON text.
    """
    target = Path(folder)
    if target.exists() and not target.is_dir():
        raise ModelFormatError(f"cannot save to {target}: a file of that name is in the way")
    kind, values = _labels_to_json(classes)
    target.mkdir(parents=True, exist_ok=True)
    # Without a configuration the folder is no model: a kill half-way never leaves a mixed one.
    (target / CONFIG).unlink(missing_ok=True)
    # Not save_file: it makes files that others cannot read, whatever the umask.
    contiguous = {name: np.ascontiguousarray(tensor) for name, tensor in tensors.items()}
    _replace(target / TENSORS, save(contiguous))
    _replace(target / VOCABULARY, vocabulary)
    _replace(target / TRAINING, to_json(training))
    about = {"format": FORMAT, "library_version": __version__}
    labels = {"labels": {"kind": kind, "values": values}}
    _replace(target / CONFIG, to_json({**about, **header, **labels}))


def to_json(value: object) -> bytes:
    """One value a line. ASCII escapes keep lone surrogates in words intact."""
    return json.dumps(value, indent=1).encode("ascii")


def read_header(folder: Path, system: str, settings_key: str) -> Header:
    """Read and check ``config.json``.

    Parameters
    ----------
    system
        The system that the model must be of.
    settings_key
        Entry that holds the settings of the system.
    """
    if not folder.is_dir():
        raise ModelFormatError(f"expected a model folder, but {folder} is not a folder")
    entries = read_object(folder, CONFIG)
    if entries.get("format") != FORMAT:
        raise ModelFormatError(
            f"{folder / CONFIG}: expected format {FORMAT}, got {short(entries.get('format'))}; "
            "it was written by another version of adasent, install that or train again"
        )
    with naming(folder / CONFIG):
        if entries["system"] != system:
            raise ModelFormatError(f"expected system {system!r}, got {entries['system']!r}")
        settings, tokenizer, max_words = (
            entries[key] for key in (settings_key, "tokenizer", "max_words")
        )
        if not isinstance(settings, dict):
            raise ModelFormatError(f"expected {settings_key} to be an object")
        if tokenizer not in (*TOKENIZERS, "custom"):
            raise ModelFormatError(f"unknown tokenizer {tokenizer!r}")
        if type(max_words) is not int or max_words < 1:
            raise ModelFormatError(
                f"max_words must be a whole number of at least 1; got {max_words!r}"
            )
        return Header(settings, tokenizer, max_words, _labels_from_json(entries["labels"]))


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Whatever values of a file make fail becomes an error that names the file."""
    try:
        yield
    except KeyError as error:
        raise ModelFormatError(f"{path}: {error} is missing") from error
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFormatError(f"{path}: {short(error)}") from error


def read_json(folder: Path, name: str) -> Any:
    """The value of a file of the folder."""
    path = inside(folder, name)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ModelFormatError(f"{path} is not JSON: {short(error)}") from error


def read_object(folder: Path, name: str) -> dict[str, Any]:
    """The same for a file that must hold an object."""
    value = read_json(folder, name)
    if not isinstance(value, dict):
        raise ModelFormatError(f"{folder / name}: expected a JSON object")
    return value


@contextmanager
def open_tensors(folder: Path) -> Iterator[Any]:
    """The file of tensors, as safetensors opens it."""
    path = inside(folder, TENSORS)
    try:
        with safe_open(path, "np") as file:
            yield file
    except SafetensorError as error:
        raise ModelFormatError(f"{path} is not a whole safetensors file: {short(error)}") from error


def check_names(where: object, found: set[str], expected: set[str]) -> None:
    """Raise ``ModelFormatError`` unless there are exactly these tensors."""
    if found != expected:
        raise ModelFormatError(
            f"{where}: tensors missing: {_some(expected - found)}; "
            f"not expected: {_some(found - expected)}"
        )


def check_finite(where: object, name: str, tensor: np.ndarray) -> None:
    """Raise ``ModelFormatError`` if a tensor holds infinities or NaN."""
    if not np.isfinite(tensor).all():
        raise ModelFormatError(f"{where}: {short(name)} holds values that are not finite")


def inside(folder: Path, name: str) -> Path:
    """The path of a plain file of the folder; links that lead out of it are refused."""
    path, limit = folder / name, MAX_BYTES[name]
    if not path.exists():
        raise ModelFormatError(f"{folder} is not a whole model: {name} is missing")
    if not path.resolve().is_relative_to(folder.resolve()) or not path.is_file():
        raise ModelFormatError(f"{path} is not a plain file of this folder; refused")
    if path.stat().st_size > limit:
        raise ModelFormatError(f"{path}: {path.stat().st_size} bytes, expected at most {limit}")
    return path


def short(value: object) -> str:
    """What a file said, on one line of bounded length, fit for a message."""
    text = value if isinstance(value, str) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 200 else text[:200] + "..."


def _some(names: set[str]) -> str:
    listed = ", ".join(map(repr, sorted(names)[:3])) + (", ..." if len(names) > 3 else "")
    return short(listed) if names else "none"


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

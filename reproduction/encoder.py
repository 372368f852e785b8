"""The protocol's encoder: gte-small, each weight matrix in 8 bits a number, with a scale a row.

So it is the same wherever it runs, and small enough to be taken to a machine without a network. The
original is a folder as transformers writes it; :func:`pack_encoder` makes a quarter of it in size,
and :func:`unpack_encoder` a folder again, in single precision. Beside the original, features of the
texts of CR have a mean cosine of 0.9997, and a logistic regression on them is 90.5 % right where it
was 90.6.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from adasent.encoders.folder import CONFIG, TOKENIZER, WEIGHTS
from adasent.errors import ConfigError
from adasent.saving.word_table import from_int8, to_int8

#: The sha256 of the original weights, by name.
ORIGINALS = {"gte-small": "e316c53c6b7c9a6740465122ddc1cb07850a7cca3ce7c3fafd9daf7c1d67e466"}
#: Where the original is to be had, by name.
ON_HUB = {"gte-small": "thenlper/gte-small"}
BITS = 8
#: Dimensions of its vectors, by name.
WIDTHS = {"gte-small": 384}

_PACKED = "weights.npz"


def describe_encoder(name: str) -> dict[str, str | int]:
    """What a record says of it."""
    return {"name": name, "sha256": ORIGINALS[name], "bits": BITS}


def pack_encoder(name: str, source: Path, folder: Path) -> None:
    """Write the original encoder of a folder in 8 bits.

    Raises
    ------
    ConfigError
        If it is another encoder than the protocol's, or other weights of it.
    """
    weights = source / WEIGHTS
    if not weights.is_file():
        raise ConfigError(f"{source}: expected the folder of {name}, with {WEIGHTS} in it")
    with weights.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != ORIGINALS[name]:
        raise ConfigError(
            f"{weights}: expected {name} with the sha256 {ORIGINALS[name]}, got {found}; "
            "give the weights that the protocol names"
        )
    packed: dict[str, np.ndarray] = {}
    for key, tensor in load_file(weights).items():
        if tensor.ndim == 2:
            packed[f"{key}/codes"], packed[f"{key}/scales"] = to_int8(tensor)
        else:
            packed[key] = tensor
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / _PACKED, **packed)  # type: ignore[arg-type]
    for file in (CONFIG, *TOKENIZER):
        if (source / file).is_file():
            shutil.copyfile(source / file, folder / file)


def unpack_encoder(packed: Path, folder: Path) -> Path:
    """The folder that transformers reads, made unless it is there; it is there as a whole."""
    if (folder / WEIGHTS).is_file():
        return folder
    with np.load(packed / _PACKED) as file:
        tensors = {key: file[key] for key in file.files}
    for key in [key for key in tensors if key.endswith("/codes")]:
        name = key.removesuffix("/codes")
        tensors[name] = from_int8(tensors.pop(key), tensors.pop(f"{name}/scales"))
    folder.mkdir(parents=True, exist_ok=True)
    for path in packed.iterdir():
        if path.name != _PACKED:
            shutil.copyfile(path, folder / path.name)
    part = folder / f"{WEIGHTS}.{os.getpid()}.part"  # several processes may begin at once
    save_file(tensors, part, metadata={"format": "pt"})
    part.replace(folder / WEIGHTS)
    return folder


def find_rounded(name: str, source: Path, store: Path) -> Path:
    """The protocol's encoder as a folder: of what :func:`pack_encoder` wrote, or of the original.

    Parameters
    ----------
    store
        Where it is kept once it was made.
    """
    folder = store / f"{name}-{BITS}-bits"
    if (folder / WEIGHTS).is_file() or (source / _PACKED).is_file():
        return unpack_encoder(source, folder)
    packed = store / f"{name}-{BITS}-bits-packed"
    pack_encoder(name, source, packed)
    return unpack_encoder(packed, folder)

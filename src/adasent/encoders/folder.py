"""The files of an encoder: found by folder or hub name, told apart by their hash.

An encoder is a folder as transformers writes it: ``config.json``, weights in safetensors, and the
files of its tokenizer. Other files do not count, and pickled weights are not read. A name of the
Hugging Face hub stands for the folder that transformers' own cache has of it, or fetches.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from adasent.checks import JsonConfig, check_flag, check_range
from adasent.errors import ConfigError, ModelFormatError, require

#: Where a saved model has its encoder.
INSIDE = "encoder"

CONFIG = "config.json"
WEIGHTS = "model.safetensors"
#: Of weights in several files.
INDEX = "model.safetensors.index.json"
_SHARDS = "model-*-of-*.safetensors"
#: Of tokenizers, as far as there are such files.
TOKENIZER = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.txt",
    "vocab.json",
    "merges.txt",
    "sentencepiece.bpe.model",
    "spiece.model",
    "tokenizer.model",
)


@dataclass(frozen=True)
class EncoderFolder:
    """Where an encoder is.

    Attributes
    ----------
    name
        As the user gave it: a folder, or a name of the hub.
    """

    name: str
    path: Path

    def __post_init__(self) -> None:
        missing = [name for name in (CONFIG,) if not (self.path / name).is_file()]
        if not missing and not self._weights:
            missing = [WEIGHTS]
        if missing:
            pickled = " (pickled weights are not read)" if any(self.path.glob("*.bin")) else ""
            raise ConfigError(
                f"encoder {self.name}: expected a folder as transformers writes it, but "
                f"{missing[0]} is not in {self.path}{pickled}; give a folder that has it"
            )

    @property
    def _weights(self) -> list[str]:
        if (self.path / WEIGHTS).is_file():
            return [WEIGHTS]
        shards = sorted(path.name for path in self.path.glob(_SHARDS))
        return [*shards, INDEX] if shards and (self.path / INDEX).is_file() else []

    @property
    def files(self) -> dict[str, Path]:
        """Name and path of every file that counts."""
        names = [CONFIG, *TOKENIZER, *self._weights]
        return {name: self.path / name for name in names if (self.path / name).is_file()}

    @property
    def vector_size(self) -> int:
        """d, as far as the files say by themselves; 0 if they do not."""
        config = json.loads((self.path / CONFIG).read_bytes())
        return int(config.get("hidden_size", config.get("dim", 0)))

    @cached_property
    def sha256(self) -> str:
        """The hash of all files that count: of their names and what is in them."""
        return digest_of(self.files)


@dataclass(frozen=True)
class SavedEncoder(JsonConfig):
    """What ``config.json`` of a model says of the encoder that it stands on.

    Attributes
    ----------
    name
        As the user gave it: where a model that does not have it inside looks for it.
    sha256
        The hash of its files.
    inside
        Whether these files are in the folder of the model.
    tuned
        Whether it was trained with the model.
    scale
        What its vectors are multiplied with.
    """

    name: str
    sha256: str
    inside: bool
    tuned: bool
    scale: float

    def __post_init__(self) -> None:
        for name in ("name", "sha256"):
            if not isinstance(getattr(self, name), str):
                raise ConfigError(f"encoder.{name} must be a string")
        check_flag("encoder.inside", self.inside)
        check_flag("encoder.tuned", self.tuned)
        check_range("encoder.scale", self.scale, 1e-30, 1e30)


def digest_of(files: Mapping[str, Path]) -> str:
    """One hash of files by name."""
    digest = hashlib.sha256()
    for name in sorted(files):
        with files[name].open("rb") as stream:
            own = hashlib.file_digest(stream, "sha256").hexdigest()
        digest.update(os.fsencode(f"{name} {own}\n"))
    return digest.hexdigest()


def find_encoder(source: str | os.PathLike[str], *, fetch: bool = True) -> EncoderFolder:
    """An encoder by folder or by its name on the hub.

    Parameters
    ----------
    fetch
        Whether a name that is not in transformers' cache may be fetched, as transformers itself
        would; its variable ``HF_HUB_OFFLINE`` forbids it too.
    """
    name = os.fspath(source)
    path = Path(name)
    if path.is_dir():
        return EncoderFolder(str(path.resolve()), path)
    if path.is_absolute() or name.count("/") > 1 or name.startswith("."):
        raise ConfigError(f"encoder: there is no folder {name}")
    hub = require("huggingface_hub", "encoder", "an encoder")
    patterns = [CONFIG, *TOKENIZER, WEIGHTS, INDEX, _SHARDS]
    try:
        found = hub.snapshot_download(name, allow_patterns=patterns, local_files_only=not fetch)
    except (OSError, ValueError) as error:
        how = "" if fetch else " and nothing is fetched to load a model"
        raise ConfigError(
            f"encoder: there is no folder {name}, and it could not be had from transformers' cache "
            f"or the hub{how} ({_first_line(error)}); give a folder, or fetch it first: "
            f"hf download {name}"
        ) from error
    return EncoderFolder(name, Path(found))


def saved_folder(entry: SavedEncoder, model: Path) -> EncoderFolder:
    """The encoder of a saved model, whose hash must be the one that it was trained on.

    Parameters
    ----------
    model
        Its folder.
    """
    if entry.inside:
        inside = model / INSIDE
        _check_plain(inside)
        try:
            found = EncoderFolder(entry.name, inside)
        except ConfigError as error:
            raise ModelFormatError(f"{model} is not a whole model: {error}") from error
    else:
        try:
            found = find_encoder(entry.name, fetch=False)
        except ConfigError as error:
            raise ModelFormatError(
                f"{model} was saved without its encoder, which it looks for by name: {error}"
            ) from error
    if found.sha256 != entry.sha256:
        raise ModelFormatError(
            f"{model} was trained on an encoder with the hash {entry.sha256[:64]}, but "
            f"{found.path} has {found.sha256}; give it back the files that it was trained on"
        )
    return found


def _check_plain(folder: Path) -> None:
    """Refuse what is in the place of a folder, and links in it."""
    if folder.is_symlink() or not folder.is_dir():
        raise ModelFormatError(f"{folder} is not a plain folder; refused")
    for path in folder.iterdir():
        if path.is_symlink() or not path.is_file():
            raise ModelFormatError(f"{path} is not a plain file of this folder; refused")


def _first_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else text[:160] + "..."

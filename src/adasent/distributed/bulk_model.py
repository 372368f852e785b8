"""A saved model for many processes: read once, its arrays then lie in memory that they share."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from adasent.estimators.labelling import Labeller, open_model
from adasent.estimators.predictor import assemble
from adasent.estimators.registry import saved_system
from adasent.estimators.starter import find_model
from adasent.saving.adasent import AdaSentFolder, read_adasent
from adasent.saving.folder import CHECKPOINT, TRAINING

#: Bytes of a tensor that each process has a copy of its own of: compiled code was compiled for
#: arrays that may be written to, and those that are shared may not.
_COPIED = 2**22


@dataclass(frozen=True)
class SharedModel:
    """A model as it is sent to others: its arrays where numpy alone predicts, else its files."""

    digest: str  # of all that predictions follow from
    read: AdaSentFolder | None
    files: dict[str, np.ndarray]

    def open(self, device: str | None) -> Labeller:
        """The model; nothing that is large is copied if it is one of arrays."""
        if self.read is not None:
            tensors = {
                name: one.copy() if one.nbytes <= _COPIED else one
                for name, one in self.read.tensors.items()
            }
            model: Any = assemble(self.read._replace(tensors=tensors), "")
            return model  # type: ignore[no-any-return]
        with tempfile.TemporaryDirectory(prefix="adasent-") as folder:
            for name, body in self.files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(body.tobytes())
            return open_model(Path(folder), device)


def share(folder: Path, device: str | None = None) -> SharedModel:
    """Read a model folder for others; those of a GPU, of an encoder or of another system, as files.

    The device is theirs: here it need not be.

    Raises
    ------
    ModelFormatError
        If the folder is not a whole and valid model.
    """
    folder = find_model(folder)
    if device is None and saved_system(folder) == "adasent":
        read = read_adasent(folder)
        if read.saved.encoder is None:
            # What the network is made of is beside it.
            bare = replace(read.saved, tensors={}, vocabulary=[])
            return SharedModel(_digest(_files(folder)), read._replace(saved=bare), {})
    open_model(folder)  # says what is wrong with it, here rather than far away
    files = _files(folder)
    return SharedModel(_digest(files), None, files)


def _files(folder: Path) -> dict[str, np.ndarray]:
    paths = (one for one in sorted(folder.rglob("*")) if one.is_file())
    names = {one.relative_to(folder).as_posix(): one for one in paths}
    return {
        name: np.fromfile(path, dtype=np.uint8)
        for name, path in names.items()
        if not name.startswith(".") and name.split("/")[0] != CHECKPOINT
    }


def _digest(files: dict[str, np.ndarray]) -> str:
    """What was noted of the training changes no prediction."""
    digest = hashlib.sha256()
    for name, body in files.items():
        if name != TRAINING:
            digest.update(f"{name} {len(body)}\n".encode())
            digest.update(body.data)
    return digest.hexdigest()

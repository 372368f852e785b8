"""State of a training run after an epoch, in one safetensors file that is replaced as a whole.

The file's metadata holds the history and a fingerprint of everything that determines the run, so
that a checkpoint is only ever resumed by the run it came from.
"""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import safetensors.torch
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from adasent.errors import AdaSentWarning, CheckpointError
from adasent.training.history import History
from adasent.training.run import Run
from adasent.version import __version__

#: Name of the file in a folder of checkpoints.
CHECKPOINT_FILE = "checkpoint.safetensors"


@dataclass
class TrainingState:
    """Everything the loop needs to go on after an epoch."""

    tensors: dict[str, Tensor]  # weights and state of the optimiser
    best: dict[str, Tensor]  # weights of the best epoch
    history: History


class Checkpoint:
    """Reads and writes the state of the run with this fingerprint; see :func:`run_fingerprint`."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint
        self._has_failed = False

    def check_writable(self) -> None:
        """Raise ``CheckpointError`` if the file could not be written; nothing is made."""
        folder = self.path.parent
        existing = next(path for path in (folder, *folder.parents) if path.exists())
        if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
            raise CheckpointError(
                f"the checkpoint folder {folder} cannot be written; choose another"
            )

    def write(self, state: TrainingState) -> None:
        """Replace the file; a kill at any moment leaves the old one or the new one.

        If it cannot be written, because the disk is full say, the old one stays, a warning says so
        once, and the training may go on: all that is lost is the way back to this epoch.
        """
        tensors = {
            f"{part}/{name}": tensor.detach().cpu().contiguous().clone()
            for part, group in (("state", state.tensors), ("best", state.best))
            for name, tensor in group.items()
        }
        part = self.path.with_suffix(".part")
        metadata = {
            "fingerprint": self.fingerprint,
            "history": json.dumps(state.history.to_dict()),
        }
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            safetensors.torch.save_file(tensors, part, metadata)
            part.replace(self.path)
        except (OSError, SafetensorError) as error:
            with suppress(OSError):
                part.unlink(missing_ok=True)
            if not self._has_failed:
                self._has_failed = True
                warnings.warn(
                    f"the checkpoint {self.path} could not be written "
                    f"({' '.join(str(error).split())}); training goes on, but if it is stopped "
                    "now, it cannot go on from here",
                    AdaSentWarning,
                    stacklevel=2,
                )

    def read(self) -> TrainingState | None:
        """The state to go on from, or None when there is no checkpoint."""
        if not self.path.exists():
            return None
        groups: dict[str, dict[str, Tensor]] = {"state": {}, "best": {}}
        try:
            with safe_open(self.path, "pt") as file:
                metadata = file.metadata() or {}
                for key in file.keys():  # noqa: SIM118 - not a mapping
                    part, _, name = key.partition("/")
                    groups[part][name] = file.get_tensor(key)
            history = History.from_dict(json.loads(metadata["history"]))
            fingerprint = metadata["fingerprint"]
        except (SafetensorError, KeyError, ValueError, TypeError) as error:
            raise CheckpointError(
                f"the checkpoint {self.path} cannot be read ({error}); delete it to start anew"
            ) from error
        if fingerprint != self.fingerprint:
            raise CheckpointError(
                f"the checkpoint {self.path} belongs to a run with other data, settings or "
                "versions; delete it to start anew, or repeat the command it came from"
            )
        return TrainingState(groups["state"], groups["best"], history)

    def clear(self) -> None:
        """Delete the file if it is of this run: its model has been saved."""
        with suppress(OSError, SafetensorError):
            with safe_open(self.path, "pt") as file:
                is_ours = (file.metadata() or {}).get("fingerprint") == self.fingerprint
            if is_ours:
                self.path.unlink()
        self.path.with_suffix(".part").unlink(missing_ok=True)


def run_fingerprint(run: Run, device: torch.device) -> str:
    """Equal exactly for runs that give the same model on this machine."""
    digest = hashlib.sha256()
    for tensor in run.model.state_dict().values():
        digest.update(tensor.numpy().tobytes())
    for part in (run.training, run.validation):
        if part is not None:
            trees = part.heights or ()
            for array in (*part.ids, *trees, part.lengths, part.targets, part.weights):
                digest.update(np.ascontiguousarray(array).tobytes())
    settings = {
        "network": run.model.config.to_dict(),
        "training": run.config.to_dict(),
        "seed": run.seed,
        "data": digest.hexdigest(),
        "versions": [__version__, torch.__version__, np.__version__],
        "device": device.type,
        "threads": torch.get_num_threads(),
        **run.details(),
    }
    return json.dumps(settings, sort_keys=True)

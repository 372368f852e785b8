"""State of a training run at the end of an epoch, in one safetensors file, replaced atomically.

The file's metadata holds the history and a fingerprint of everything that determines the run, so
that a checkpoint is only ever resumed by the run it came from.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor
from torch.optim import Optimizer

from adasent import __version__
from adasent.errors import CheckpointError
from adasent.systems.config import AdaSentConfig
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.history import History


@dataclass
class TrainingState:
    """Everything the loop needs to go on after an epoch."""

    weights: dict[str, Tensor]
    best_weights: dict[str, Tensor]
    optimizer_state: dict[str, Tensor]
    history: History


class Checkpoint:
    """Reads and writes the state of one run.

    Parameters
    ----------
    path
        File to write; its folder is made when needed.
    fingerprint
        Text that is equal for two runs exactly when they would give the same model.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint

    def write(self, state: TrainingState) -> None:
        """Replace the file; a kill at any moment leaves the old one or the new one."""
        tensors = {
            f"{part}/{name}": tensor.detach().cpu().contiguous().clone()
            for part, group in (
                ("weights", state.weights),
                ("best", state.best_weights),
                ("optimizer", state.optimizer_state),
            )
            for name, tensor in group.items()
        }
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_suffix(".part")
        metadata = {
            "fingerprint": self.fingerprint,
            "history": json.dumps(state.history.to_dict()),
        }
        save_file(tensors, part, metadata)
        part.replace(self.path)

    def read(self) -> TrainingState | None:
        """The state to go on from, or None when there is no checkpoint."""
        if not self.path.exists():
            return None
        groups: dict[str, dict[str, Tensor]] = {
            part: {} for part in ("weights", "best", "optimizer")
        }
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
        return TrainingState(groups["weights"], groups["best"], groups["optimizer"], history)

    def clear(self) -> None:
        """Delete the file: the run is complete."""
        self.path.unlink(missing_ok=True)


def run_fingerprint(
    network: AdaSentConfig,
    config: TrainingConfig,
    seed: int,
    table: np.ndarray,
    *parts: Examples | None,
) -> str:
    """Equal exactly for runs that give the same model on this machine."""
    digest = hashlib.sha256(table.tobytes())
    for examples in parts:
        if examples is not None:
            for array in (*examples.ids, examples.lengths, examples.targets, examples.weights):
                digest.update(np.ascontiguousarray(array).tobytes())
    settings = {
        "network": network.to_dict(),
        "training": config.to_dict(),
        "seed": seed,
        "data": digest.hexdigest(),
        "versions": [__version__, torch.__version__, np.__version__],
        "threads": torch.get_num_threads(),
    }
    return json.dumps(settings, sort_keys=True)


def pack_optimizers(optimizers: list[Optimizer]) -> dict[str, Tensor]:
    """All state of the optimisers as named tensors."""
    packed = {}
    for i, optimizer in enumerate(optimizers):
        for parameter, values in optimizer.state_dict()["state"].items():
            for name, value in values.items():
                packed[f"{i}/{parameter}/{name}"] = torch.as_tensor(value)
    return packed


def unpack_optimizers(optimizers: list[Optimizer], packed: dict[str, Tensor]) -> None:
    """Inverse of :func:`pack_optimizers`, into optimisers made from the same config."""
    for i, optimizer in enumerate(optimizers):
        state: dict[int, dict[str, Tensor | float]] = {}
        for key, tensor in packed.items():
            owner, parameter, name = key.split("/")
            if int(owner) == i:
                # SparseAdam counts its steps in a plain number.
                plain = tensor.ndim == 0 and not tensor.is_floating_point()
                value = tensor.item() if plain else tensor
                state.setdefault(int(parameter), {})[name] = value
        groups = optimizer.state_dict()["param_groups"]
        optimizer.load_state_dict({"state": state, "param_groups": groups})

"""What a teacher says of its fold's training texts and of texts without labels: a lesson on disk.

A row that another row names as its ``teacher`` leaves a lesson of each fold and seed when its model
has been tested. All students of the fold read it; the settings of teaching play no part in it. Its
name is the digest of everything that decides it, so a lesson of another recipe is not found.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load_file, save_file

from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import DataError
from adasent.estimators.prediction import find_device
from adasent.text.passage import read_passages
from adasent.text.tokenize import Tokenizer
from adasent.training.config import TrainingConfig
from adasent.training.examples import Examples
from adasent.training.tuning import Joint
from adasent.training.tuning import Texts as Readings

#: Words of a batch, on a CPU and on a GPU.
_ON_CPU, _ON_GPU = 2_000, 40_000
_KNOWN = "known"


@dataclass(frozen=True, eq=False)
class Lesson:
    """A teacher's probabilities; columns are the sorted labels."""

    classes: np.ndarray  # (C,)
    known: np.ndarray  # (N, C) of the fold's training texts, in their order
    texts: dict[str, list[str]]  # the others, by kind
    said: dict[str, np.ndarray]  # (n, C) of each of them


class Reader:
    """Reads texts for encoders that differ in their weights alone: each kind is read once."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self._kept: dict[str, tuple[list[str], Readings]] = {}

    def probabilities(self, clf: Any, texts: list[str], kind: str | None = None) -> np.ndarray:
        """(N, C) half-precision probabilities of texts, by an estimator over a tuned encoder.

        What ``predict_proba`` says, but for the rounding: on a GPU the encoder computes in
        bfloat16, and no word vector leaves it.

        Parameters
        ----------
        kind
            Under which the texts are kept as they were read; None keeps nothing.
        """
        device = find_device(clf.device)
        encoder: TransformerEncoder = clf.encoder_
        readings = self._read(encoder, texts, kind)
        joint = Joint(encoder, clf.model_, TrainingConfig()).to(device).eval()
        found = np.empty((len(texts), len(clf.classes_)), dtype=np.float16)
        limit = _ON_GPU if device.type == "cuda" else _ON_CPU
        order = np.argsort(-readings.lengths, kind="stable")
        with torch.inference_mode():
            while len(order):
                n = max(1, limit // int(readings.lengths[order[0]]))
                rows, order = order[:n], order[n:]
                batch = readings.batch(rows).to(device)
                output = joint.objective.system.classify(joint.vectors(batch), batch.lengths, None)
                found[rows] = output.log_probs.exp().half().cpu().numpy()
        joint.cpu()
        return found

    def _read(self, encoder: TransformerEncoder, texts: list[str], kind: str | None) -> Readings:
        kept = self._kept.get(kind) if kind is not None else None
        if kept is None or kept[0] is not texts:
            passages = read_passages(texts, self.tokenizer, encoder.max_words)
            ids = [np.arange(len(one)) for one in passages]
            targets = np.zeros((len(ids), 0), dtype=np.float32)  # nobody asks for them
            examples = Examples(ids, targets, np.ones(len(ids)), None, passages)
            kept = texts, Readings(examples, encoder)
            if kind is not None:
                self._kept[kind] = kept
        return kept[1]


def lesson_file(folder: Path, teacher: str, sizes: Mapping[str, int]) -> Path:
    """Where the lesson of a teacher's run is.

    Parameters
    ----------
    teacher
        The key of its record.
    sizes
        Texts of each kind.
    """
    digest = hashlib.sha256(json.dumps([teacher, sizes], sort_keys=True).encode()).hexdigest()
    return folder / f"{digest[:24]}.safetensors"


def write_lesson(path: Path, known: np.ndarray, said: Mapping[str, np.ndarray]) -> None:
    """There as a whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}.part")
    save_file({_KNOWN: known, **{kind: np.ascontiguousarray(p) for kind, p in said.items()}}, part)
    part.replace(path)


def read_lesson(
    path: Path, classes: Sequence[Any], n_known: int, texts: dict[str, list[str]]
) -> Lesson:
    """What a teacher said.

    Raises
    ------
    DataError
        If it has not been asked, or was asked about other texts.
    """
    if not path.is_file():
        raise DataError(
            f"no teacher has left its lesson at {path}; run its row first, such as gte-mean, with "
            "records that do not have it yet"
        )
    found = {name: rows.astype(np.float32) for name, rows in load_file(path).items()}
    known = found.pop(_KNOWN)
    shapes = {kind: (len(rows), len(classes)) for kind, rows in texts.items()}
    if known.shape != (n_known, len(classes)) or shapes != {k: v.shape for k, v in found.items()}:
        raise DataError(f"{path}: the lesson is about other texts than are asked for; delete it")
    rows = {kind: p / p.sum(axis=1, keepdims=True) for kind, p in found.items()}
    return Lesson(np.array(classes), known / known.sum(axis=1, keepdims=True), texts, rows)

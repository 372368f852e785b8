"""One finished fold is one line of JSON: what was run, on what, and everything it predicted.

Lines are appended and on disk before the next fold starts. A run killed in the middle of a line
leaves a torn end, which is ignored on reading and cut off before the next line is written.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from adasent.data.corpus import Label
from adasent.errors import DataError


@dataclass(frozen=True)
class FoldRecord:
    """One training run and its test.

    Attributes
    ----------
    spec
        Every setting of the estimator; vectors by name, with the sha256 of their files.
    seed
        Of the folds and of the training.
    rule, n_folds, fold
        ``random``, ``grouped`` or ``official``; how many folds; which of them, from 0.
    data, sha256
        Name of the corpus and digest of its raw bytes.
    seconds
        Of the training, validation included.
    best_epoch
        From 0; the row of ``history`` whose weights were tested.
    n_train, n_valid, n_test
        Texts that set the weights, chose the epoch, and were tested.
    classes
        The labels; ``true`` and ``predicted`` are positions in it.
    test
        Positions of the tested texts in the corpus.
    """

    spec: dict[str, Any]
    seed: int
    rule: str
    n_folds: int
    fold: int
    data: str
    sha256: str
    versions: dict[str, str]
    device: str
    seconds: float
    best_epoch: int
    history: list[dict[str, Any]]
    n_train: int
    n_valid: int
    n_test: int
    accuracy: float
    classes: list[Label]
    test: list[int]
    true: list[int]
    predicted: list[int]

    @property
    def key(self) -> str:
        """Equal for records of the same work: settings, seed, folds and data."""
        return record_key(self.spec, self.seed, self.rule, self.n_folds, self.fold, self.sha256)


def record_key(
    spec: dict[str, Any], seed: int, rule: str, n_folds: int, fold: int, sha256: str
) -> str:
    """What :attr:`FoldRecord.key` will be once the work is done."""
    return json.dumps([spec, seed, rule, n_folds, fold, sha256], sort_keys=True)


def read_records(path: str | os.PathLike[str]) -> list[FoldRecord]:
    """The whole records of a file in order; none if there is no file.

    Raises
    ------
    DataError
        For a whole line that is not a record, with its number.
    """
    path = Path(path)
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")[:-1]  # what follows the last line end is torn
    names = {field.name for field in fields(FoldRecord)}
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            values = json.loads(line)
        except ValueError:
            values = None
        if not isinstance(values, dict) or set(values) != names:
            raise DataError(
                f"{path}, line {number}: expected the record of a fold, got something else; "
                "give another file, or remove the line"
            )
        records.append(FoldRecord(**values))
    return records


def append_record(path: str | os.PathLike[str], record: FoldRecord) -> None:
    """Add a line and wait until it is on disk."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(asdict(record), separators=(",", ":")) + "\n"
    with path.open("a+b") as file:
        _cut_torn_line(file)
        file.write(line.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())


def _cut_torn_line(file: Any) -> None:
    """Truncate to the last line end, looking back a block at a time."""
    end = file.seek(0, os.SEEK_END)
    position = end
    while position > 0:
        start = max(0, position - 65536)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            position = start + found + 1
            break
        position = start
    if position < end:
        file.truncate(position)

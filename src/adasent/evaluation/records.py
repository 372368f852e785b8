"""One finished fold is one line of JSON: what was run, on what, and everything it predicted.

Lines are appended and on disk before the next fold starts. A run killed in the middle of a line
leaves a torn end, which is ignored on reading and cut off before the next line is written. Several
processes may append to one file: each holds it alone while it writes, by a lock on the file itself.
(``filelock`` needs a file of its own for that, which would stay beside a user's records.)
"""

from __future__ import annotations

import base64
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import IO, Any

import numpy as np

from adasent.data.corpus import Label
from adasent.errors import DataError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

#: What the specs of older records do not say, because it was no choice then: how they were made.
UNSAID = {
    "epoch_size": None,
    "system": "adasent",
    "level_norm": False,
    "gate_groups": 1,
    "max_height": None,
    "level_loss": 0.0,
    "average": 0.0,
    "table_rate": 1.0,
    "metric": "accuracy",
    "calibrate": False,
}


@dataclass(frozen=True)
class FoldRecord:
    """One training run and its test."""

    spec: dict[str, Any]  # every setting; vectors by name, with the sha256 of their files
    seed: int  # of the folds and of the training
    rule: str  # of the folds: random, grouped or official
    n_folds: int
    fold: int  # from 0
    data: str  # name of the corpus
    sha256: str  # of its raw bytes
    versions: dict[str, str]  # of Python and of the libraries that trained the model
    device: str  # older records add the threads or the size of the stack, see ``machine``
    seconds: float  # of all training, validation and settings that were not chosen included
    best_epoch: int  # from 0; the row of ``history`` whose weights were tested
    history: list[dict[str, Any]]
    n_train: int  # texts that set the weights
    n_valid: int  # that chose the epoch
    n_test: int
    accuracy: float  # of texts with several labels the share that has all of them and no other
    classes: list[Label]
    test: list[int]  # positions of the tested texts in the corpus
    # Positions in ``classes``, as in ``predicted`` and ``before``; where a text may have several
    # labels, an ascending list of them for each.
    true: list[Any]
    predicted: list[Any]
    # What the validation part said of each setting that was tried, in the order of
    # spec["settings"]; empty where there was nothing to choose. The accuracy is that of the
    # finished model, its word table rounded as it is saved. In records that name no n_threads and
    # whose device ends in "models together" it is the accuracy before rounding.
    tried: list[dict[str, Any]] = field(default_factory=list)
    chosen: int | None = None  # which of them was tested; None where there was nothing to choose
    # Of a network that was trained again on the validation part as well, what it had predicted as
    # it was chosen; ``predicted`` is what it said in the end. Empty for all others.
    before: list[Any] = field(default_factory=list)
    n_threads: int | None = None  # of the training; None in older records
    n_together: int | None = None  # models trained as one, itself included; None in older records

    @property
    def key(self) -> str:
        """Equal for records of the same work: settings, seed, folds and data."""
        return record_key(self.spec, self.seed, self.rule, self.n_folds, self.fold, self.sha256)

    @property
    def multilabel(self) -> bool:
        """Whether a text may have several labels."""
        return bool(self.true) and isinstance(self.true[0], list)

    @property
    def machine(self) -> str:
        """The device alone, whatever else an older record says beside it."""
        name = self.device.split(",")[0]
        return name.removeprefix("cuda (").removesuffix(")") if name.startswith("cuda (") else name


def record_key(
    spec: Mapping[str, Any], seed: int, rule: str, n_folds: int, fold: int, sha256: str
) -> str:
    """What :attr:`FoldRecord.key` will be once the work is done.

    Whether or not a spec says what older ones left unsaid, the key is the same.
    """
    said = {name: v for name, v in spec.items() if name not in UNSAID or v != UNSAID[name]}
    return json.dumps([said, seed, rule, n_folds, fold, sha256], sort_keys=True)


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
    records = []
    for number, line in enumerate(lines, start=1):
        try:
            records.append(_from_json(json.loads(line)))
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(
                f"{path}, line {number}: expected the record of a fold, got something else; "
                "give another file, or remove the line"
            ) from error
    return records


def append_record(path: str | os.PathLike[str], record: FoldRecord) -> FoldRecord:
    """Add a line and wait until it is on disk, unless there is a record of the same work.

    Returns
    -------
    What the file holds of this work: the record, or the one that was there before.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    line = json.dumps(_to_json(record), separators=(",", ":")) + "\n"
    with path.open("a+b") as file, _held(file):
        for known in read_records(path):
            if known.key == record.key:
                return known
        file.truncate(path.read_bytes().rfind(b"\n") + 1)  # cuts off a torn end
        file.write(line.encode("ascii"))
        file.flush()
        os.fsync(file.fileno())
    return record


@contextmanager
def _held(file: IO[bytes]) -> Iterator[None]:
    """Hold the file alone for the block; the system lets go of it if the process dies."""
    if sys.platform == "win32":
        # A byte far behind any end: Windows keeps others from reading what is locked.
        os.lseek(file.fileno(), 2**31 - 2, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)
    else:
        fcntl.flock(file, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if sys.platform == "win32":
            os.lseek(file.fileno(), 2**31 - 2, os.SEEK_SET)
            msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_UN)


_NEEDED = {f.name for f in fields(FoldRecord) if f.default is f.default_factory is MISSING}
_KNOWN = {f.name for f in fields(FoldRecord)}
_DIGITS = 10


def _to_json(record: FoldRecord) -> dict[str, Any]:
    """The fields, with class codes as a string of digits and positions as a mask, where they can.

    A record of a thousand predictions is then 3 KB rather than 12.
    """
    values = asdict(record)
    if len(record.classes) <= _DIGITS and not record.multilabel:
        for name in ("true", "predicted", "before"):
            values[name] = "".join(map(str, values[name]))
    if record.test and all(a < b for a, b in zip(record.test, record.test[1:], strict=False)):
        mask = np.zeros(record.test[-1] + 1, dtype=bool)
        mask[record.test] = True
        values["test"] = base64.b64encode(np.packbits(mask).tobytes()).decode("ascii")
    # What need not be there and says nothing is left out.
    return {k: v for k, v in values.items() if k in _NEEDED or v not in ([], "", None)}


def _from_json(values: Any) -> FoldRecord:
    """Inverse of :func:`_to_json`; lists are taken as they are."""
    if not isinstance(values, dict) or not _NEEDED <= set(values) <= _KNOWN:
        raise ValueError("not the fields of a record")
    for name in ("true", "predicted", "before"):
        if isinstance(values.get(name), str):
            values[name] = [int(digit) for digit in values[name]]
    if isinstance(values["test"], str):
        packed = np.frombuffer(base64.b64decode(values["test"], validate=True), dtype=np.uint8)
        values["test"] = np.flatnonzero(np.unpackbits(packed)).tolist()
    if not len(values["test"]) == len(values["true"]) == len(values["predicted"]):
        raise ValueError("as many predictions as texts")
    if values.get("before") and len(values["before"]) != len(values["test"]):
        raise ValueError("as many predictions as texts")
    return FoldRecord(**values)

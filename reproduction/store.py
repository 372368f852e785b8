"""A folder of records: finished runs go in one by one, those of a table come out.

One file for each table, system, set and fold rule: ``table2/adasent/MPQA-grouped.jsonl``. Any
number of processes may fill one store: lines are appended under a lock, and a run is claimed for as
long as it goes on, by a lock that the system drops if the process dies.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adasent.errors import DataError
from adasent.evaluation.locks import try_locked
from adasent.evaluation.records import FoldRecord, append_record, read_records
from reproduction.specs import Unit


class Store:
    """The records below a folder, which is made when the first one is added."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)

    def path(self, unit: Unit) -> Path:
        """The file that holds the unit's record, with those of its other folds and seeds."""
        return self.root / unit.table / unit.system / f"{unit.data}-{unit.rule}.jsonl"

    def add(self, unit: Unit, record: FoldRecord) -> None:
        """Append a record; it is on disk when this returns."""
        asked = (unit.system, unit.data, unit.rule, unit.fold, unit.n_folds, unit.seed)
        got = (record.spec["system"], record.data, record.rule, record.fold, record.n_folds)
        if asked != (*got, record.seed):
            raise DataError(f"expected the record of {asked}, got that of {(*got, record.seed)}")
        append_record(self.path(unit), record)

    def has(self, unit: Unit, key: str) -> bool:
        """Whether the record with that key is here."""
        return any(record.key == key for record in read_records(self.path(unit)))

    def records(self, table: str) -> list[FoldRecord]:
        """All records of a table; none if there is no such folder."""
        paths = sorted((self.root / table).glob("*/*.jsonl"))
        return [record for path in paths for record in read_records(path)]

    @contextmanager
    def claim(self, unit: Unit, key: str) -> Iterator[bool]:
        """Whether the block may run the unit: it is not finished, and nobody else is at it."""
        name = hashlib.sha256(key.encode()).hexdigest()
        path = self.root / ".locks" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")  # locks are nobody else's business
        with path.open("w") as file, try_locked(file) as mine:
            # Asked under the lock: another process may have finished it a moment ago.
            yield mine and not self.has(unit, key)

"""Where finished runs lie: one file of records, or a folder of such files.

Any number of processes may fill one store. A run is claimed for as long as it goes on, by a lock
that the system drops if the process dies; what keeps a file of records whole is the lock on the
file itself (:mod:`adasent.evaluation.records`), so that a claim that fails to keep others out, as
between machines without shared locks, costs work done twice and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from filelock import FileLock, Timeout

from adasent.evaluation.jobs import Job
from adasent.evaluation.records import FoldRecord, append_record, read_records

#: A run to make, or its record: both have ``spec``, ``data``, ``rule`` and ``key``.
Labelled: TypeAlias = Job | FoldRecord


class RecordStore:
    """Records of finished runs, by what was run.

    ``root`` is a file of records or, where ``file_of`` tells the file of a run below it, a folder.
    It is made when the first record is added.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        file_of: Callable[[Labelled], Path] | None = None,
    ) -> None:
        self.root = Path(root)
        self._file_of = file_of

    def path(self, run: Labelled) -> Path:
        """The file that holds the record of the run, with those of others."""
        return self.root if self._file_of is None else self.root / self._file_of(run)

    def find(self, runs: Iterable[Labelled]) -> dict[str, FoldRecord]:
        """The records of those runs that are finished, by their key."""
        wanted: dict[Path, set[str]] = {}
        for run in runs:
            wanted.setdefault(self.path(run), set()).add(run.key)
        return {
            record.key: record
            for path, keys in wanted.items()
            for record in read_records(path)
            if record.key in keys
        }

    def add(self, record: FoldRecord) -> FoldRecord:
        """See :func:`~adasent.evaluation.records.append_record`."""
        return append_record(self.path(record), record)

    @contextmanager
    def claim(self, run: Labelled) -> Iterator[bool]:
        """Whether nobody else is at the run; nobody else can begin it during the block.

        It may have been finished a moment ago: ask :meth:`find` once more under the claim.
        """
        name = hashlib.sha256(os.fsencode(f"{self.root.resolve()}\n{run.key}")).hexdigest()
        lock = FileLock(self._claims() / name)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            with suppress(OSError):  # Windows keeps a file that is open
                Path(lock.lock_file).unlink()
            lock.release()

    def _claims(self) -> Path:
        """A folder for locks: hidden in the store's own, and never beside a user's file."""
        if self._file_of is not None:
            folder = self.root / ".locks"
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".gitignore").write_text("*\n")  # locks are nobody else's business
            return folder
        user = os.getuid() if hasattr(os, "getuid") else "user"
        folder = Path(tempfile.gettempdir()) / f"adasent-{user}"
        folder.mkdir(mode=0o700, exist_ok=True)
        return folder

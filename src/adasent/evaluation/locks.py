"""An open file in, its lock held for a block; the system lets go if the process dies."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

if sys.platform == "win32":
    import msvcrt

    # Bytes far behind any end: Windows keeps others from reading what is locked.
    _OFFSET = 2**31 - 2

    def _lock(file: IO[Any], wait: bool) -> None:
        os.lseek(file.fileno(), _OFFSET, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)

    def _unlock(file: IO[Any]) -> None:
        os.lseek(file.fileno(), _OFFSET, os.SEEK_SET)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[Any], wait: bool) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))

    def _unlock(file: IO[Any]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


@contextmanager
def locked(file: IO[Any]) -> Iterator[None]:
    """Hold the file alone for the block; waits for whoever holds it."""
    _lock(file, wait=True)
    try:
        yield
    finally:
        _unlock(file)


@contextmanager
def try_locked(file: IO[Any]) -> Iterator[bool]:
    """True and the file held for the block, or False at once when another holds it."""
    try:
        _lock(file, wait=False)
    except OSError:
        yield False
        return
    try:
        yield True
    finally:
        _unlock(file)

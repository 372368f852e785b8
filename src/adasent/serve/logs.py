"""Log lines of the service: the same one is written once a minute, and then says how often."""

from __future__ import annotations

import logging
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager

#: Loggers that say what clients can make happen again and again.
NAMES = ("uvicorn.error", "asyncio", "adasent.serve")
_SECONDS = 60.0
#: Different lines that are remembered.
_N_LINES = 256


class Sparing(logging.Filter):
    """Lets a line through unless one like it was written less than a minute ago.

    Alike are lines of the same message before its values are put in, and errors of the same type
    from the same place.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._written: dict[Hashable, tuple[float, int]] = {}  # when, and how often since

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it; what was left out before is added to its message."""
        now, what = self._now(), _kind(record)
        when, n_more = self._written.get(what, (-_SECONDS, 0))
        if now - when < _SECONDS:
            self._written[what] = (when, n_more + 1)
            return False
        if what not in self._written and len(self._written) >= _N_LINES:
            self._written.clear()
        self._written[what] = (now, 0)
        if n_more:
            record.msg = f"{record.getMessage()} (and {n_more:,} more like this before)"
            record.args = None
        return True


def _kind(record: logging.LogRecord) -> Hashable:
    where = None
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    if error is not None:
        last = traceback.extract_tb(error.__traceback__)[-1:]
        where = (type(error), *((one.filename, one.lineno) for one in last))
    first, *_ = str(record.msg).splitlines() or [""]  # what follows may name a file descriptor
    return record.name, record.levelno, first, where


@contextmanager
def sparing_logs() -> Iterator[None]:
    """Within, what clients can cause again and again is logged once a minute."""
    loggers = [logging.getLogger(name) for name in NAMES]
    spare = Sparing()
    for one in loggers:
        one.addFilter(spare)
    try:
        yield
    finally:
        for one in loggers:
            one.removeFilter(spare)

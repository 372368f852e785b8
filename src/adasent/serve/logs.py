"""Log lines of the service: the same one is written once a minute; as text or as JSON."""

from __future__ import annotations

import json
import logging
import time
import traceback
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TextIO

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


class JsonLines(logging.Formatter):
    """A record as an object on a line."""

    def format(self, record: logging.LogRecord) -> str:
        """Time, level and logger, and the fields of a request or a message."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = {"time": when, "level": record.levelname.lower(), "logger": record.name}
        fields = getattr(record, "fields", None)
        line |= {"message": record.getMessage()} if fields is None else fields
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


@contextmanager
def json_logs(stream: TextIO | None = None) -> Iterator[None]:
    """Within, logs are lines of JSON, one for each request among them; by default on stderr."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLines())
    loggers = [logging.getLogger(name) for name in NAMES]
    requests = logging.getLogger("adasent.serve.requests")
    before = [one.propagate for one in loggers]
    for one in loggers:
        one.addHandler(handler)
        one.propagate = False
    requests.setLevel(logging.INFO)
    try:
        yield
    finally:
        requests.setLevel(logging.NOTSET)
        for one, propagate in zip(loggers, before, strict=True):
            one.removeHandler(handler)
            one.propagate = propagate

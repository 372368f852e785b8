"""How much the service takes on: sizes of a request, and of all unanswered requests together."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields

from adasent.checks import check_range


class Refused(Exception):
    """A request that is answered with an error status and one line saying why.

    Parameters
    ----------
    status
        HTTP status.
    retry_after
        Seconds after which the same request may succeed; None if it will not.
    """

    def __init__(self, status: int, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True)
class Limits:
    """Bounds on requests; whatever is over them is refused with a reason.

    Attributes
    ----------
    max_texts, max_explained
        Texts of a request, to predict and to explain.
    max_chars
        Characters of a text.
    max_explained_words
        Words of a text to explain: an explanation of T words holds T^3 / 6 weights.
    max_body_bytes
        Bytes of a request.
    max_pending, max_pending_bytes
        Requests that are not answered yet, and the bytes of their bodies.
    body_seconds
        Time in which a body must have arrived.
    """

    max_texts: int = 1000
    max_explained: int = 16
    max_chars: int = 20_000
    max_explained_words: int = 100
    max_body_bytes: int = 2**20
    max_pending: int = 1000
    max_pending_bytes: int = 32 * 2**20
    body_seconds: int = 10

    def __post_init__(self) -> None:
        for field in fields(self):
            check_range(field.name, getattr(self, field.name), 1, whole=True)


class Gate:
    """Counts what is unanswered, and refuses what would be too much.

    Attributes
    ----------
    n_requests, n_bytes
        Unanswered requests, and bytes of their bodies read so far.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.n_requests = 0
        self.n_bytes = 0

    @contextmanager
    def admit(self) -> Iterator[Admission]:
        """One request, from its arrival to its answer."""
        if self.n_requests >= self.limits.max_pending:
            raise _busy(f"{self.n_requests} requests wait already")
        admission = Admission(self)
        self.n_requests += 1
        try:
            yield admission
        finally:
            self.n_requests -= 1
            self.n_bytes -= admission.n_bytes


class Admission:
    """A request that was let in, and the bytes it holds."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self.n_bytes = 0

    def take(self, n_bytes: int) -> None:
        """Account for a further part of the body."""
        if self._gate.n_bytes + n_bytes > self._gate.limits.max_pending_bytes:
            raise _busy(f"{self._gate.n_bytes:,} bytes wait already")
        self._gate.n_bytes += n_bytes
        self.n_bytes += n_bytes


def _busy(what: str) -> Refused:
    return Refused(503, f"the service is busy: {what}; try again in a second", retry_after=1)

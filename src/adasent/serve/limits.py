"""What the service accepts: the size of a request and of all unanswered ones, and its texts.

Whatever is not accepted is refused with a status and one line that says what is wrong.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, create_model
from starlette.requests import ClientDisconnect, Request

from adasent.checks import check_range
from adasent.export.about import MOST_EXPLAINED

#: Of the scope of a request: a :class:`adasent.serve.connections.Peer`.
PEER = "adasent.peer"


class Refused(Exception):
    """A request that is answered with an error status and one line saying why.

    After ``retry_after`` seconds the same request may succeed; None if it will not.
    """

    def __init__(self, status: int, reason: str, retry_after: int | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after


@dataclass(frozen=True)
class Limits:
    """Bounds on requests; whatever is over them is refused with a reason."""

    max_texts: int = 1000  # of a request to predict
    max_explained: int = 16  # texts of a request to explain
    max_chars: int = 20_000  # of a text
    # Of a text. With a height longer ones are explained.
    max_explained_words: int = MOST_EXPLAINED
    max_body_bytes: int = 2**20
    max_pending: int = 1000  # requests that are not answered yet
    max_pending_bytes: int = 32 * 2**20  # of the bodies of those
    body_seconds: int = 10  # in which a body must have arrived
    max_head_bytes: int = 16 * 1024  # of the request line and the header fields
    head_seconds: int = 10  # in which those must have arrived
    max_connections: int = 1000  # fewer where the system allows few open files

    def __post_init__(self) -> None:
        for field in fields(self):
            check_range(field.name, getattr(self, field.name), 1, whole=True)


class Gate:
    """Counts what is unanswered, tells how much it is, and refuses what would be too much."""

    def __init__(self, limits: Limits, tell: Callable[[int], None] = lambda n_requests: None):
        self.limits = limits
        self._tell = tell
        self.n_requests = 0
        self.n_bytes = 0  # of their bodies, read so far

    @contextmanager
    def admit(self) -> Iterator[Admission]:
        """One request, from its arrival to its answer."""
        if self.n_requests >= self.limits.max_pending:
            raise _busy(f"{self.n_requests} requests wait already")
        admission = Admission(self)
        self.n_requests += 1
        self._tell(self.n_requests)
        try:
            yield admission
        finally:
            self.n_requests -= 1
            self._tell(self.n_requests)
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


def texts_model(max_texts: int, max_chars: int) -> type[BaseModel]:
    """The schema of a body: ``{"texts": [...]}`` within these limits."""
    text = Annotated[str, StringConstraints(max_length=max_chars, pattern=r"\S")]
    texts = Annotated[list[text], Field(min_length=1, max_length=max_texts)]
    return create_model(
        "Texts",
        __config__=ConfigDict(extra="forbid"),
        __doc__='{"texts": ["...", ...]}',
        texts=(texts, ...),
    )


async def read_body(
    request: Request, schema: type[BaseModel], limits: Limits, admission: Admission
) -> Any:
    """The body of a request; refused if too large, too slow, not JSON, or not of the schema.

    The docstring of the schema is an example of it, for those who got it wrong.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        # Also keeps pages of other sites from using the service: browsers ask before such requests.
        raise Refused(415, "expected the header Content-Type: application/json")
    peer = request.scope.get(PEER)
    try:
        # Nothing to wait for, mostly, and a timer takes longer than to read.
        async with asyncio.timeout(None if peer and peer.whole else limits.body_seconds):
            body = await _read(request, limits, admission)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive in {limits.body_seconds} seconds") from None
    except ClientDisconnect:
        raise Refused(400, "the body ended early") from None
    return _parse(body, schema)


async def _read(request: Request, limits: Limits, admission: Admission) -> bytes:
    """The body. One that is too large is read to its end and forgotten.

    A client that is still sending when the connection is closed would not see the reason.
    """
    parts: list[bytes] = []
    refusal: Refused | None = None
    more = True
    while more:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        part, more = message.get("body", b""), message.get("more_body", False)
        if refusal is not None:
            continue
        try:
            if admission.n_bytes + len(part) > limits.max_body_bytes:
                raise Refused(413, f"expected a body of at most {limits.max_body_bytes:,} bytes")
            admission.take(len(part))
            parts.append(part)
        except Refused as error:
            refusal = error
            parts.clear()
    if refusal is not None:
        raise refusal
    return b"".join(parts)


def _parse(body: bytes, schema: type[BaseModel]) -> BaseModel:
    expected = f"expected {schema.__doc__}"
    if not body.strip():
        raise Refused(400, f"the body is empty; {expected}")
    try:
        return schema.model_validate_json(body.decode())
    except UnicodeDecodeError as error:
        raise Refused(400, f"the body is not UTF-8: byte {error.start} is wrong") from None
    except ValidationError as error:
        raise _refusal(error, expected) from None


def _refusal(error: ValidationError, expected: str) -> Refused:
    """The first thing that is wrong, as a status and one line."""
    first: Any = error.errors(include_url=False, include_input=False)[0]
    kind, context = first["type"], first.get("ctx", {})
    position = "".join(f"[{at}]" if i else str(at) for i, at in enumerate(first["loc"]))
    match kind:
        case "json_invalid":
            return Refused(400, f"the body is not JSON: {context['error']}")
        case "too_long":
            return Refused(
                413, f"expected at most {context['max_length']} texts; send several requests"
            )
        case "string_too_long":
            return Refused(413, f"{position}: expected at most {context['max_length']} characters")
        case "too_short":
            return Refused(422, "expected at least one text, got none")
        case "string_pattern_mismatch":
            return Refused(422, f"{position} is blank; expected a text")
        case "string_type" | "string_unicode":
            return Refused(422, f"{position}: expected a string")
        case "extra_forbidden":
            return Refused(422, f"unknown field {first['loc'][0][:50]!r}; {expected}")
        case "value_error":
            return Refused(422, f"{position}: {context['error']}")
        case _:
            return Refused(422, expected)

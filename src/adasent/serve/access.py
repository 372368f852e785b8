"""Who may ask: where there is a token, those who bring it.

Programs send it as ``Authorization: Bearer TOKEN``. A browser asks for a name, which does not
matter, and a password, which is the token, and then sends it with whatever the page asks.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import os
from pathlib import Path

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from adasent.errors import ConfigError
from adasent.serve.front import header

#: The environment variable that holds a token.
VARIABLE = "ADASENT_TOKEN"
#: What tells that the service runs says nothing of models or texts.
_OPEN = frozenset({"/healthz"})
_SHORTEST = 16


def read_token(file: Path | None) -> str | None:
    """The token of a file, or else of the environment; None where there is neither."""
    if file is not None:
        try:
            found, where = file.read_text(encoding="utf-8").strip(), f"--token-file {file}"
        except UnicodeDecodeError:
            raise ConfigError(f"--token-file {file}: expected text, got other bytes") from None
    elif VARIABLE in os.environ:
        found, where = os.environ[VARIABLE].strip(), VARIABLE
    else:
        return None
    if len(found) < _SHORTEST or not found.isascii() or not found.isprintable() or " " in found:
        raise ConfigError(
            f"{where}: expected at least {_SHORTEST} ASCII characters without a space, "
            f"got {len(found)}; make one: python -c 'import secrets; print(secrets.token_hex(16))'"
        )
    return found


class Token:
    """ASGI middleware that refuses requests without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app = app
        self._token = token.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http" and scope["path"] not in _OPEN:
            given = _given(header(scope, b"authorization"))
            if not hmac.compare_digest(given, self._token):
                answer = JSONResponse(
                    {"error": "expected the header Authorization: Bearer TOKEN, with the token"},
                    401,
                    {"WWW-Authenticate": 'Basic realm="adasent: the token is the password"'},
                )
                await answer(scope, receive, send)
                return
        await self.app(scope, receive, send)


def _given(field: bytes) -> bytes:
    """The token of the header field, empty where it has none."""
    scheme, _, value = field.partition(b" ")
    if scheme.lower() == b"bearer":
        return value.strip()
    if scheme.lower() == b"basic":
        try:
            return base64.b64decode(value, validate=True).partition(b":")[2]
        except binascii.Error:
            return b""
    return b""

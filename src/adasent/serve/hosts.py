"""Which names the service answers to.

A site can point a name of its own at 127.0.0.1, and a browser then lets that site's scripts read
what the service says. Requests name the host that they were meant for; other names are refused.
"""

from __future__ import annotations

from collections.abc import Iterable

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from adasent.serve.front import header

#: Names of this machine that nobody else can give to another one.
LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_LONGEST = 100  # of a name in an answer


def names_of(host: str, *, loopback: bool, allowed: Iterable[str]) -> frozenset[str] | None:
    """The names of a service on a host; None answers to any.

    Where other machines can connect, they may know it by any name, unless some are allowed.
    """
    more = frozenset(map(bare, allowed))
    if not loopback and not more:
        return None
    own = bare(f"[{host}]" if ":" in host and not host.startswith("[") else host)
    return more | {own} | (frozenset(LOOPBACK) if loopback else frozenset())


def bare(host: str) -> str:
    """A host as a request names it, without its port; an IPv6 address keeps its brackets."""
    name = host.strip().lower()
    if name.startswith("["):
        return name[: name.find("]") + 1] if "]" in name else name
    return name.partition(":")[0].rstrip(".")


class KnownHosts:
    """ASGI middleware that refuses requests for other names."""

    def __init__(self, app: ASGIApp, names: frozenset[str]) -> None:
        self.app = app
        self.names = names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            given = bare(header(scope, b"host").decode("latin-1"))
            if given not in self.names:
                known = ", ".join(sorted(self.names))
                reason = (
                    f"expected a request for {known}, got one for {given[:_LONGEST]!r}; "
                    "adasent serve --allow-host adds a name"
                )
                await JSONResponse({"error": reason}, 421)(scope, receive, send)
                return
        await self.app(scope, receive, send)

"""A toy registry and a local web server, so that fetching is tested without a network."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from adasent.data import registry
from adasent.data.registry import Entry, RemoteFile


def _tarball(members: dict[str, bytes]) -> bytes:
    """A gzipped tar archive with these regular files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, body in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(body)
            tar.addfile(info, io.BytesIO(body))
    return buffer.getvalue()


def _remote(path: str, body: bytes, **fields: Any) -> RemoteFile:
    """A registry file pinned to `body`."""
    return RemoteFile(path, hashlib.sha256(body).hexdigest(), len(body), **fields)


@pytest.fixture
def tarball() -> Callable[[dict[str, bytes]], bytes]:
    return _tarball


@pytest.fixture
def remote() -> Callable[..., RemoteFile]:
    return _remote


class Site:
    """Pages served at 127.0.0.1, and the paths that were asked for."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.cut_to: int | None = None
        self.asked: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.asked.append(self.path)
                body = site.pages.get(self.path)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body[: site.cut_to])

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    site = Site()
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield site
    site.server.shutdown()
    site.server.server_close()
    thread.join()


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and no mirror."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("ADASENT_CACHE", str(folder))
    monkeypatch.delenv("ADASENT_DATA", raising=False)
    return folder


@pytest.fixture
def enter(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Entry]:
    """Replace the registry by one entry."""

    def _enter(*files: RemoteFile, name: str = "toy", **fields: Any) -> Entry:
        entry = Entry(name, "a toy set", "nowhere", "none", "none", files, **fields)
        monkeypatch.setattr(registry, "_entries", lambda: {name: entry})
        return entry

    return _enter

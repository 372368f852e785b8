"""Where bulk work reads and writes: files, globs, folders, and object stores by their addresses.

A name with ``://`` in it is handed to pyarrow, which knows the object stores; all others are files
of this machine, or of a disk that the machines share.
"""

from __future__ import annotations

import fnmatch
import glob
import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, cast
from uuid import uuid4

from adasent.data.tables import PLAIN, TABLES, How, kind_of
from adasent.errors import DataError, require

_WILD = "*?["
#: Endings of files that are taken from a folder.
_KNOWN = {*TABLES, *PLAIN} - {""}


def is_address(name: str) -> bool:
    """Whether a name is one of an object store."""
    return "://" in name


@dataclass(frozen=True)
class InputFile:
    """A file to be read, by whichever process."""

    name: str
    identity: str  # another one if the content is another

    @property
    def path(self) -> Path:
        """As messages name it."""
        return Path(self.name)

    def reading(self, how: How) -> How:
        """How it is read, given what the user says of all files."""
        if not is_address(self.name):
            return how
        return replace(how, source=partial(_open_address, self.name))


def find_inputs(names: Sequence[str]) -> list[InputFile]:
    """The files that are meant; those of a folder or a glob in the order of their names.

    Raises
    ------
    DataError
        For a name that nothing is found under.
    """
    found: dict[str, InputFile] = {}
    for name in names:
        own = list(_of_address(name) if is_address(name) else _of_machine(name))
        if not own:
            raise DataError(
                f"no file for {name!r}; expected a file, a glob, or a folder with files that end "
                f"in {', '.join(sorted(_KNOWN))}"
            )
        found |= {one.name: one for one in own}
    return list(found.values())


def _of_machine(name: str) -> Iterator[InputFile]:
    path = Path(name)
    if path.is_dir():
        paths = [one for one in sorted(path.rglob("*")) if _is_meant(one.relative_to(path))]
    elif path.exists() or not any(sign in name for sign in _WILD):
        paths = [path]
    else:
        # Path.glob takes no pattern that starts at the root.
        paths = sorted(map(Path, glob.glob(name, recursive=True)))  # noqa: PTH207
    for one in paths:
        if one.is_file():
            facts = one.stat()
            yield InputFile(str(one), f"{facts.st_size} {facts.st_mtime_ns}")


def _is_meant(path: Path) -> bool:
    """Of a folder: a file that can be read, and nothing that other programs hide or leave there."""
    return kind_of(path) in _KNOWN and not any(part.startswith((".", "_")) for part in path.parts)


def _of_address(name: str) -> Iterator[InputFile]:
    store = require("pyarrow.fs", "ray", "reading from an object store")
    wild = min((name.index(sign) for sign in _WILD if sign in name), default=len(name))
    fixed = name if wild == len(name) else name[:wild].rpartition("/")[0]
    try:
        files, place = store.FileSystem.from_uri(fixed)
        root = files.get_file_info(place)
        listed = [root]
        if root.type == store.FileType.Directory:
            listed = files.get_file_info(store.FileSelector(place, recursive=True))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot look for {name}: {error}") from error
    pattern = name.replace(fixed, place, 1)
    for one in sorted(listed, key=lambda one: str(one.path)):
        is_given = one is root
        is_match = wild < len(name) and fnmatch.fnmatchcase(one.path, pattern)
        inside = wild == len(name) and _is_meant(Path(os.path.relpath(one.path, place)))
        if one.type == store.FileType.File and (is_given or is_match or inside):
            yield InputFile(fixed.replace(place, one.path, 1), f"{one.size} {one.mtime_ns}")


def _open_address(name: str) -> BinaryIO:
    store = require("pyarrow.fs", "ray", "reading from an object store")
    files, place = store.FileSystem.from_uri(name)
    return cast(BinaryIO, BufferedReader(files.open_input_file(place), 1 << 20))


class OutputFolder:
    """A folder, of this machine or of an object store, whose files appear whole or not at all."""

    def __init__(self, name: str) -> None:
        store = require("pyarrow.fs", "ray", "writing Parquet")
        self.name = name
        if is_address(name):
            self._files, self._root = store.FileSystem.from_uri(name)
        else:
            self._files, self._root = store.LocalFileSystem(), os.path.realpath(name)
        self._selector = store.FileSelector

    def list(self) -> set[str]:
        """Names of what is in it."""
        selector = self._selector(self._root, allow_not_found=True)
        return {one.base_name for one in self._files.get_file_info(selector)}

    def write(self, name: str, fill: Callable[[Any], None]) -> None:
        """Make a file by filling a stream; in place of what has its name, once it is whole."""
        self._files.create_dir(self._root, recursive=True)
        part = f"{self._root}/.{name}.{uuid4().hex[:8]}.part"
        try:
            with self._files.open_output_stream(part) as stream:
                fill(stream)
            self._files.move(part, f"{self._root}/{name}")
        except BaseException:
            self._remove(part)
            raise

    def write_json(self, name: str, value: object) -> None:
        """The same of JSON."""
        body = json.dumps(value, indent=1).encode()
        self.write(name, lambda stream: stream.write(body))

    def read_json(self, name: str) -> Any:
        """None where it is not there; ValueError where it is no JSON."""
        try:
            with self._files.open_input_stream(f"{self._root}/{name}") as stream:
                return json.loads(stream.read())
        except FileNotFoundError:
            return None

    def remove(self, names: Sequence[str]) -> None:
        """Delete files that may be gone already."""
        for name in names:
            self._remove(f"{self._root}/{name}")

    def _remove(self, path: str) -> None:
        try:
            self._files.delete_file(path)
        except FileNotFoundError:
            return

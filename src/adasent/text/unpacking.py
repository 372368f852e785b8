"""Opens gzipped and zipped files that may be hostile: what they may unpack to is bounded.

Text packs to a fifth of its size or so, and nothing that anybody keeps to a two-hundredth, while a
megabyte made for harm unpacks to a gigabyte. ``ADASENT_UNPACK_ALL=1`` lifts the bounds.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
from typing import Any, BinaryIO

from adasent.checks import switched_on
from adasent.errors import DataError

UNPACK_ALL = "ADASENT_UNPACK_ALL"
GZIP_MAGIC = b"\x1f\x8b"

#: How often its own size a file may unpack to. Deflate reaches about 1,032.
MOST_TIMES = 200
#: Bytes that do no harm, however well they were packed.
HARMLESS = 4 << 20
#: Bytes that nothing may unpack to: of what is read bit by bit, and of what is read whole.
MOST_READ, MOST_HELD = 256 << 30, 4 << 30


def may_hold(n_packed: int, most: int = MOST_READ) -> int:
    """How many bytes a file of so many bytes may unpack to."""
    return 1 << 62 if switched_on(UNPACK_ALL) else min(most, max(HARMLESS, MOST_TIMES * n_packed))


def open_gzip(packed: BinaryIO, name: str | os.PathLike[str]) -> io.BufferedReader:
    """What a gzipped stream unpacks to; closing it closes both.

    Reading raises DataError, which has the name, once there is more than there may be.
    """
    return io.BufferedReader(_Bounded(packed, name), 1 << 20)


def check_size(n_unpacked: int, n_packed: int, name: str | os.PathLike[str]) -> None:
    """DataError if a file of so many bytes says that it unpacks to more than it may, held whole."""
    if n_unpacked > may_hold(n_packed, MOST_HELD):
        raise _too_much(name, n_packed, MOST_HELD)


def open_zip(archive: Any, name: str | os.PathLike[str]) -> zipfile.ZipFile:
    """A zip archive of which every member can be read; DataError if they unpack to too much."""
    opened = zipfile.ZipFile(archive)
    assert opened.fp is not None
    n_packed = opened.fp.seek(0, os.SEEK_END)  # members may overlap: their own sizes say nothing
    try:
        check_size(sum(one.file_size for one in opened.infolist()), n_packed, name)
    except DataError:
        opened.close()
        raise
    return opened


class _Bounded(io.RawIOBase):
    """Counts on the way: what was unpacked by now, of what was read by now."""

    def __init__(self, packed: BinaryIO, name: str | os.PathLike[str]) -> None:
        self._packed = packed
        self._unpacked = gzip.GzipFile(fileobj=packed)
        self._name = name

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        n_read = self._unpacked.readinto(buffer)
        n_packed = self._packed.tell()
        if self._unpacked.tell() > may_hold(n_packed):
            raise _too_much(self._name, n_packed, MOST_READ)
        return n_read

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_CUR:
            offset += self.tell()
        if offset < self.tell():
            self._unpacked.seek(0)
        room = bytearray(1 << 16)
        while (left := offset - self.tell()) > 0 and self.readinto(memoryview(room)[:left]):
            pass
        return self.tell()

    def tell(self) -> int:
        return self._unpacked.tell()

    def close(self) -> None:
        if not self.closed:
            self._unpacked.close()
            self._packed.close()
        super().close()


def _too_much(name: str | os.PathLike[str], n_packed: int, most: int) -> DataError:
    is_dense = may_hold(n_packed, most) < most
    bound = f"{MOST_TIMES} times its size" if is_dense else f"{most >> 30} GiB"
    return DataError(
        f"{os.fspath(name)}: unpacks to more than {bound}, as files made for harm do; if you trust "
        f"it, unpack it yourself, or set {UNPACK_ALL}=1 (--unpack-all on a command line)"
    )

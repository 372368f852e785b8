"""Opens a text file, gzipped or not, or standard input as decoded lines.

The first bytes say how: a byte order mark names UTF-8 or UTF-16, and a file with "\\r" and no "\\n"
has the line ends of old Macs. In all other files a line ends at "\\n" and nowhere else.
"""

from __future__ import annotations

import codecs
import gzip
import re
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import BinaryIO, cast

from adasent.errors import ConfigError, DataError, setting
from adasent.text.unpacking import open_gzip

STDIN = Path("-")

#: How much of a file is looked at before it is read.
HEAD = 1 << 16
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    # Before UTF-16, whose mark it starts with.
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
#: Letters of a script with fewer than 256 of them, each with a zero byte after it or before it.
_UNMARKED = {
    re.compile(rb"(?:[^\0]\0){8}"): "utf-16-le",
    re.compile(rb"(?:\0[^\0]){8}"): "utf-16-be",
}
_AROUND = 12  # bytes to each side of a bad one that are shown


def is_packed(path: Path) -> bool:
    """Whether the name says that the file is gzipped."""
    return path.suffix.lower() == ".gz"


class Lines:
    """Decoded lines, each with its end, and the encoding that they were found to be in."""

    def __init__(self, stream: TextIOWrapper, path: Path, encoding: str) -> None:
        self.encoding = encoding
        self._lines = _decoded(stream, path, encoding)

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        return next(self._lines)


@contextmanager
def open_lines(path: Path, encoding: str = "utf-8") -> Iterator[Lines]:
    """The lines of a file, gzipped if its name says so, or of standard input for "-".

    A byte order mark is dropped, and wins over an encoding of ``utf-8``. DataError says that the
    file cannot be opened, or, while reading, where it has bytes that are not in the encoding.
    """
    try:
        is_utf8 = codecs.lookup(encoding).name == "utf-8"
        binary = _open_bytes(path)
    except (LookupError, ValueError) as error:  # the latter of a NUL character in it
        raise _unknown(encoding) from error
    except OSError as error:
        raise _damaged(path, error) from error
    head = b""
    try:
        head = _head(path, binary)
        codec = encoding
        if is_utf8:
            marked = (name for mark, name in _MARKS.items() if head.startswith(mark))
            codec = next(marked, "utf-8-sig")
            _check_unmarked(path, head)
        stream = TextIOWrapper(binary, encoding=codec, newline="\n")
        if path != STDIN and _is_old_mac(head, codec):
            stream.reconfigure(newline="\r")
    except BaseException as error:
        if path != STDIN:
            binary.close()
        if isinstance(error, LookupError):
            raise _unknown(encoding) from error
        if isinstance(error, UnicodeError):
            raise _unfit(path, encoding, error, head) from error
        if isinstance(error, OSError | EOFError | zlib.error):
            raise _damaged(path, error) from error
        raise
    try:
        yield Lines(stream, path, "utf-8" if codec == "utf-8-sig" else codec)
    finally:
        if path == STDIN:
            stream.detach()  # closing the wrapper would close standard input itself
        else:
            stream.close()


def _open_bytes(path: Path) -> BinaryIO:
    if path == STDIN:
        return sys.stdin.buffer
    stream = path.open("rb")
    return cast(BinaryIO, open_gzip(stream, path)) if is_packed(path) else stream


def _head(path: Path, binary: BinaryIO) -> bytes:
    """The first bytes; of a file it is read twice, of standard input what can be had unread."""
    if path != STDIN:
        head = binary.read(HEAD)
        binary.seek(0)
        return head
    peek = getattr(binary, "peek", None)
    return b"" if peek is None else bytes(peek(4)[:4])


def _is_old_mac(head: bytes, codec: str) -> bool:
    # What is cut at the end of the head must not matter.
    text = codecs.getincrementaldecoder(codec)("replace").decode(head)
    return "\r" in text.removesuffix("\r") and "\n" not in text


def _check_unmarked(path: Path, head: bytes) -> None:
    """Refuse UTF-16 without a mark, which is valid UTF-8 full of NUL characters."""
    for pattern, name in _UNMARKED.items():
        if pattern.match(head):
            raise DataError(
                f"{path}: every second byte is zero, as in {name} without a byte order mark; "
                f"if that is right, add {setting('encoding', name)}"
            )


def _decoded(stream: TextIOWrapper, path: Path, encoding: str) -> Iterator[str]:
    n_lines = 0
    try:
        for line in stream:
            n_lines += 1
            yield line
    except UnicodeDecodeError as error:
        # Lines before the bad byte but in the same block were not yielded yet.
        bad_line = n_lines + 1 + error.object[: error.start].count(b"\n")
        raise DataError(
            f"{path}, line {bad_line}: byte 0x{error.object[error.start]:02x} is not "
            f"{encoding.removesuffix('-sig')}; {_remedy(error)}"
        ) from error
    except UnicodeError as error:  # of UTF-16 that starts without a mark
        raise _unfit(path, encoding, error) from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise _damaged(path, error, n_lines) from error


def _unfit(path: Path, encoding: str, error: UnicodeError, head: bytes = b"") -> DataError:
    """Of UTF-16 or UTF-32 that starts without a mark, and of codecs that are not for files."""
    likely = next((name for pattern, name in _UNMARKED.items() if pattern.match(head)), None)
    remedy = (
        f"every second byte is zero, as in {likely}: add {setting('encoding', likely)}"
        if likely
        else f"name another with {setting('encoding', 'NAME')}, or save the file as UTF-8"
    )
    return DataError(f"{path}: {error}; the encoding {encoding} does not fit; {remedy}")


def _unknown(encoding: str) -> ConfigError:
    return ConfigError(
        f"unknown text encoding {encoding!r}; use a name such as 'utf-8', 'cp1252', 'latin-1'"
    )


def _damaged(path: Path, error: Exception, n_lines: int = 0) -> DataError:
    if isinstance(error, OSError) and not isinstance(error, gzip.BadGzipFile):
        return DataError(f"cannot read {path}: {error.strerror}")
    return DataError(
        f"{path}, after line {n_lines}: the gzip data are damaged or cut short; get the file again"
    )


def _remedy(error: UnicodeDecodeError) -> str:
    """What to do about a byte that is not UTF-8; how it would read as what it mostly is."""
    remedy = "save the file as UTF-8, or name its encoding"
    before = error.object[max(0, error.start - _AROUND) : error.start]
    after = error.object[error.start : error.start + _AROUND]
    try:
        begun, ended = before.decode("cp1252"), after.decode("cp1252")
    except UnicodeDecodeError:
        return f"{remedy}, such as {setting('encoding', 'cp1252')}"
    words = re.split(r"[\s,;|\"]", begun)[-1] + re.split(r"[\s,;|\"]", ended)[0]
    return (
        f"{remedy}: as cp1252 it reads {words!r}; if that is right, add "
        f"{setting('encoding', 'cp1252')}"
    )


def bare(line: str) -> str:
    """The line without its end: one "\\n" and one "\\r" before it."""
    return line.removesuffix("\n").removesuffix("\r")

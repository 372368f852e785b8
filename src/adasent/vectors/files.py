"""Reads and writes files of word vectors.

Reads word2vec binary, word2vec text and GloVe text, plain or gzipped, told apart by what is in the
file and not by its name. The file is not trusted: whatever does not fit is refused with the place.
Memory stays near the size of the result, whatever the header claims.
"""

from __future__ import annotations

import gzip
import io
import os
import tempfile
import warnings
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from adasent.errors import AdaSentWarning, VectorsError

_GZIP_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 24
_MAX_HEADER = 64
_MAX_LINE = 1 << 20
_MAX_DIM = 1 << 16
_MAX_WORD = 1 << 12
# Deflate cannot do better than about 1032 to 1, which bounds what a gzip file may hold.
_MAX_RATIO = 1100

_NOT_VECTORS = {
    b"\x80": (
        "a pickle, such as gensim's save() writes, and pickles can run code; load it with gensim "
        "and pass the KeyedVectors object, or export it with save_word2vec_format()"
    ),
    b"PK\x03\x04": "a zip archive; unpack it and pass the file inside",
    b"\x93NUMPY": "a numpy array without words",
}
_FORMATS = "word2vec (binary or text) or GloVe text, plain or gzipped"


class _Table:
    """Rows gathered in order; repeats and empty words are counted and left out."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[str, None] = {}
        self.parts: list[NDArray[np.float32]] = []
        self.n_read = 0
        self.n_repeated = 0
        self.n_empty = 0

    def add(self, words: Sequence[bytes], values: NDArray[np.float32]) -> None:
        """Take a block of rows; ``values`` has a row for each of ``words``."""
        finite = np.isfinite(values).all(axis=1)
        if not finite.all():
            at = int(np.argmin(finite))
            word = _decode(words[at])
            raise VectorsError(
                f"{self.path}: expected finite numbers, got NaN or infinity for word "
                f"{self.n_read + at + 1} ({_shown(word)}); the file is damaged or not {_FORMATS}"
            )
        kept = []
        for at, raw in enumerate(words):
            word = _decode(raw)
            if not word:
                self.n_empty += 1
            elif word in self.rows:
                self.n_repeated += 1
            else:
                self.rows[word] = None
                kept.append(at)
        self.n_read += len(words)
        self.parts.append(values if len(kept) == len(words) else values[kept])

    def finish(self) -> tuple[list[str], NDArray[np.float32]]:
        if not self.rows:
            raise VectorsError(f"{self.path}: expected {_FORMATS}, got a file without words")
        if self.n_repeated or self.n_empty:
            warnings.warn(
                f"{self.path.name}: skipped {self.n_repeated} repeated words (the first vector of "
                f"each was kept) and {self.n_empty} empty words among {self.n_read}",
                AdaSentWarning,
                stacklevel=4,
            )
        return list(self.rows), np.concatenate(self.parts)


def read_table(path: Path, *, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
    """Words in file order and their vectors, shape (n, d); at most the first ``limit`` words.

    Bytes that are not UTF-8 are kept as surrogate escapes, so that writing gives them back.
    """
    if limit is not None and limit < 1:
        raise VectorsError(f"limit: expected None or at least 1 word, got {limit}")
    table = _Table(path)
    with _opened(path) as (stream, capacity):
        sample = stream.read(_MAX_WORD)
        stream.seek(0)
        header = _parse_header(sample)
        if header is None:
            _refuse_other_formats(path, sample)
            _read_text(table, stream, limit=limit)
        else:
            n_words, dim = header
            if n_words < 1 or not 1 <= dim <= _MAX_DIM or n_words * dim > capacity:
                raise VectorsError(
                    f"{path}: the header claims {n_words} words of {dim} numbers, which the file "
                    "cannot hold; it is cut short or not a vector file"
                )
            start = len(stream.readline())
            if _is_text(sample[start:]):
                _read_text(table, stream, limit=limit, header=header)
            else:
                _read_binary(table, stream, n_words, dim, limit=limit, start=start)
    return table.finish()


def write_table(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write word2vec binary, gzipped if the name ends in ``.gz``; the file appears whole or not."""
    encoded = [_encode(word) for word in words]
    rows = np.ascontiguousarray(matrix, dtype="<f4")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as raw:
            if path.suffix == ".gz":
                # No time stamp and no name: equal vectors give equal files.
                with gzip.GzipFile("", "wb", fileobj=raw, mtime=0, compresslevel=6) as packed:
                    _write_rows(cast(BinaryIO, packed), encoded, rows)
            else:
                _write_rows(raw, encoded, rows)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_rows(stream: BinaryIO, words: Sequence[bytes], rows: NDArray[np.float32]) -> None:
    stream.write(b"%d %d\n" % rows.shape)
    for start in range(0, len(words), 4096):
        block = zip(words[start : start + 4096], rows[start : start + 4096], strict=True)
        stream.write(b"".join(b"%b %b" % (word, row.tobytes()) for word, row in block))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.BufferedReader, int]]:
    """The unpacked bytes of a file, and the most numbers that it can hold."""
    try:
        with path.open("rb") as raw:
            size = os.fstat(raw.fileno()).st_size
            if raw.peek(2)[:2] == _GZIP_MAGIC:
                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield (
                        io.BufferedReader(cast(io.RawIOBase, unpacked), 1 << 20),
                        size * _MAX_RATIO,
                    )
            else:
                yield raw, size
    except FileNotFoundError as error:
        raise VectorsError(f"{path}: expected a vector file, found none; check the path") from error
    except EOFError as error:
        raise VectorsError(f"{path}: the gzip data end too early; get the file again") from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise VectorsError(f"{path}: the gzip data are damaged; get the file again") from error
    except OSError as error:
        raise VectorsError(f"{path}: cannot be read ({error.strerror or error})") from error


def _parse_header(sample: bytes) -> tuple[int, int] | None:
    """The two integers of a word2vec header line, or None where the file has no header."""
    fields = sample[:_MAX_HEADER].partition(b"\n")[0].split()
    if len(fields) == 2 and all(field.isdigit() for field in fields):
        return int(fields[0]), int(fields[1])
    return None


def _refuse_other_formats(path: Path, sample: bytes) -> None:
    for magic, what in _NOT_VECTORS.items():
        if sample.startswith(magic):
            raise VectorsError(f"{path}: expected {_FORMATS}, got {what}")


def _is_text(start: bytes) -> bool:
    """Whether the first row is written in decimal digits, rather than as raw floats."""
    row = start.lstrip(b"\n").partition(b" ")[2].partition(b"\n")[0]
    # The bytes of several floats are not digits, signs and blanks by chance.
    return bool(row) and not row[:16].translate(None, b"0123456789+-.eEnaifINF \t\r")


def _read_binary(
    table: _Table,
    stream: BinaryIO,
    n_words: int,
    dim: int,
    *,
    limit: int | None,
    start: int,
) -> None:
    wanted = n_words if limit is None else min(limit, n_words)
    n_bytes = 4 * dim
    buffer = b""
    while table.n_read < wanted:
        more = stream.read(max(_CHUNK, n_bytes + _MAX_WORD))
        buffer += more
        words: list[bytes] = []
        rows: list[bytes] = []
        position = 0
        while table.n_read + len(words) < wanted:
            space = buffer.find(b" ", position, position + _MAX_WORD)
            end = space + 1 + n_bytes
            if space < 0 or end > len(buffer):
                break
            # The original word2vec ends each row with a line feed, gensim does not.
            words.append(buffer[position:space].lstrip(b"\n"))
            rows.append(buffer[space + 1 : end])
            position = end
        if words:
            values = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), dim)
            table.add(words, values.astype(np.float32, copy=False))
        elif not more or len(buffer) > n_bytes + _MAX_WORD:
            raise VectorsError(
                f"{table.path}: the header claims {n_words} words of {dim} numbers, but word "
                f"{table.n_read + 1}, at byte {start}, is not whole; the file is cut short or "
                "damaged, get it again"
            )
        start += position
        buffer = buffer[position:]
    if wanted == n_words and (buffer.strip() or stream.read(_CHUNK).strip()):
        raise VectorsError(
            f"{table.path}: the header claims {n_words} words of {dim} numbers, but more data "
            f"follow at byte {start}; the file is damaged, get it again"
        )


def _read_text(
    table: _Table,
    stream: BinaryIO,
    *,
    limit: int | None,
    header: tuple[int, int] | None = None,
) -> None:
    n_words, dim = header or (None, None)
    wanted = limit if n_words is None else min(limit or n_words, n_words)
    first_line = 1 if header is None else 2
    words: list[bytes] = []
    rows: list[list[float]] = []
    for number, line in enumerate(iter(lambda: stream.readline(_MAX_LINE), b""), first_line):
        if not line.strip():
            continue
        if wanted is not None and table.n_read + len(words) == wanted:
            if wanted == n_words:
                raise VectorsError(
                    f"{table.path}: the header claims {n_words} words, but line {number} holds "
                    "one more; the file is damaged, get it again"
                )
            break
        if dim is None:
            dim = len(line.split()) - 1
        word, values = _parse_line(table.path, number, line, dim)
        words.append(word)
        rows.append(values)
        if len(words) == 4096:
            table.add(words, np.array(rows, dtype=np.float32))
            words, rows = [], []
    if words:
        table.add(words, np.array(rows, dtype=np.float32))
    if wanted is not None and n_words is not None and table.n_read < wanted:
        raise VectorsError(
            f"{table.path}: the header claims {n_words} words, but the file ends after "
            f"{table.n_read}; it is cut short, get it again"
        )


def _parse_line(path: Path, number: int, line: bytes, dim: int) -> tuple[bytes, list[float]]:
    """One row of text. A word may hold spaces (GloVe 840B) or be missing (GloVe Twitter)."""
    if len(line) == _MAX_LINE:
        raise VectorsError(
            f"{path}: line {number} is longer than {_MAX_LINE} bytes; expected {_FORMATS}"
        )
    fields = line.rsplit(None, dim) if dim > 0 else []
    numbers = fields[-dim:]
    word = fields[0] if len(fields) > dim else b""
    try:
        values = [float(field) for field in numbers]
        if dim < 1 or len(values) < dim or _ends_in_number(word):
            raise ValueError
    except ValueError:
        raise VectorsError(
            f"{path}: line {number}: expected a word and {max(dim, 1)} numbers, "
            f"got {_shown(_decode(line.strip()))} ({len(line.split())} fields); "
            f"expected {_FORMATS}"
        ) from None
    return word, values


def _ends_in_number(word: bytes) -> bool:
    """Whether a word of several parts took in a number: the row has too many of them."""
    parts = word.split()
    if len(parts) < 2:
        return False
    try:
        float(parts[-1])
    except ValueError:
        return False
    return True


def _decode(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _encode(word: str) -> bytes:
    try:
        raw = word.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError as error:
        raise VectorsError(
            f"cannot write the word {word!r}: it holds a lone surrogate; leave it out"
        ) from error
    if not raw or raw.split() != [raw]:
        raise VectorsError(
            f"cannot write the word {word!r}: the word2vec format has no empty words and no white "
            "space in words; leave it out"
        )
    return raw


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:40] + "…")

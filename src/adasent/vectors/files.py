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
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from adasent.errors import AdaSentWarning, VectorsError
from adasent.text.unpacking import GZIP_MAGIC, may_hold, open_gzip

_CHUNK = 1 << 24
_BLOCK = 4096
_MAX_HEADER = 64
_MAX_LINE = 1 << 20
_MAX_DIM = 1 << 16
_MAX_WORD = 1 << 12

_NOT_VECTORS = {
    b"\x80": (
        "a pickle, such as gensim's save() writes, and pickles can run code; load it with gensim "
        "and pass the KeyedVectors object, or export it with save_word2vec_format()"
    ),
    b"PK\x03\x04": "a zip archive; unpack it and pass the file inside",
    b"\x93NUMPY": "a numpy array without words",
}
_FORMATS = "word2vec (binary or text) or GloVe text, plain or gzipped"

#: Words as they stand in the file, and their numbers, (n, d).
Block = tuple[list[bytes], NDArray[np.float32]]


def read_table(path: Path, *, limit: int | None) -> tuple[list[str], NDArray[np.float32]]:
    """Words in file order and their vectors, shape (n, d); at most the first ``limit`` words.

    Repeats and empty words are counted and left out. Bytes that are not UTF-8 are kept as surrogate
    escapes, so that writing gives them back.
    """
    if limit is not None and limit < 1:
        raise VectorsError(f"limit: expected None or at least 1 word, got {limit}")
    index: dict[str, None] = {}
    parts: list[NDArray[np.float32]] = []
    n_read = n_empty = 0
    with _opened(path) as (stream, capacity):
        for raw, values in _blocks(path, stream, capacity, limit):
            words = [_decode(word) for word in raw]
            finite = np.isfinite(values).all(axis=1)
            if not finite.all():
                at = int(np.argmin(finite))
                raise VectorsError(
                    f"{path}: expected finite numbers, got NaN or infinity for word "
                    f"{n_read + at + 1} ({_shown(words[at])}); the file is damaged or not "
                    f"{_FORMATS}"
                )
            kept = []
            for at, word in enumerate(words):
                if word and word not in index:
                    index[word] = None
                    kept.append(at)
            n_read += len(words)
            n_empty += words.count("")
            parts.append(values if len(kept) == len(words) else values[kept])
    if not index:
        raise VectorsError(f"{path}: expected {_FORMATS}, got a file without words")
    if len(index) < n_read:
        warnings.warn(
            f"{path.name}: skipped {n_read - n_empty - len(index)} repeated words (the first "
            f"vector of each was kept) and {n_empty} empty words among {n_read}",
            AdaSentWarning,
            stacklevel=3,
        )
    return list(index), np.concatenate(parts)


def write_table(path: Path, words: Sequence[str], matrix: NDArray[np.float32]) -> None:
    """Write word2vec binary, gzipped if the name ends in ``.gz``; the file appears whole or not."""
    encoded = [_encode(word) for word in words]
    rows = np.ascontiguousarray(matrix, dtype="<f4")
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with ExitStack() as files:
            stream: IO[bytes] = files.enter_context(os.fdopen(handle, "wb"))
            if path.suffix == ".gz":
                # No time stamp and no name: equal vectors give equal files.
                packed = gzip.GzipFile("", "wb", fileobj=stream, mtime=0, compresslevel=6)
                stream = cast(IO[bytes], files.enter_context(packed))
            _write_rows(stream, encoded, rows)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    finally:
        Path(temporary).unlink(missing_ok=True)


def _write_rows(stream: IO[bytes], words: Sequence[bytes], rows: NDArray[np.float32]) -> None:
    stream.write(b"%d %d\n" % rows.shape)
    for start in range(0, len(words), _BLOCK):
        block = zip(words[start : start + _BLOCK], rows[start : start + _BLOCK], strict=True)
        stream.write(b"".join(b"%b %b" % (word, row.tobytes()) for word, row in block))


@contextmanager
def _opened(path: Path) -> Iterator[tuple[io.BufferedReader, int]]:
    """The unpacked bytes of a file, and the most numbers that it can hold."""
    try:
        with path.open("rb") as raw:
            size = os.fstat(raw.fileno()).st_size
            if raw.peek(2)[:2] == GZIP_MAGIC:
                with open_gzip(raw, path) as unpacked:
                    yield unpacked, may_hold(size)
            else:
                yield raw, size
    except FileNotFoundError as error:
        raise VectorsError(f"{path}: expected a vector file, found none; check the path") from error
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        what = "end too early" if isinstance(error, EOFError) else "are damaged"
        raise VectorsError(f"{path}: the gzip data {what}; get the file again") from error
    except OSError as error:
        raise VectorsError(f"{path}: cannot be read ({error.strerror or error})") from error


def _blocks(path: Path, stream: BinaryIO, capacity: int, limit: int | None) -> Iterator[Block]:
    """The rows of a file of any of the formats, at most the first ``limit``."""
    sample = stream.read(_MAX_WORD)
    stream.seek(0)
    fields = sample[:_MAX_HEADER].partition(b"\n")[0].split()
    if len(fields) != 2 or not all(field.isdigit() for field in fields):
        for magic, what in _NOT_VECTORS.items():
            if sample.startswith(magic):
                raise VectorsError(f"{path}: expected {_FORMATS}, got {what}")
        return _text_blocks(path, stream, None, limit)
    n_words, dim = int(fields[0]), int(fields[1])
    if n_words < 1 or not 1 <= dim <= _MAX_DIM or n_words * dim > capacity:
        raise VectorsError(
            f"{path}: the header claims {n_words} words of {dim} numbers, which the file "
            "cannot hold; it is cut short or not a vector file"
        )
    start = len(stream.readline())
    if _is_text(sample[start:]):
        return _text_blocks(path, stream, (n_words, dim), limit)
    return _binary_blocks(path, stream, (n_words, dim), limit, start)


def _is_text(start: bytes) -> bool:
    """Whether the first row is written in decimal digits, rather than as raw floats."""
    row = start.lstrip(b"\n").partition(b" ")[2].partition(b"\n")[0]
    # The bytes of several floats are not digits, signs and blanks by chance.
    return bool(row) and not row[:16].translate(None, b"0123456789+-.eEnaifINF \t\r")


def _binary_blocks(
    path: Path, stream: BinaryIO, header: tuple[int, int], limit: int | None, start: int
) -> Iterator[Block]:
    n_words, dim = header
    n_bytes = 4 * dim
    wanted = min(limit or n_words, n_words)
    claim = f"{path}: the header claims {n_words} words of {dim} numbers, but"
    buffer, n_read = b"", 0
    while n_read < wanted:
        buffer += stream.read(max(_CHUNK, n_bytes + _MAX_WORD))
        words: list[bytes] = []
        rows: list[bytes] = []
        position = 0
        while n_read + len(words) < wanted:
            space = buffer.find(b" ", position, position + _MAX_WORD)
            end = space + 1 + n_bytes
            if space < 0 or end > len(buffer):
                break
            # The original word2vec ends each row with a line feed, gensim does not.
            words.append(buffer[position:space].lstrip(b"\n"))
            rows.append(buffer[space + 1 : end])
            position = end
        if not words:
            raise VectorsError(
                f"{claim} word {n_read + 1}, at byte {start}, is not whole; the file is cut short "
                "or damaged, get it again"
            )
        values = np.frombuffer(b"".join(rows), dtype="<f4").reshape(len(rows), dim)
        yield words, values.astype(np.float32, copy=False)
        n_read += len(words)
        start += position
        buffer = buffer[position:]
    if wanted == n_words and (buffer.strip() or stream.read(_CHUNK).strip()):
        raise VectorsError(
            f"{claim} more data follow at byte {start}; the file is damaged, get it again"
        )


def _text_blocks(
    path: Path, stream: BinaryIO, header: tuple[int, int] | None, limit: int | None
) -> Iterator[Block]:
    rows = _text_rows(path, stream, header, limit)
    while block := list(islice(rows, _BLOCK)):
        words, numbers = zip(*block, strict=True)
        yield list(words), np.array(numbers, dtype=np.float32)


def _text_rows(
    path: Path, stream: BinaryIO, header: tuple[int, int] | None, limit: int | None
) -> Iterator[tuple[bytes, list[float]]]:
    n_words, dim = header or (None, None)
    n_read = 0
    lines = iter(lambda: stream.readline(_MAX_LINE), b"")
    for number, line in enumerate(lines, 2 if header else 1):
        if not line.strip():
            continue
        if n_read == n_words:
            raise VectorsError(
                f"{path}: the header claims {n_words} words, but line {number} holds "
                "one more; the file is damaged, get it again"
            )
        if n_read == limit:
            return
        if dim is None:
            dim = len(line.split()) - 1
        yield _parse_line(path, number, line, dim)
        n_read += 1
    if n_words is not None and n_read < n_words and n_read != limit:
        raise VectorsError(
            f"{path}: the header claims {n_words} words, but the file ends after "
            f"{n_read}; it is cut short, get it again"
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

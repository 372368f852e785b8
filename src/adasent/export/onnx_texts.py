"""How texts become the ids that an exported graph reads, as two files of JSON beside it.

Not one line of them is code: an expression, a list of words and a few numbers. A reader of them in
Python is ``examples/onnx_predict.py``.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import NamedTuple

from adasent.errors import ConfigError
from adasent.export.source import Reading
from adasent.text.tokenize import expression_of
from adasent.text.vocabulary import PAD_ID, SPECIALS, UNK_ID, Vocabulary


class Beside(NamedTuple):
    """Where the two files are."""

    tokenizer: Path
    vocabulary: Path


def names_beside(path: Path) -> Beside:
    """Those of a graph at ``path``."""
    return Beside(path.with_suffix(".tokenizer.json"), path.with_suffix(".vocabulary.json"))


def text_files(reading: Reading, path: Path) -> dict[Path, bytes]:
    """The files that stand beside the graph at ``path``; refused where JSON cannot say it."""
    expression = expression_of(reading.tokenizer)
    if expression is None:
        raise ConfigError(
            "the model was trained with a tokenizer of its own, which JSON cannot hold: expected "
            "words or kim; export without what makes ids of texts, and make ids where your "
            "tokenizer is"
        )
    beside = names_beside(path)
    rules = {
        "name": reading.tokenizer,
        **expression._asdict(),
        "max_words": reading.max_words,
        "padding": PAD_ID,
        "unknown": UNK_ID,
        "n_specials": len(SPECIALS),
        "vocabulary": beside.vocabulary.name,
        "vocabulary_sha256": vocabulary_hash(reading.vocabulary),
    }
    return {
        beside.tokenizer: json.dumps(rules, indent=1).encode("ascii"),
        beside.vocabulary: _vocabulary_file(reading.vocabulary),
    }


def vocabulary_hash(vocabulary: Vocabulary) -> str:
    """SHA-256 of ``vocabulary.json``, in the folder of the model as beside the graph."""
    return hashlib.sha256(_vocabulary_file(vocabulary)).hexdigest()


def _vocabulary_file(vocabulary: Vocabulary) -> bytes:
    """The words in order of id, a word a line, as a saved model has them."""
    return json.dumps(vocabulary.to_list(), indent=1).encode("ascii")

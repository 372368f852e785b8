"""Word encoders of saved models: what is written of one, and how it is opened again.

A word table is part of its network, and nothing of it is left to be done here. An encoder is copied
into the folder of its model, or named there with its hash.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adasent.encoders.folder import EncoderFolder, SavedEncoder, saved_folder
from adasent.encoders.protocol import WordEncoder
from adasent.errors import require
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import Vocabulary


def open_words(
    entry: SavedEncoder | None,
    folder: Path,
    tokenizer: Tokenizer,
    vocabulary: Vocabulary,
    max_words: int,
) -> WordEncoder:
    """What reads texts for a model.

    Parameters
    ----------
    entry
        What the model says of its encoder; None of one that stands on a table.
    folder
        Of the model.
    """
    if entry is None:
        return TextEncoder(tokenizer, vocabulary, max_words)
    for module in ("torch", "transformers"):
        require(module, "encoder", "a model that stands on an encoder")
    from adasent.encoders.transformer import TransformerEncoder

    origin = saved_folder(entry, folder)
    found = TransformerEncoder.open(origin, tokenizer, max_words, entry.scale)
    found.tuned = entry.tuned
    return found


@contextmanager
def written_words(
    encoder: Any, *, inside: bool
) -> Iterator[tuple[SavedEncoder | None, EncoderFolder | None]]:
    """What a model is to say of its word encoder, and the files to copy into its folder, if any.

    Parameters
    ----------
    encoder
        A :class:`~adasent.encoders.protocol.WordEncoder`.
    inside
        Whether an encoder is copied; one that was tuned is in any case.
    """
    if not encoder.contextual:
        yield None, None
        return
    with tempfile.TemporaryDirectory() as folder, encoder.written(Path(folder)) as files:
        inside = inside or encoder.tuned
        origin = encoder.origin
        entry = SavedEncoder(origin.name, files.sha256, inside, encoder.tuned, encoder.scale)
        yield entry, files if inside else None

"""What a network stands on: texts in; for each word a vector, and where it stands in its text.

:class:`~adasent.text.encoder.TextEncoder` is the implementation for word vectors of a table,
:class:`~adasent.encoders.transformer.TransformerEncoder` the one whose words know their texts.
Whoever classifies or explains asks for rows and climbs over them, and does not know which it has.
The one question it may ask is :attr:`WordEncoder.contextual`: whether a word would have had another
vector in another text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from adasent.text.passage import Passage
from adasent.text.rows import Floats, Ints, WordRows
from adasent.text.tokenize import Tokenizer
from adasent.text.vocabulary import Vocabulary


class WordEncoder(Protocol):
    """Makes word vectors of texts.

    Attributes
    ----------
    tokenizer, max_words
        What makes words of a text, and where longer ones are cut: the words of pyramid and
        explanations, whatever pieces are read below them.
    vocabulary
        Words of the network's own table: the specials alone where the vectors are not from there.
    """

    tokenizer: Tokenizer
    max_words: int
    vocabulary: Vocabulary

    @property
    def contextual(self) -> bool:
        """Whether the vector of a word depends on the words around it.

        Where it does not, a part of a text has the vectors that it has in the text, and its pyramid
        is a part of the text's. Where it does, a part of a text must be read again.
        """

    @property
    def n_words(self) -> int:
        """Entries that texts are read by: words, or word pieces."""

    def stream(self, texts: Sequence[str]) -> Iterator[WordRows]:
        """Texts in order, in parts that fit into memory; what is odd in them is warned of once."""

    def rows(self, passages: Sequence[Passage]) -> WordRows:
        """Texts that were tokenised before, all at once, without a warning."""

    def place(self, device: str) -> None:
        """Compute on a device: ``cpu``, ``cuda``, ``cuda:1``."""


@dataclass(frozen=True)
class Features:
    """Vectors of words, one after another, as a table."""

    vectors: Floats  # (n, d)

    def __len__(self) -> int:
        return len(self.vectors)

    def rows(self, ids: Ints) -> Floats:
        """(n, d) vectors of some rows."""
        found: Floats = self.vectors[ids]
        return found

"""A text with its words, where each stands in it, and texts of some of them alone.

What makes word vectors of texts (:mod:`adasent.encoders.protocol`) is given passages: a table looks
at their tokens alone, an encoder at the text around them too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from adasent.text.encoder import cut
from adasent.text.offsets import Offsets, token_offsets
from adasent.text.tokenize import Tokenizer, run_tokenizer, words


class Passage:
    """A text of T tokens.

    Parameters
    ----------
    tokens
        The first T that ``tokenizer`` gives for ``text``.
    """

    def __init__(self, text: str, tokens: Sequence[str], tokenizer: Tokenizer = words) -> None:
        self.text = text
        self.tokens = tokens
        self._tokenizer = tokenizer

    def __len__(self) -> int:
        """Words as a network reads them: a text without any is one unknown word."""
        return max(1, len(self.tokens))

    def __repr__(self) -> str:
        return f"Passage({self.text!r}, {len(self.tokens)} words)"

    @cached_property
    def offsets(self) -> Offsets:
        """Where each token stands in the text: its first character and the one after its last."""
        return token_offsets(self.text, self.tokens, self._tokenizer)

    def take(self, positions: Sequence[int]) -> Passage:
        """A text of these words alone, in this order.

        Words that followed each other keep what stood between them; between words that did not,
        there is a space. No word is made of two halves by that, and none is cut.
        """
        return _Part(self, positions)


class _Part(Passage):
    """Some words of a text; who looks at tokens alone does not wait for its characters."""

    def __init__(self, whole: Passage, positions: Sequence[int]) -> None:
        self.tokens = [whole.tokens[i] for i in positions]
        self._whole, self._positions = whole, positions

    @cached_property
    def text(self) -> str:  # type: ignore[override]
        """The words, and what stands between them."""
        return self._joined[0]

    @cached_property
    def offsets(self) -> Offsets:
        """Of each word in that."""
        return self._joined[1]

    @cached_property
    def _joined(self) -> tuple[str, Offsets]:
        whole, parts, offsets = self._whole, [], []
        length, before = 0, None
        for i in self._positions:
            start, end = whole.offsets[i]
            if before is not None:
                gap = whole.text[whole.offsets[before][1] : start] if i == before + 1 else " "
                parts.append(gap)
                length += len(gap)
            parts.append(whole.text[start:end])
            offsets.append((length, length + end - start))
            length += end - start
            before = i
        return "".join(parts), tuple(offsets)


#: A text without a word.
EMPTY = Passage("", ())


def read_passages(texts: Sequence[str], tokenizer: Tokenizer, max_words: int) -> list[Passage]:
    """Texts with their first ``max_words`` tokens; one counted warning for what was unusual."""
    tokenised = cut([run_tokenizer(tokenizer, text) for text in texts], max_words, stacklevel=4)
    return [Passage(text, row, tokenizer) for text, row in zip(texts, tokenised, strict=True)]

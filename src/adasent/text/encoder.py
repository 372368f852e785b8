"""Texts -> ids: the checks on what a user passes in, the tokenizer and the vocabulary, together."""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from adasent.errors import AdaSentWarning, DataError
from adasent.text.rows import WordRows
from adasent.text.tokenize import REMEMBERED, Tokenizer, run_tokenizer, split_chunk, words
from adasent.text.vocabulary import UNK_ID, Vocabulary

if TYPE_CHECKING:
    from adasent.text.passage import Passage


def check_texts(texts: Any) -> list[str]:
    """A list of strings from a list, tuple, array or Series of strings.

    Raises
    ------
    DataError
        For a single string, for anything with more than one column, and for a member that is
        not a string (None and NaN among them), naming its position.
    """
    if isinstance(texts, str | bytes):
        raise DataError(
            f"expected a list of texts, got a single {type(texts).__name__}; "
            "wrap it in a list: [text]"
        )
    if getattr(texts, "ndim", 1) != 1:
        raise DataError(
            f"expected one column of texts, got an array of shape {texts.shape}; "
            "pass a list of strings or one column of the table"
        )
    if not isinstance(texts, Iterable):
        raise DataError(f"expected a list of texts, got {type(texts).__name__}")
    checked = list(texts)
    wrong = [i for i, text in enumerate(checked) if not isinstance(text, str)]
    if wrong:
        first = checked[wrong[0]]
        raise DataError(
            f"expected strings, got {reprlib.repr(first)} ({type(first).__name__}) "
            f"at position {wrong[0]}"
            f"{f' and {len(wrong) - 1} more' if len(wrong) > 1 else ''}; "
            "drop these rows or fill them with a text"
        )
    # numpy's own string type is a subclass of str; make it plain.
    return [str(text) for text in checked]


class TextEncoder:
    """Tokenise, cut at ``max_words`` and look up ids.

    A text without any token becomes one unknown word. Both cases are counted and warned of once
    a call: nothing is lost silently.

    With the word table of a network, this is the first of the word encoders
    (:class:`adasent.encoders.protocol.WordEncoder`): a word has one vector, whatever its text.
    """

    contextual: ClassVar[bool] = False

    def __init__(self, tokenizer: Tokenizer, vocabulary: Vocabulary, max_words: int) -> None:
        self.tokenizer = tokenizer
        self.vocabulary = vocabulary
        self.max_words = max_words
        self._chunks = _Chunks(vocabulary)

    def __call__(self, texts: Sequence[str]) -> list[np.ndarray]:
        """(T,) ids for each text, never empty."""
        if self.tokenizer is words:
            return self._by_chunk(texts)
        tokenised = tokenise(texts, self.tokenizer, self.max_words)
        return [self.vocabulary.encode(tokens) for tokens in tokenised]

    @property
    def n_words(self) -> int:
        """Words that have a vector of their own, and the specials."""
        return len(self.vocabulary)

    def stream(self, texts: Sequence[str]) -> Iterator[WordRows]:
        """Rows of the network's own table, of all texts at once."""
        yield WordRows(self(texts), None)

    def rows(self, passages: Sequence[Passage]) -> WordRows:
        """The same of texts that were tokenised before."""
        return WordRows([self.vocabulary.encode(one.tokens) for one in passages], None)

    def place(self, device: str) -> None:
        """Nothing is computed here."""

    def _by_chunk(self, texts: Sequence[str]) -> list[np.ndarray]:
        """The same where each piece between white space is tokenised by itself."""
        ids_of = self._chunks.__getitem__
        ids: list[int] = []
        ends, long, empty = [], 0, 0
        for text in texts:
            own = list(chain.from_iterable(map(ids_of, text.split())))
            if len(own) > self.max_words:
                long += 1
                del own[self.max_words :]
            elif not own:
                empty += 1
                own = [UNK_ID]
            ids += own
            ends.append(len(ids))
        _warn(len(texts), long, empty, self.max_words)
        every = np.array(ids, dtype=np.int64)
        return [every[first:end] for first, end in pairwise([0, *ends])]


class _Chunks(dict[str, tuple[int, ...]]):
    """Ids of pieces of text without white space that were met before."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self.vocabulary = vocabulary

    def __missing__(self, chunk: str) -> tuple[int, ...]:
        ids = tuple(map(self.vocabulary.id_of, split_chunk(chunk)))
        if len(chunk) <= REMEMBERED:
            if len(self) >= _MAX_CHUNKS:
                self.clear()
            self[chunk] = ids
        return ids

    def __reduce__(self) -> tuple[Any, ...]:
        return _Chunks, (self.vocabulary,)


_MAX_CHUNKS = 2**16


def tokenise(texts: Sequence[str], tokenizer: Tokenizer, max_words: int) -> list[list[str]]:
    """Tokens of each text, at most ``max_words``, with one counted warning for what was unusual."""
    return cut([run_tokenizer(tokenizer, text) for text in texts], max_words, stacklevel=4)


def cut(tokenised: list[list[str]], max_words: int, *, stacklevel: int = 3) -> list[list[str]]:
    """The second half of :func:`tokenise`, for tokens that are there already."""
    long = sum(len(tokens) > max_words for tokens in tokenised)
    empty = sum(not tokens for tokens in tokenised)
    _warn(len(tokenised), long, empty, max_words, stacklevel + 1)
    # What is short enough is not copied: of a million texts that would be hundreds of megabytes.
    return [tokens if len(tokens) <= max_words else tokens[:max_words] for tokens in tokenised]


def _warn(n_texts: int, long: int, empty: int, max_words: int, stacklevel: int = 4) -> None:
    notes = []
    if long:
        notes.append(f"{long} longer than max_words={max_words}, cut there")
    if empty:
        notes.append(f"{empty} without a word, read as one unknown word")
    if notes:
        given = "1 text" if n_texts == 1 else f"{n_texts} texts"
        warnings.warn(f"of {given}: {'; '.join(notes)}", AdaSentWarning, stacklevel=stacklevel)

"""Files of any text -> clean, distinct sentences that are none of the labelled texts.

One sentence at a time, in constant memory but for eight bytes of digest and what Python adds to
keep them in a set. Whatever is dropped is counted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path

from adasent.data import stream_texts
from adasent.text.halves import readable
from adasent.text.tokenize import Tokenizer, run_tokenizer

#: Where a sentence may end: marks, closing quotes or brackets, space, and the start of another.
_END = re.compile(r"[.!?…]+[\"'”’)\]]*(\s+)(?=[\"'“‘(\[]?[A-Z0-9])")
#: What stands before a full stop that ends no sentence.
_SHORTENED = re.compile(r"(?:\b(?:[A-Z]|Mr|Mrs|Ms|Dr|St|Jr|Sr|No|vs|etc|e\.g|i\.e))\.$")
#: Control characters, NUL among them; a byte order mark inside of a text.
_CONTROL = dict.fromkeys([*range(32), *range(127, 160), 0xFEFF], " ")


@dataclass
class Counts:
    """What became of the sentences that were read, each counted once."""

    read: int = 0
    empty: int = 0  # without a word
    long: int = 0  # of more words than were asked for
    held_back: int = 0  # equal to a held-back text
    labelled: int = 0  # equal to a labelled text: what it is called is known
    repeated: int = 0
    kept: int = 0

    def to_dict(self) -> dict[str, int]:
        """Everything as JSON values."""
        return asdict(self)


class Sieve:
    """Lets each sentence through once, if it is none of the labelled texts.

    Sentences are equal if their words are: the tokens that hold a letter or a digit. A full stop
    more or less, capitals and white space make no other sentence.

    Parameters
    ----------
    tokenizer
        That of the student.
    held_back, labelled
        Texts that must not pass. One that is in both counts as held back.
    max_words
        Longer sentences are dropped; None drops none.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        *,
        held_back: Iterable[str] = (),
        labelled: Iterable[str] = (),
        max_words: int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        self.max_words = max_words
        self.counts = Counts()
        self._held_back = {key_of(run_tokenizer(tokenizer, text)) for text in held_back}
        self._labelled = {key_of(run_tokenizer(tokenizer, text)) for text in labelled}
        self._seen: set[int] = set()

    def __call__(self, texts: Iterable[str]) -> Iterator[str]:
        """The texts that pass, cleaned, as they come."""
        counts = self.counts
        for text in texts:
            text = clean(text)
            tokens = run_tokenizer(self.tokenizer, text)
            counts.read += 1
            key = key_of(tokens)
            if not tokens:
                counts.empty += 1
            elif self.max_words is not None and len(tokens) > self.max_words:
                counts.long += 1
            elif key in self._held_back:
                counts.held_back += 1
            elif key in self._labelled:
                counts.labelled += 1
            elif key in self._seen:
                counts.repeated += 1
            else:
                self._seen.add(key)
                counts.kept += 1
                yield text


def read_texts(
    files: Iterable[str | os.PathLike[str]], *, text: str | None = None, encoding: str = "utf-8"
) -> Iterator[str]:
    """Texts of files, one at a time, in the order of the files.

    Parameters
    ----------
    files, text, encoding
        As for :func:`adasent.data.stream_texts`.
    """
    for file in files:
        for _, line in stream_texts(Path(file), text=text, encoding=encoding):
            yield line


def split_long(texts: Iterable[str], *, tokenizer: Tokenizer, max_words: int) -> Iterator[str]:
    """Texts, those of more than ``max_words`` taken apart into their sentences.

    A file with a paragraph a line then resembles texts that are sentences, and texts of several
    sentences stay whole where the others are such too.
    """
    for text in texts:
        if len(run_tokenizer(tokenizer, text)) <= max_words:
            yield text
        else:
            yield from split_sentences(text)


def split_sentences(text: str) -> list[str]:
    """The sentences of a paragraph, by their marks: a rule, which errs at rare abbreviations."""
    found, start = [], 0
    for end in _END.finditer(text):
        sentence = text[start : end.start(1)]
        if not _SHORTENED.search(sentence):
            found.append(sentence)
            start = end.end()
    return [*found, text[start:]]


def clean(text: str) -> str:
    """Without control characters, halves of characters and needless white space."""
    # Tokenizers of other libraries take valid Unicode only.
    return " ".join(readable(text).translate(_CONTROL).split())


def key_of(tokens: Sequence[str]) -> int:
    """64 bits that stand for the words; of a text without any, for its marks.

    Of a million sentences two that differ get the same key once in thirty million tries; then one
    of them is lost.
    """
    words = [token for token in tokens if any(map(str.isalnum, token))] or tokens
    body = "\n".join(words).encode("utf-8", "surrogatepass")  # no token has a line end in it
    return int.from_bytes(blake2b(body, digest_size=8).digest())

"""Words to ids and back; the only place that knows of padding and unknown words.

Id 0 is padding and id 1 stands for every unknown word; both are outside the reach of user text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from adasent.errors import ConfigError, DataError, ModelFormatError

PAD_ID = 0
UNK_ID = 1
SPECIALS = ("<pad>", "<unk>")


class Vocabulary:
    """An immutable numbering of words: the specials, the training words, then further words.

    A user's token that is spelt like a special is an unknown word: it is never given an id of its
    own and never becomes padding.

    Parameters
    ----------
    words
        Distinct words in order of id, without the specials.
    n_training
        How many leading rows, specials included, were seen in training. None: all of them.
    """

    __slots__ = ("_ids", "_n_training", "_words")

    def __init__(self, words: Iterable[str], *, n_training: int | None = None) -> None:
        self._words = (*SPECIALS, *words)
        self._ids = {word: id_ for id_, word in enumerate(self._words)}
        if len(self._ids) != len(self._words):
            repeated = next(word for word, n in Counter(self._words).items() if n > 1)
            raise DataError(
                f"vocabulary: expected distinct words without {' and '.join(SPECIALS)}, "
                f"got {repeated!r} again; drop the repeats"
            )
        for special in SPECIALS:
            self._ids[special] = UNK_ID
        self._n_training = len(self._words) if n_training is None else n_training
        if not len(SPECIALS) <= self._n_training <= len(self._words):
            raise DataError(
                f"vocabulary: expected n_training from {len(SPECIALS)} to {len(self._words)}, "
                f"got {n_training}"
            )

    @classmethod
    def build(
        cls,
        tokenised: Iterable[Sequence[str]],
        *,
        min_count: int = 1,
        extra: Iterable[str] = (),
    ) -> Vocabulary:
        """Number the words of tokenised texts by descending count, ties alphabetically.

        Words rarer than ``min_count`` are left out and encode as unknown. ``extra`` words follow in
        their order, repeats skipped; among them may be training words that are too rare.
        """
        if min_count < 1:
            raise ConfigError(f"min_count: expected 1 or more, got {min_count}")
        counts = Counter(token for tokens in tokenised for token in tokens)
        for special in SPECIALS:
            counts.pop(special, None)
        frequent = ((word, n) for word, n in counts.items() if n >= min_count)
        words = [word for word, _ in sorted(frequent, key=lambda item: (-item[1], item[0]))]
        n_training = len(SPECIALS) + len(words)
        taken = {*SPECIALS, *words}
        further = [word for word in dict.fromkeys(extra) if word not in taken]
        return cls(words + further, n_training=n_training)

    @property
    def words(self) -> tuple[str, ...]:
        """Every word in order of id, the specials first."""
        return self._words

    @property
    def n_training(self) -> int:
        """Number of leading ids seen in training: the specials and the training words."""
        return self._n_training

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        """Whether a token of user text has an id of its own."""
        return self._ids.get(word, UNK_ID) != UNK_ID  # type: ignore[call-overload,no-any-return]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Vocabulary):
            return NotImplemented
        return self._words == other._words and self._n_training == other._n_training

    def __hash__(self) -> int:
        return hash((self._words, self._n_training))

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} words, {self._n_training} seen in training)"

    def id_of(self, token: str) -> int:
        """The id of a token."""
        return self._ids.get(token, UNK_ID)

    def encode(self, tokens: Sequence[str]) -> NDArray[np.int64]:
        """The ids of some tokens, shape (T,); a text without tokens is one unknown word."""
        ids = self._ids
        return np.array([ids.get(token, UNK_ID) for token in tokens] or [UNK_ID], dtype=np.int64)

    def to_list(self) -> list[str]:
        """The words in order of id, specials included, for JSON."""
        return list(self._words)

    @classmethod
    def from_list(cls, words: Any, *, n_training: int | None = None) -> Vocabulary:
        """Rebuild a vocabulary from what `to_list` gave, out of JSON; refuse anything else."""
        if not isinstance(words, list):
            raise ModelFormatError(
                f"vocabulary: expected a list of words, got {type(words).__name__}"
            )
        for id_, word in enumerate(words):
            if not isinstance(word, str):
                kind = type(word).__name__
                raise ModelFormatError(f"vocabulary: expected strings only, got {kind} at {id_}")
        if tuple(words[: len(SPECIALS)]) != SPECIALS:
            raise ModelFormatError(
                f"vocabulary: expected {SPECIALS} first, got {tuple(words[: len(SPECIALS)])}"
            )
        if n_training is not None and type(n_training) is not int:
            raise ModelFormatError(
                f"vocabulary: expected n_training as an integer, got {type(n_training).__name__}"
            )
        try:
            return cls(words[len(SPECIALS) :], n_training=n_training)
        except DataError as error:
            raise ModelFormatError(str(error)) from error

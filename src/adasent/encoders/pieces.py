"""Passages -> windows of word pieces that an encoder can read, and which pieces make which word.

A tokenizer of an encoder has its own idea of a word. Both it and ours know which characters of the
text they mean, so a piece belongs to every word that it shares a character with. Nothing else is
asked of it: "don't" may be `don ' t` for the encoder and `do n't` for the pyramid.

Every word has at least one piece. One of which the tokenizer makes nothing (a NUL byte, say) is
read as the encoder's unknown piece, in its place; a text without words is the mean of all that is
read of it, the encoder's own marks included. A text of more pieces than the encoder has room for is
read in windows that begin and end between words; of a single word that is longer, the first pieces.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from adasent.errors import ConfigError
from adasent.text.halves import readable
from adasent.text.passage import Passage
from adasent.text.rows import Ints

#: Part of the identity of features: it goes up when pieces are assigned to words in another way.
VERSION = 1

#: Room of an encoder that does not say.
_DEFAULT_ROOM = 512


class Window(NamedTuple):
    """Consecutive words of a text, read together."""

    pieces: Ints  # (P,) ids of the encoder, its marks included
    members: Ints  # (M,) pieces of each word, word after word, by their place in the window
    counts: Ints  # (n,) how many of them each word has, at least 1


class Reading(NamedTuple):
    """A passage as the encoder reads it."""

    windows: list[Window]
    n_unread: int  # words of which its tokenizer makes nothing
    n_cut: int  # words that are longer than a window


@dataclass(frozen=True)
class Marks:
    """What an encoder wants around the pieces of a window, and how much it can read."""

    before: tuple[int, ...]
    after: tuple[int, ...]
    unknown: int  # the piece that stands for what cannot be read
    limit: int  # pieces of a window with its marks, at most

    @property
    def room(self) -> int:
        """Pieces of a window without its marks, at most."""
        return self.limit - len(self.before) - len(self.after)


class PieceReader:
    """Reads passages with the tokenizer of an encoder.

    Parameters
    ----------
    tokenizer
        A ``tokenizers.Tokenizer``. Its own truncation and padding are switched off.
    """

    def __init__(self, tokenizer: Any, marks: Marks) -> None:
        tokenizer.no_truncation()
        tokenizer.no_padding()
        if marks.room < 1:
            raise ConfigError(
                f"expected an encoder that reads at least one word piece, got one of "
                f"{marks.limit} pieces with its marks; take another encoder"
            )
        self._tokenizer = tokenizer
        self.marks = marks

    @classmethod
    def of(cls, tokenizer: Any, n_positions: int | None) -> PieceReader:
        """Of a fast tokenizer of transformers and the positions that the network knows."""
        backend = getattr(tokenizer, "backend_tokenizer", None)
        if backend is None:
            raise ConfigError(
                f"expected an encoder with a fast tokenizer (tokenizer.json), got "
                f"{type(tokenizer).__name__}; take another encoder"
            )
        backend.no_truncation()
        backend.no_padding()
        sample = backend.encode("a")
        marked = np.array(sample.special_tokens_mask, dtype=bool)
        first, stop = _inside(marked)
        choices = ("unk_token_id", "mask_token_id", "eos_token_id", "pad_token_id")
        known = [getattr(tokenizer, name, None) for name in choices]
        unknown = next((id_ for id_ in known if id_ is not None), sample.ids[first])
        limits = [tokenizer.model_max_length, n_positions or _DEFAULT_ROOM]
        marks = Marks(
            tuple(sample.ids[:first]), tuple(sample.ids[stop:]), int(unknown), int(min(limits))
        )
        return cls(backend, marks)

    @property
    def n_pieces(self) -> int:
        """Pieces that the tokenizer knows."""
        return int(self._tokenizer.get_vocab_size())

    def __call__(self, passages: Sequence[Passage]) -> Iterator[Reading]:
        """Each passage in windows; the words of these are its words in order."""
        # The tokenizer is written in Rust and takes valid Unicode only.
        texts = [readable(one.text) for one in passages]
        encoded = self._tokenizer.encode_batch(texts, add_special_tokens=False)
        for passage, one in zip(passages, encoded, strict=True):
            ids = np.array(one.ids, dtype=np.int64)
            if not passage.tokens:
                yield Reading([self._whole(ids)], 0, 0)
                continue
            spans = np.array(one.offsets, dtype=np.int64).reshape(-1, 2)
            offsets = np.array(passage.offsets, dtype=np.int64)
            yield self._windows(*_assign(ids, spans, offsets, self.marks.unknown))

    def _whole(self, ids: Ints) -> Window:
        """A text without words: one row, for which everything counts."""
        pieces = self._marked(ids[: self.marks.room])
        return Window(pieces, np.arange(len(pieces)), np.array([len(pieces)]))

    def _windows(self, ids: Ints, members: Ints, counts: Ints, n_unread: int) -> Reading:
        """Windows of about the same size, as few as words allow."""
        room = self.marks.room
        stops = np.cumsum(counts)
        firsts = members[stops - counts]  # of each word: its first piece,
        lasts = members[stops - 1]  # and its last
        windows = []
        word = n_cut = 0
        while word < len(counts):
            begin = 0 if word == 0 else int(firsts[word])
            # What stands between two words goes with the one before.
            ends = np.append(np.maximum(firsts[1:], lasts[:-1] + 1), len(ids))[word:] - begin
            left = len(ids) - begin
            size = -(-left // -(-left // room))  # of as many windows as are needed at least
            fitting = int(np.searchsorted(ends, room, side="right"))
            wanted = int(np.searchsorted(ends, size, side="left")) + 1
            stop = word + max(1, min(fitting, wanted))
            part = ids[begin : begin + min(int(ends[stop - word - 1]), room)]
            own = members[stops[word] - counts[word] : stops[stop - 1]] - begin
            n_own = counts[word:stop]
            if own[-1] >= len(part):  # a single word, longer than a window, or marks before it
                n_cut += 1
                begin, part, own, n_own = _shorten(ids, own + begin, room)
            windows.append(Window(self._marked(part), own + len(self.marks.before), n_own))
            word = stop
        return Reading(windows, n_unread, n_cut)

    def _marked(self, ids: Ints) -> Ints:
        return np.concatenate([self.marks.before, ids, self.marks.after]).astype(np.int64)


def _inside(marked: np.ndarray) -> tuple[int, int]:
    """Where what is not a mark begins and ends."""
    inside = np.flatnonzero(~marked)
    if not len(inside):
        raise ConfigError("expected a tokenizer that reads the letter a, got nothing of it")
    return int(inside[0]), int(inside[-1]) + 1


def _assign(ids: Ints, spans: Ints, offsets: Ints, unknown: int) -> tuple[Ints, Ints, Ints, int]:
    """Which pieces each word shares a character with.

    Parameters
    ----------
    spans
        (P, 2) characters of each piece.
    offsets
        (T, 2) characters of each word, in order and apart.

    Returns
    -------
    ids, members, counts, n_unread
        Pieces, with an unknown one in the place of each word that had none; the pieces of each
        word, word after word; and how many they are.
    """
    starts, stops = offsets.T
    first = np.searchsorted(stops, spans[:, 0], side="right")  # the first word that ends after it
    after = np.searchsorted(starts, spans[:, 1], side="left")  # the first that begins after it
    n_words = np.where(spans[:, 1] > spans[:, 0], np.maximum(after - first, 0), 0)
    pieces = np.repeat(np.arange(len(ids)), n_words)
    within = np.arange(len(pieces)) - np.repeat(np.cumsum(n_words) - n_words, n_words)
    words = np.repeat(first, n_words) + within
    counts = np.bincount(words, minlength=len(offsets))
    unread = np.flatnonzero(counts == 0)
    if len(unread):
        places = np.searchsorted(spans[:, 0], starts[unread], side="left")
        ids = np.insert(ids, places, unknown)
        moved = np.arange(len(spans)) + np.searchsorted(places, np.arange(len(spans)), "right")
        pieces = np.concatenate([moved[pieces], places + np.arange(len(places))])
        words = np.concatenate([words, unread])
        counts[unread] = 1
    order = np.lexsort((pieces, words))
    return ids, pieces[order], counts, len(unread)


def _shorten(ids: Ints, members: Ints, room: int) -> tuple[int, Ints, Ints, Ints]:
    """The first pieces of a single word alone: where they begin, they, and which are its."""
    begin = int(members[0])
    kept = members[members < begin + room] - begin
    return begin, ids[begin : begin + room], kept, np.array([len(kept)])

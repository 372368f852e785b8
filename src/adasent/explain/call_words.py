"""What a model makes of parts of a text: of any of its words, of each alone, of its two ends.

Where the vector of a word is the same in every text, a part is made of the vectors that are there;
a word alone is a unit of the first level, and the beginnings and endings of a text are parts of its
pyramid (:class:`InPyramid`). Where the words around it have a say in it, nothing of that holds:
every part is read again and has a pyramid of its own (:class:`ReadAgain`), which is right for any
model and takes a text for each. :func:`words_of` takes one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from adasent.encoders.protocol import WordEncoder
from adasent.explain.orders import added
from adasent.explain.shapley import Masks, Worth
from adasent.pyramid.layout import Layout
from adasent.runtime.arrays import Doubles, Ints
from adasent.runtime.climb import Pyramids
from adasent.runtime.network import Network, Words
from adasent.text.passage import EMPTY, Passage


class CallWords(Protocol):
    """The words of all texts of a call, and what is made of parts of these texts.

    Attributes
    ----------
    words
        Distinct words, also those that stand alone.
    which, lone
        (n,) which of them each word of the texts is, text after text, and which it is alone.
    empty
        Which of them stands for a text without a word.
    """

    words: Words
    which: Ints
    lone: Ints
    empty: int

    def added(self, pyramids: Pyramids, layout: Layout, first: int, base: Doubles) -> Doubles:
        """What the words of a batch add to the words before them, and to those after them.

        Parameters
        ----------
        first, base
            Which text of the call the batch begins with, and (C,) probabilities of no word.

        Returns
        -------
        (2, n_words, C), text after text.
        """

    def worth(self, text: int) -> Worth:
        """What parts of a text of the call are worth; see :mod:`adasent.explain.shapley`."""


def words_of(network: Network, encoder: WordEncoder, passages: Sequence[Passage]) -> CallWords:
    """The words of a call, whose texts are in the order of its batches."""
    kind = ReadAgain if encoder.contextual else InPyramid
    return kind(network, encoder, passages)


class InPyramid:
    """Of words that have one vector each; see :class:`CallWords`."""

    def __init__(self, network: Network, encoder: WordEncoder, passages: Sequence[Passage]) -> None:
        self._rows = rows = encoder.rows([*passages, EMPTY])
        self._network = network.on(rows.table)
        self.words = self._network.words(np.concatenate(rows.ids))
        self.which = self.lone = self.words.which[:-1]
        self.empty = int(self.words.which[-1])

    def added(self, pyramids: Pyramids, layout: Layout, first: int, base: Doubles) -> Doubles:
        """From the units that are there."""
        maximum = self._network.composition.maximum
        return added(pyramids, layout, self._network.head, base, maximum=maximum)

    def worth(self, text: int) -> Worth:
        """Their words are those of the text."""
        *texts, empty = self._rows.ids

        def ask(masks: Masks) -> Doubles:
            parts = [texts[text][mask] if mask.any() else empty for mask in masks]
            return self._network.probabilities(parts)

        return ask


class ReadAgain:
    """Of words that know their text; see :class:`CallWords`."""

    def __init__(self, network: Network, encoder: WordEncoder, passages: Sequence[Passage]) -> None:
        self._network, self._encoder, self._passages = network, encoder, passages
        # A word alone is read once, however often it comes; a text without words is one word.
        alone: dict[tuple[str, ...], Passage] = {}
        keys = []
        for passage in passages:
            for part in [passage.take([i]) for i in range(len(passage.tokens))] or [EMPTY]:
                keys.append((part.text, *part.tokens))
                alone.setdefault(keys[-1], part)
        rows = encoder.rows([*passages, *alone.values(), EMPTY])
        self.words = network.on(rows.table).words(np.concatenate(rows.ids))
        self.which = self.words.which[: len(keys)]
        place = {key: len(keys) + i for i, key in enumerate(alone)}
        self.lone = self.words.which[[place[key] for key in keys]]
        self.empty = int(self.words.which[-1])

    def added(self, pyramids: Pyramids, layout: Layout, first: int, base: Doubles) -> Doubles:
        """Every beginning and ending is a text of its own."""
        found = []
        for text, n in enumerate(layout.lengths.tolist(), start=first):
            beginnings = np.tri(n, dtype=bool)
            worth = self.worth(text)(np.concatenate([beginnings, beginnings[:, ::-1]]))
            parts = worth.reshape(2, n, -1)
            gains = np.diff(parts, axis=1, prepend=np.broadcast_to(base, parts[:, :1].shape))
            found.append(np.stack([gains[0], gains[1, ::-1]]))
        return np.concatenate(found, axis=1)

    def worth(self, text: int) -> Worth:
        """Texts of their own."""
        passage = self._passages[text]

        def ask(masks: Masks) -> Doubles:
            there = masks & bool(passage.tokens)  # a text without words has none to leave out
            parts = [passage.take(np.flatnonzero(mask).tolist()) for mask in there]
            whole = [part if part.tokens else EMPTY for part in parts]
            return self._network.classify(self._encoder.rows(whole))

        return ask

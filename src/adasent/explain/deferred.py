"""What an explanation finds only when it is asked: for all texts of its batch, once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise, starmap
from typing import NamedTuple

from adasent.explain.attribution import Attribution, Attributor
from adasent.explain.offsets import Offsets, token_offsets
from adasent.explain.phrases import ranked_phrases
from adasent.runtime.arrays import Doubles, Ints
from adasent.text.tokenize import Tokenizer


class DeferredBatch:
    """The ranked phrases of a batch, and what each of its units says alone.

    Most explanations are read for their words and levels. A unit's vote takes the unit, which is
    composed again: kept, the units would be ten times the rest of an explanation.

    Parameters
    ----------
    found, which
        The batch, and which of the distinct words its words are, text after text.
    tokenizer
        What made words of the texts.

    Attributes
    ----------
    words, units
        For each text, which of the words and units of the batch are its.
    """

    def __init__(
        self, attributor: Attributor, found: Attribution, which: Ints, tokenizer: Tokenizer
    ) -> None:
        self._attributor = attributor
        self.tokenizer = tokenizer
        self._which = which
        self.found = found
        self.words = list(starmap(slice, pairwise(found.places.first_word.tolist())))
        self.units = list(starmap(slice, pairwise(found.places.first_unit.tolist())))

    @cached_property
    def phrases(self) -> list[tuple[Ints, Doubles]]:
        """Bounds and scores of each text's phrases; see :func:`ranked_phrases`."""
        return ranked_phrases(self.found, self._attributor.cells)

    @cached_property
    def votes(self) -> Doubles:
        """(C, n_cells) probabilities of the classes by each unit alone."""
        return self._attributor.unit_votes(self.found.places, self._which)


class Deferred(NamedTuple):
    """One text of a :class:`DeferredBatch`; see :class:`~adasent.explain.explanation.Rest`."""

    batch: DeferredBatch
    row: int
    text: str
    tokens: Sequence[str]

    @property
    def offsets(self) -> Offsets:
        """Of each token."""
        return token_offsets(self.text, self.tokens, self.batch.tokenizer) or ((0, 0),)

    @property
    def votes(self) -> Doubles:
        """(units, C)."""
        return self.batch.votes[:, self.batch.units[self.row]].T

    @property
    def bounds(self) -> Ints:
        """(P, 3)."""
        return self.batch.phrases[self.row][0]

    @property
    def scores(self) -> Doubles:
        """(P, C)."""
        return self.batch.phrases[self.row][1]

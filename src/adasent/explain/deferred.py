"""What an explanation finds only when it is asked: for all texts of its batch, once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from adasent.explain.attribution import Attribution, Attributor
from adasent.explain.phrases import ranked_phrases
from adasent.runtime.arrays import Doubles, Ints


class DeferredBatch:
    """The ranked phrases of a batch, and what each of its units says alone.

    Most explanations are read for their words and levels. A unit's vote takes the unit, which is
    composed again: kept, the units would be ten times the rest of an explanation.

    Parameters
    ----------
    found, which
        The batch, and which of the distinct words its words are, text after text.
    """

    def __init__(self, attributor: Attributor, found: Attribution, which: Ints) -> None:
        self._attributor = attributor
        self._which = which
        self.found = found

    @cached_property
    def phrases(self) -> list[tuple[Ints, Doubles]]:
        """Bounds and scores of each text's phrases; see :func:`ranked_phrases`."""
        return ranked_phrases(self.found)

    @cached_property
    def votes(self) -> Doubles:
        """(C, n_cells) probabilities of the classes by each unit alone."""
        return self._attributor.unit_votes(self.found.places, self._which)


@dataclass(frozen=True)
class Deferred:
    """One text of a :class:`DeferredBatch`; see :class:`~adasent.explain.explanation.Rest`."""

    batch: DeferredBatch
    text: int

    @property
    def votes(self) -> Doubles:
        """(units, C)."""
        first, last = self.batch.found.places.first_unit[self.text : self.text + 2]
        return self.batch.votes[:, first:last].T

    @property
    def bounds(self) -> Ints:
        """(P, 3)."""
        return self.batch.phrases[self.text][0]

    @property
    def scores(self) -> Doubles:
        """(P, C)."""
        return self.batch.phrases[self.text][1]

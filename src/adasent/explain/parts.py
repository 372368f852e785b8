"""Parts of an explanation that are kept as arrays and made into objects when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from adasent.explain.offsets import Offsets
from adasent.runtime.arrays import Array, Ints


class ByLevel(Sequence[Array]):
    """Rows of a pyramid as one array, served level by level.

    Parameters
    ----------
    rows
        (n, ...) rows of all levels, level after level.
    n_units, n_levels
        Units of the first of the levels, each level after having one less; and how many levels.
    """

    __slots__ = ("n_levels", "n_units", "rows")

    def __init__(self, rows: Array, n_units: int, n_levels: int) -> None:
        self.rows = rows
        self.n_units, self.n_levels = n_units, n_levels

    def __len__(self) -> int:
        return self.n_levels if len(self.rows) else 0

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | list[Array]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        i = range(len(self))[index]
        first = i * self.n_units - i * (i - 1) // 2
        return self.rows[first : first + self.n_units - i]


class Phrase(NamedTuple):
    """Words that carried part of a decision.

    ``start`` and ``end`` are words, the end not included; ``text`` is how they stand in the text;
    ``level`` is that of the strongest of the units that are made of these words; ``score`` has a
    value for each class.
    """

    start: int
    end: int
    level: int
    text: str
    score: tuple[float, ...]


class Phrases(Sequence[Phrase]):
    """Phrases in the order of their rank. Like a tuple of them, but one is made when it is read.

    Parameters
    ----------
    bounds, scores
        (P, 3) first word, word after the last, and level; and (P, C).
    text, offsets
        The text, and where its words stand in it.
    """

    __slots__ = ("_bounds", "_offsets", "_scores", "_text")

    def __init__(self, bounds: Ints, scores: Array, text: str, offsets: Offsets) -> None:
        self._bounds = bounds
        self._scores = scores
        self._text = text
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self._bounds)

    @overload
    def __getitem__(self, index: int) -> Phrase: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Phrase, ...]: ...

    def __getitem__(self, index: int | slice) -> Phrase | tuple[Phrase, ...]:
        if isinstance(index, slice):
            return self._made(index)
        i = range(len(self))[index]
        return self._made(slice(i, i + 1))[0]

    def __iter__(self) -> Iterator[Phrase]:
        return iter(self._made(slice(None)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Phrases | tuple) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))

    def _made(self, which: slice) -> tuple[Phrase, ...]:
        text, offsets = self._text, self._offsets
        bounds, scores = self._bounds[which].tolist(), self._scores[which].tolist()
        found = [
            Phrase(start, end, level, text[offsets[start][0] : offsets[end - 1][1]], tuple(score))
            for (start, end, level), score in zip(bounds, scores, strict=True)
        ]
        return tuple(found)

"""Parts of an explanation that are kept as arrays and made into objects when they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

from adasent.explain.phrases import FoundPhrases
from adasent.runtime.arrays import Array
from adasent.text.offsets import Offsets


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
    """Words that act together, or one word.

    ``start`` and ``end`` are words, the end not included; ``text`` is how they stand in the text;
    ``score`` has for each class what they add, and ``interaction`` what of that they would not add
    one by one.
    """

    start: int
    end: int
    text: str
    score: tuple[float, ...]
    interaction: tuple[float, ...]


class Phrases(Sequence[Phrase]):
    """Like a tuple of phrases, but one is made when it is read; ``found`` has them as arrays."""

    __slots__ = ("_offsets", "_text", "found")

    def __init__(self, found: FoundPhrases, text: str, offsets: Offsets) -> None:
        self.found = found
        self._text = text
        self._offsets = offsets

    def __len__(self) -> int:
        return len(self.found.bounds)

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
        columns = (part[which].tolist() for part in self.found)
        return tuple(
            Phrase(start, end, text[offsets[start][0] : offsets[end - 1][1]], (*score,), (*more,))
            for (start, end), score, more in zip(*columns, strict=True)
        )

"""Texts -> more texts of the same kind, without any other source: shorter, cut and recombined.

Words are what stands between white space, so that what comes out can be read by any teacher.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from adasent.errors import ConfigError, DataError, nearest

#: Share of the words that :func:`drop_words` leaves out.
DROPPED = 0.15


def drop_words(texts: Sequence[list[str]], rng: np.random.Generator) -> list[str]:
    """A text without some of its words; one at least stays."""
    words = _any(texts, rng)
    kept = rng.random(len(words)) >= DROPPED
    kept[rng.integers(len(words))] = True
    return [word for word, stays in zip(words, kept.tolist(), strict=True) if stays]


def cut_span(texts: Sequence[list[str]], rng: np.random.Generator) -> list[str]:
    """Some words of a text that follow on one another, any number of them."""
    words = _any(texts, rng)
    return _span(words, int(rng.integers(1, len(words) + 1)), rng)


def join_parts(texts: Sequence[list[str]], rng: np.random.Generator) -> list[str]:
    """The beginning of one text and the end of another."""
    first, second = _any(texts, rng), _any(texts, rng)
    head = first[: int(rng.integers(1, len(first) + 1))]
    return head + second[int(rng.integers(len(second))) :]


#: How texts can be made of texts.
WAYS: dict[str, Callable[[Sequence[list[str]], np.random.Generator], list[str]]] = {
    "drop": drop_words,
    "span": cut_span,
    "join": join_parts,
}


def augment(texts: Sequence[str], ways: Sequence[str], *, seed: int) -> Iterator[str]:
    """Endlessly many texts, each made of the given ones in one of the ways, drawn by the seed.

    Parameters
    ----------
    ways
        Names of :data:`WAYS`; a repeated one is taken so much more often.
    """
    for way in ways:
        if way not in WAYS:
            raise ConfigError(f"unknown way to make texts {way!r}{nearest(way, WAYS)}")
    split = [words for text in texts if (words := text.split())]
    if not split or not ways:
        raise DataError("expected texts with words and a way to make more of them, got none")
    rng = np.random.default_rng(seed)
    while True:
        made = WAYS[ways[int(rng.integers(len(ways)))]](split, rng)
        yield " ".join(made)


def cut_phrases(
    sentences: Iterable[str], like: Sequence[str], *, longest: int, seed: int
) -> Iterator[str]:
    """A phrase of each sentence of more than ``longest`` words; the others as they are.

    A phrase is as many words long as one of the texts of ``like``, drawn by the seed.
    """
    lengths = np.array([len(text.split()) or 1 for text in like])
    rng = np.random.default_rng(seed)
    for sentence in sentences:
        words = sentence.split()
        if len(words) <= longest:
            yield sentence
        else:
            yield " ".join(_span(words, int(rng.choice(lengths)), rng))


def _any(texts: Sequence[list[str]], rng: np.random.Generator) -> list[str]:
    return texts[int(rng.integers(len(texts)))]


def _span(words: list[str], length: int, rng: np.random.Generator) -> list[str]:
    """Words in a row, from anywhere; all of them if there are no more."""
    start = int(rng.integers(max(1, len(words) - length + 1)))
    return words[start : start + length]

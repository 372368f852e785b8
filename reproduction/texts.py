"""Texts without labels for a teacher: sentences and phrases of the mirror's corpora, by kind.

- ``film``: sentences of film reviews; ``wiki``: of Wikipedia;
- ``phrases``: some words in a row of such sentences, as long as the phrases of MPQA are;
- ``negated``: a negator with some of the words around it, out of film reviews;
- ``questions``: sentences that end with a question mark;
- ``made``: pieces and recombinations of the training texts of a fold, and so another for each.

None of them equals a text of the five sets, whatever its case and marks; no label was used.
"""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path

import numpy as np

from adasent.errors import DataError
from adasent.teaching.augment import augment, cut_phrases
from adasent.teaching.sentences import Sieve, split_long
from adasent.text.tokenize import Tokenizer
from reproduction.phenomena import NEGATORS

#: Where film reviews and Wikipedia are, in the folder of texts of a data mirror.
CORPORA = {"film": "imdb-sentences-300k.txt.gz", "wiki": "enwiki-9M-words.txt.gz"}
#: Words of a sentence, at most.
LONGEST = 40
#: Ways in which texts are made of training texts, and tries for each that is wanted.
WAYS, TRIES = ("span", "join"), 5
#: The most words that a negated phrase has before and after its negator.
BEFORE, AFTER = 3, 5


def write_texts(
    folder: Path,
    sizes: dict[str, int],
    corpora: Path,
    labelled: Sequence[str],
    phrases: Sequence[str],
    tokenizer: Tokenizer,
) -> None:
    """Write so many texts of each kind, at most, a compressed file for each.

    Parameters
    ----------
    corpora
        The folder of :data:`CORPORA`.
    labelled
        Texts that none of them may equal.
    phrases
        As long as these.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for kind, n in sizes.items():
        sieve = Sieve(tokenizer, labelled=labelled, max_words=LONGEST)
        found = list(islice(sieve(_stream(kind, corpora, phrases, tokenizer)), n))
        with lzma.open(folder / f"{kind}.txt.xz", "wt", encoding="utf-8") as file:
            file.write("\n".join(found))


def _stream(
    kind: str, corpora: Path, phrases: Sequence[str], tokenizer: Tokenizer
) -> Iterator[str]:
    """Texts of a kind in the order of the corpora, equal ones and too long ones among them."""
    film = _lines(corpora / CORPORA["film"])
    wiki = split_long(_lines(corpora / CORPORA["wiki"]), tokenizer=tokenizer, max_words=LONGEST)
    if kind == "film":
        return film
    if kind == "wiki":
        return wiki
    if kind == "phrases":
        both = chain.from_iterable(zip(film, wiki, strict=False))
        return cut_phrases(both, phrases, longest=1, seed=0)
    if kind == "negated":
        return _negated(film)
    if kind == "questions":
        return (text for text in chain(film, wiki) if text.rstrip(" '\"`").endswith("?"))
    raise DataError(f"unknown kind of text {kind!r}; see reproduction/texts.py for those there are")


def _lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from (line.rstrip("\n") for line in file)


def _negated(sentences: Iterable[str]) -> Iterator[str]:
    """Of each sentence with a negator a phrase around the first."""
    rng = np.random.default_rng(0)
    for sentence in sentences:
        words = sentence.split()
        place = next((i for i, word in enumerate(words) if word in NEGATORS), None)
        if place is not None:
            first = max(0, place - int(rng.integers(BEFORE + 1)))
            yield " ".join(words[first : place + 1 + int(rng.integers(1, AFTER + 1))])


class Texts:
    """What :func:`write_texts` wrote; each kind is read once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._kept: dict[str, list[str]] = {}
        self._first: dict[tuple[str, int], list[str]] = {}  # one list for all folds that ask

    def read(self, kind: str) -> list[str]:
        """All texts of a kind."""
        if kind not in self._kept:
            path = self.folder / f"{kind}.txt.xz"
            if not path.is_file():
                raise DataError(
                    f"there are no texts for a teacher at {path}; make them first: "
                    "python -m reproduction.away pack-taught FOLDER --encoder DIR, then "
                    "python -m reproduction.away run FOLDER taught"
                )
            with lzma.open(path, "rt", encoding="utf-8", newline="\n") as file:
                self._kept[kind] = file.read().split("\n")
        return self._kept[kind]

    def of_fold(
        self,
        sizes: dict[str, int],
        training: Sequence[str],
        every: Sequence[str],
        tokenizer: Tokenizer,
        seed: int,
    ) -> dict[str, list[str]]:
        """The texts that a fold's teacher labels, by kind.

        Parameters
        ----------
        training, every
            The fold's training texts, and all texts of its set, which none may equal.
        """
        found = {}
        for kind, n in sizes.items():
            if kind == "made":
                made = islice(augment(training, WAYS, seed=seed), TRIES * n)
                found[kind] = list(islice(Sieve(tokenizer, labelled=every)(made), n))
            else:
                found[kind] = self._first.setdefault((kind, n), self.read(kind)[:n])
        return found

    @cached_property
    def words(self) -> set[str]:
        """What stands between white space in all files."""
        files = sorted(self.folder.glob("*.txt.xz"))
        kinds = (path.name.removesuffix(".txt.xz") for path in files)
        return {word for kind in kinds for text in self.read(kind) for word in text.split()}

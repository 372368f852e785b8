"""Finds what is wrong or odd about a corpus as a test bed, in figures.

Texts are compared in two ways: as they stand (``text``), and by the words that a model sees
(``words``), where texts that differ only in case, spaces or dropped marks are equal.
"""

from __future__ import annotations

import unicodedata
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from typing import Any

import numpy as np

from adasent.data.corpus import Corpus, Label, take
from adasent.data.splits import (
    Fold,
    grouped_folds,
    official_split,
    strata_of,
    stratified_folds,
)
from adasent.errors import DataError
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer, tokenizer_name

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True)
class Repeats:
    """What equal texts do to a set.

    Leakage is the share of the rows of a test part whose text stands in its training part.
    """

    n_distinct: int
    n_repeated: int  # rows whose text stands in another row too
    n_contradictory: int  # different texts that carry more than one label
    n_contradictory_rows: int
    best_accuracy: float  # of a system that sees only the text: each gets its most frequent label
    leakage: float  # of random stratified folds, the mean
    worst_leakage: float  # of the fold with the most
    grouped_leakage: float  # the mean for folds that keep texts of equal words together
    n_official: int | None  # rows that leak in the official split; None without one
    official_leakage: float | None


@dataclass(frozen=True)
class Lengths:
    """Words in a text."""

    mean: float
    quantiles: dict[str, int]  # by the share of texts that are no longer: 0, 0.05, ... as QUANTILES
    n_words: int
    n_types: int  # different words
    n_single: int  # texts of one word: there is nothing to compose in them


@dataclass(frozen=True)
class Audit:
    """The findings about one corpus.

    Where a text may have several labels, each of them counts in ``classes``, and everywhere else
    the set of them is the label: texts contradict each other whose sets differ.

    Odd characters are control, format, private and replacement ones: mostly a wrong encoding. The
    majority is the accuracy of always naming the most frequent label; with an official split, of
    naming on the test part the label that is most frequent in training.
    """

    name: str
    sha256: str
    n: int
    n_test: int | None  # rows of the official test part; None without one
    tokenizer: str
    n_folds: int
    seed: int
    classes: dict[str, int]  # rows of each label, in order of first appearance
    majority: float
    text: Repeats
    words: Repeats
    lengths: Lengths
    n_blank: int  # texts of nothing but white space
    n_wordless: int  # texts without a word after the tokenizer, the blank ones included
    n_non_ascii: int
    n_odd: int  # texts with an odd character
    odd: dict[str, int]  # those characters by code point, the most frequent first
    notes: list[str]  # what the reader of the file had to say
    # Where a text may have several labels: rows of each set of labels, the most frequent first,
    # with " | " between labels. "" is the empty set. None where a text has one label.
    label_sets: dict[str, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Audit:
        """Inverse of :meth:`to_dict`."""
        try:
            parts = {name: Repeats(**values[name]) for name in ("text", "words")}
            return cls(**(values | parts | {"lengths": Lengths(**values["lengths"])}))
        except (KeyError, TypeError) as error:
            message = f"expected the values of an audit, got something else: {error}"
            raise DataError(message) from error


def audit(
    corpus: Corpus, *, tokenizer: str | Tokenizer = "kim", n_folds: int = 10, seed: int = 0
) -> Audit:
    """Look for repeats, contradictions, odd texts, and leakage between seeded folds.

    A corpus that is empty, or too small for that many folds, is an error.
    """
    if not len(corpus):
        raise DataError(f"{corpus.name}: expected at least one text, got none")
    function = get_tokenizer(tokenizer)
    tokens = [run_tokenizer(function, text) for text in corpus.texts]
    joined = [" ".join(row) for row in tokens]
    labels = [frozenset(one) if isinstance(one, tuple) else one for one in corpus.labels]
    strata = strata_of(corpus.labels)
    folds = stratified_folds(strata, n_folds, seed)
    grouped = grouped_folds(joined, strata, n_folds, seed)
    odd = [_odd_characters(text) for text in corpus.texts]
    return Audit(
        name=corpus.name,
        sha256=corpus.sha256,
        n=len(corpus),
        n_test=None if corpus.test is None else len(corpus.test),
        tokenizer=tokenizer_name(tokenizer),
        n_folds=n_folds,
        seed=seed,
        classes={str(label): n for label, n in _counted(corpus).items()},
        majority=_majority(labels, corpus),
        text=_repeats(corpus.texts, labels, corpus, folds, grouped),
        words=_repeats(joined, labels, corpus, folds, grouped),
        lengths=_lengths(tokens),
        n_blank=sum(not text.strip() for text in corpus.texts),
        n_wordless=sum(not row for row in tokens),
        n_non_ascii=sum(not text.isascii() for text in corpus.texts),
        n_odd=sum(map(bool, odd)),
        odd={f"U+{ord(c):04X}": n for c, n in Counter(chain(*odd)).most_common()},
        notes=list(corpus.notes),
        label_sets=_label_sets(corpus),
    )


def leakage(keys: Sequence[Hashable], fold: Fold) -> float:
    """Share of the test rows whose key is among those of the training rows."""
    known = set(take(keys, fold.train))
    return sum(key in known for key in take(keys, fold.test)) / len(fold.test)


def _counted(corpus: Corpus) -> Counter[Label]:
    """Rows of each class, in order of first appearance."""
    if not corpus.multilabel:
        return Counter(corpus.labels)
    return Counter(chain.from_iterable(dict.fromkeys(own) for own in corpus.labels))


def _label_sets(corpus: Corpus) -> dict[str, int] | None:
    if not corpus.multilabel:
        return None
    place = {label: i for i, label in enumerate(corpus.classes)}
    rows = Counter(tuple(sorted(set(own), key=place.__getitem__)) for own in corpus.labels)
    return {" | ".join(map(str, own)): n for own, n in rows.most_common()}


def _repeats(
    keys: Sequence[str],
    labels: Sequence[Hashable],
    corpus: Corpus,
    folds: Sequence[Fold],
    grouped: Sequence[Fold],
) -> Repeats:
    said: dict[str, Counter[Hashable]] = defaultdict(Counter)
    for key, label in zip(keys, labels, strict=True):
        said[key][label] += 1
    rows = {key: count.total() for key, count in said.items()}
    contradictory = [key for key, count in said.items() if len(count) > 1]
    leaks = [leakage(keys, fold) for fold in folds]
    n_official = share = None
    if corpus.test is not None:
        share = leakage(keys, official_split(corpus))
        n_official = round(share * len(corpus.test))
    return Repeats(
        n_distinct=len(rows),
        n_repeated=sum(n for n in rows.values() if n > 1),
        n_contradictory=len(contradictory),
        n_contradictory_rows=sum(rows[key] for key in contradictory),
        best_accuracy=sum(max(count.values()) for count in said.values()) / len(keys),
        leakage=float(np.mean(leaks)),
        worst_leakage=max(leaks),
        grouped_leakage=float(np.mean([leakage(keys, fold) for fold in grouped])),
        n_official=n_official,
        official_leakage=share,
    )


def _majority(labels: Sequence[Hashable], corpus: Corpus) -> float:
    if corpus.test is None:
        return max(Counter(labels).values()) / len(corpus)
    fold = official_split(corpus)
    (label, _), *_ = Counter(take(labels, fold.train)).most_common(1)
    return take(labels, fold.test).count(label) / len(fold.test)


def _lengths(tokens: Sequence[Sequence[str]]) -> Lengths:
    lengths = np.array([len(row) for row in tokens])
    values = np.quantile(lengths, QUANTILES, method="inverted_cdf").astype(int).tolist()
    return Lengths(
        mean=float(lengths.mean()),
        quantiles={f"{q:g}": value for q, value in zip(QUANTILES, values, strict=True)},
        n_words=int(lengths.sum()),
        n_types=len({word for row in tokens for word in row}),
        n_single=int((lengths == 1).sum()),
    )


def _odd_characters(text: str) -> list[str]:
    """Those of the categories C (control, format, private, surrogate, unassigned), and U+FFFD."""
    if text.isascii() and text.isprintable():
        return []
    return [
        c
        for c in text
        if c == "\ufffd" or (unicodedata.category(c).startswith("C") and c not in "\t\n\r")
    ]

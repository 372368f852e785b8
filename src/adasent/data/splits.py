"""Seeded splits of labelled texts, as arrays of positions.

The folds are those of scikit-learn with ``shuffle=True`` and the seed as `random_state`, so
results compare with anyone's who used it. Labels may be of any hashable type, also mixed.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from adasent.data.corpus import Corpus, Indices, counted
from adasent.errors import AdaSentWarning, ConfigError, DataError, require


# Compared by identity: arrays have no single truth value for a generated __eq__.
@dataclass(frozen=True, eq=False)
class Fold:
    """Positions of the training and the test part, both ascending."""

    index: int
    train: Indices
    test: Indices


def stratified_folds(labels: Sequence[Hashable], n_folds: int = 10, seed: int = 0) -> list[Fold]:
    """Folds with the class shares of the whole: scikit-learn's `StratifiedKFold`.

    Warns once if a class has fewer examples than there are folds.
    """
    return _folds("StratifiedKFold", labels, None, n_folds, seed)


def grouped_folds(
    texts: Sequence[str], labels: Sequence[Hashable], n_folds: int = 10, seed: int = 0
) -> list[Fold]:
    """Folds in which equal texts never straddle: scikit-learn's `StratifiedGroupKFold`.

    Texts are equal if they are after case folding and with runs of white space made one space.
    Warns once if a class has fewer examples than there are folds.
    """
    return _folds("StratifiedGroupKFold", labels, _groups(texts, labels), n_folds, seed)


def official_split(corpus: Corpus) -> Fold:
    """The training and test part that the set's authors fixed."""
    if corpus.test is None:
        raise DataError(f"{corpus.name} has no official split; use folds or held_out")
    everything = np.arange(len(corpus), dtype=np.int64)
    return Fold(0, np.setdiff1d(everything, corpus.test), np.sort(corpus.test))


def held_out(
    labels: Sequence[Hashable],
    fraction: float,
    seed: int,
    texts: Sequence[str] | None = None,
) -> tuple[Indices, Indices]:
    """Set a stratified part aside, for early stopping or a quick test.

    Parameters
    ----------
    fraction
        Share to set aside, 0 <= fraction < 1; 0 sets nothing aside.
    texts
        Where given, equal texts (as in :func:`grouped_folds`) stay on one side; the part set
        aside may then be smaller than asked.

    Returns
    -------
    train, aside
        Ascending positions. Every class keeps at least one example in train, so a class with a
        single example is never set aside. At least one example is set aside when that allows.
    """
    if not 0 <= fraction < 1:
        raise ConfigError(f"expected a fraction in [0, 1), got {fraction!r}")
    codes = _codes(labels)
    groups = np.arange(len(codes)) if texts is None else _groups(texts, labels)
    room = _quota(np.bincount(codes), fraction)
    members: list[list[int]] = [[] for _ in range(int(groups.max(initial=-1)) + 1)]
    for position, group in enumerate(groups.tolist()):
        members[group].append(position)

    aside: list[int] = []
    for group in np.random.default_rng(seed).permutation(len(members)).tolist():
        needed = np.bincount(codes[members[group]], minlength=len(room))
        if (needed <= room).all():
            room -= needed
            aside += members[group]
    chosen = np.zeros(len(codes), dtype=bool)
    chosen[aside] = True
    return np.flatnonzero(~chosen), np.flatnonzero(chosen)


def rarest_labels(there: npt.NDArray[np.bool_]) -> Indices:
    """(N,) which label of a text is the rarest of all texts, -1 of one without any.

    There is no stratifying by sets of labels: most sets are rare. By its rarest label, a text goes
    where it is missed most.
    """
    counts = np.where(there, there.sum(axis=0), len(there) + 1)
    return np.where(there.any(axis=1), counts.argmin(axis=1), -1)


def strata_of(labels: Sequence[Any]) -> list[Any]:
    """What folds of texts are stratified by: the label, or the rarest of a text's labels."""
    if not any(isinstance(one, tuple) for one in labels):
        return list(labels)
    place = {label: i for i, label in enumerate(dict.fromkeys(chain.from_iterable(labels)))}
    there = np.zeros((len(labels), max(1, len(place))), dtype=bool)
    for row, own in zip(there, labels, strict=True):
        row[[place[label] for label in own]] = True
    names = [*place, "no label"]  # the last also stands for -1
    return [names[i] for i in rarest_labels(there).tolist()]


def held_out_several(
    there: npt.NDArray[np.bool_], fraction: float, seed: int, texts: Sequence[str]
) -> tuple[Indices, Indices]:
    """:func:`held_out` of texts of which (N, C) says which labels each has.

    Stratified by the rarest label of each text; every label that occurs has a text in train.
    """
    strata = rarest_labels(there).tolist()
    _, aside = held_out(strata, fraction, seed, texts)
    groups = _groups(texts, strata)
    out = np.zeros(len(groups), dtype=bool)
    out[aside] = True
    for label in np.flatnonzero(there.any(axis=0) & ~there[~out].any(axis=0)).tolist():
        if not there[~out, label].any():  # still: its text may have come back for another
            out &= groups != groups[np.flatnonzero(there[:, label])[0]]
    return np.flatnonzero(~out), np.flatnonzero(out)


def _quota(counts: Indices, fraction: float) -> Indices:
    """Examples to set aside of each class: shares by largest remainder, one always left."""
    if fraction == 0:
        return np.zeros_like(counts)
    exact = counts * fraction
    quota: Indices = np.minimum(np.floor(exact).astype(np.int64), np.maximum(counts - 1, 0))
    total = max(1, round(fraction * int(counts.sum())))
    for code in np.argsort(quota - exact, kind="stable").tolist():
        if quota.sum() < total and quota[code] < counts[code] - 1:
            quota[code] += 1
    return quota


def _codes(labels: Sequence[Hashable]) -> Indices:
    """Labels as 0, 1, ... by first appearance; the order in which scikit-learn sees classes."""
    seen: dict[Hashable, int] = {}
    return np.array([seen.setdefault(label, len(seen)) for label in labels], dtype=np.int64)


def _groups(texts: Sequence[str], labels: Sequence[Hashable]) -> Indices:
    """Equal texts get equal numbers, in sorted order: what scikit-learn makes of string groups."""
    if len(labels) != len(texts):
        raise DataError(f"expected a label for each text, got {len(labels)} and {len(texts)}")
    keys = [" ".join(text.casefold().split()) for text in texts]
    number = {key: i for i, key in enumerate(sorted(set(keys)))}
    return np.array([number[key] for key in keys], dtype=np.int64)


def _folds(
    splitter: str, labels: Sequence[Hashable], groups: Indices | None, n_folds: int, seed: int
) -> list[Fold]:
    sklearn = require("sklearn.model_selection", "train", "making folds")
    if n_folds < 2:
        raise ConfigError(f"expected at least 2 folds, got {n_folds}")
    sizes = Counter(labels)
    limits = {"examples in the largest class": max(sizes.values(), default=0)}
    if groups is not None:
        limits = {"different texts": int(groups.max(initial=-1)) + 1} | limits
    for what, available in limits.items():
        if available < n_folds:
            raise DataError(
                f"cannot make {n_folds} folds: the data has only {available} {what}; "
                "use fewer folds"
            )
    rare = [label for label, n in sizes.items() if n < n_folds]
    if rare:
        warnings.warn(
            f"{counted(len(rare), 'label')} with fewer than {n_folds} examples "
            f"(first: {rare[0]!r}): absent from the test part of some folds",
            AdaSentWarning,
            stacklevel=3,
        )
    chosen = getattr(sklearn, splitter)(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # rare classes: told above, once
        parts = list(chosen.split(np.zeros(len(labels)), _codes(labels), groups))
    return [Fold(i, train, test) for i, (train, test) in enumerate(parts)]

"""Which texts a sweep searches on and which it tests on: its config, test parts and searches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from adasent.checks import check_choice, check_integer, check_range
from adasent.data.corpus import Corpus, Indices, take
from adasent.data.splits import Fold, held_out, official_split
from adasent.errors import ConfigError
from adasent.evaluation.crossval import make_folds
from adasent.evaluation.trials import Search
from adasent.training.config import METRICS

#: Names of the search whose settings are the result: beside a test part, and after the folds.
ASIDE, WHOLE = "training texts", "all texts"


@dataclass(frozen=True)
class SweepConfig:
    """How a sweep is made.

    Attributes
    ----------
    metric
        What is best: ``accuracy``, ``macro_f1``, ``balanced_accuracy`` or ``loss``, of the dev
        part. It chooses the epoch, too.
    n_folds
        0 tests on one part; else each of so many folds is searched and tested by itself.
    grouped
        Whether texts of equal words stay in one fold.
    dev_fraction
        Share of the texts of a search that trials are compared on.
    test_fraction
        Share that is held out, without folds and without an official split.
    seed
        Of the parts, the drawing of settings and every training.
    """

    metric: str = "accuracy"
    n_folds: int = 0
    grouped: bool = False
    dev_fraction: float = 0.2
    test_fraction: float = 0.2
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice("metric", self.metric, METRICS)
        check_integer("folds", self.n_folds, 0)
        if self.n_folds == 1:
            raise ConfigError("folds: expected 2 or more, or 0 for one test part; got 1")
        check_range("dev_fraction", self.dev_fraction, 0.01, 0.9)
        check_range("test_fraction", self.test_fraction, 0.01, 0.9)
        check_integer("seed", self.seed, 0)


def rule_of(corpus: Corpus, config: SweepConfig) -> str:
    """How the test parts come about, as their records say it."""
    if config.n_folds:
        return "grouped" if config.grouped else "random"
    return "held-out" if corpus.test is None else "official"


def outer_parts(corpus: Corpus, config: SweepConfig, tokens: Sequence[Sequence[str]]) -> list[Fold]:
    """What is tested, each with the texts that its search may see.

    Parameters
    ----------
    tokens
        The words of each text, by which grouped folds go.
    """
    if not config.n_folds:
        if corpus.test is not None:
            return [official_split(corpus)]
        found = held_out(corpus.labels, config.test_fraction, config.seed, corpus.texts)
        return [Fold(0, *found)]
    if corpus.test is not None:
        raise ConfigError(
            f"{corpus.name} has an official test part, which no search may see; leave out the "
            "folds, and it is tested on that"
        )
    return make_folds(corpus, rule_of(corpus, config), config.n_folds, config.seed, tokens)


def search_parts(corpus: Corpus, config: SweepConfig, folds: Sequence[Fold]) -> list[Search]:
    """A search for each test part and, after folds, one over all texts."""
    if not config.n_folds:
        return [_split(corpus, config, ASIDE, folds[0].train)]
    found = [_split(corpus, config, f"fold {fold.index + 1}", fold.train) for fold in folds]
    everything = np.arange(len(corpus), dtype=np.int64)
    return [*found, _split(corpus, config, WHOLE, everything)]


def _split(corpus: Corpus, config: SweepConfig, name: str, positions: Indices) -> Search:
    labels, texts = take(corpus.labels, positions), take(corpus.texts, positions)
    kept, aside = held_out(labels, config.dev_fraction, config.seed, texts)
    return Search(name, positions[kept], positions[aside])

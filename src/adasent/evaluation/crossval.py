"""A corpus and settings in; a record for each fold out, finished folds not run again.

The test part of a fold is used once, after training. The validation part that chooses the epoch is
taken by the estimator out of the training part.
"""

from __future__ import annotations

import hashlib
import os
import platform
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adasent import __version__
from adasent.data import Corpus, Fold, grouped_folds, official_split, stratified_folds
from adasent.data.corpus import take
from adasent.errors import AdaSentWarning, ConfigError
from adasent.evaluation.records import FoldRecord, append_record, read_records, record_key
from adasent.text.encoder import tokenise
from adasent.text.tokenize import get_tokenizer, tokenizer_name
from adasent.text.vectors import WordVectors, read_vectors

if TYPE_CHECKING:
    from adasent.estimator import AdaSentClassifier

RULES = ("random", "grouped", "official")


def make_folds(
    corpus: Corpus, rule: str, n_folds: int, seed: int, tokens: Sequence[Sequence[str]]
) -> list[Fold]:
    """The folds of a corpus by a rule.

    Parameters
    ----------
    rule
        ``random`` (stratified), ``grouped`` (stratified, texts of equal tokens stay together) or
        ``official`` (the one split that the set's authors fixed; ``n_folds`` is not used).
    tokens
        The tokens of each text; what ``grouped`` compares.
    """
    if rule == "official":
        return [official_split(corpus)]
    if rule == "grouped":
        return grouped_folds([" ".join(row) for row in tokens], corpus.labels, n_folds, seed)
    if rule == "random":
        return stratified_folds(corpus.labels, n_folds, seed)
    raise ConfigError(f"rule: expected one of {', '.join(RULES)}, got {rule!r}")


def cross_validate(
    corpus: Corpus,
    settings: Mapping[str, Any],
    *,
    vectors: Mapping[str, Path] | None = None,
    rule: str = "random",
    n_folds: int = 10,
    seeds: Sequence[int] = (0,),
    out: str | os.PathLike[str] | None = None,
) -> Iterator[tuple[FoldRecord, bool]]:
    """Train and test on every fold for every seed.

    Parameters
    ----------
    settings
        Keywords of ``AdaSentClassifier``, other than vectors, seed and checkpoint.
    vectors
        Files of word vectors, used side by side, by the name that the record shows.
    rule, n_folds
        See :func:`make_folds`.
    seeds
        Each gives its own folds and its own training.
    out
        File that records are appended to. Folds that it already holds, of the same settings,
        seed, rule and data, are not run again. None keeps nothing.

    Yields
    ------
    The record of each fold in order, and whether it was run now rather than read.
    """
    from adasent import AdaSentClassifier

    estimator = AdaSentClassifier(**settings)
    spec = _spec(estimator, vectors or {})
    # Tokenised here for the groups; also warns of odd texts once for all folds.
    tokens = tokenise(corpus.texts, get_tokenizer(estimator.tokenizer), estimator.max_words)
    known = {record.key: record for record in read_records(out)} if out is not None else {}
    sources: list[WordVectors] | None = None
    if rule == "official":
        n_folds = 1
    for seed in seeds:
        for fold in make_folds(corpus, rule, n_folds, seed, tokens):
            done = known.get(record_key(spec, seed, rule, n_folds, fold.index, corpus.sha256))
            if done is not None:
                yield done, False
                continue
            if sources is None:  # read once, and only if there is something to run
                sources = [read_vectors(path) for path in (vectors or {}).values()]
            estimator.set_params(random_state=seed, vectors=sources or None)
            record = _run_fold(estimator, corpus, fold, spec, seed, rule, n_folds)
            if out is not None:
                append_record(out, record)
            yield record, True


def _run_fold(
    estimator: AdaSentClassifier,
    corpus: Corpus,
    fold: Fold,
    spec: dict[str, Any],
    seed: int,
    rule: str,
    n_folds: int,
) -> FoldRecord:
    import torch

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"of \d+ texts", AdaSentWarning)  # told before
        warnings.filterwarnings("ignore", "training was interrupted", AdaSentWarning)
        started = time.perf_counter()
        estimator.fit(take(corpus.texts, fold.train), take(corpus.labels, fold.train))
        seconds = time.perf_counter() - started
        if estimator.history_.interrupted:
            # A fold cut short is not a result.
            raise KeyboardInterrupt
        predicted = estimator.predict(take(corpus.texts, fold.test)).tolist()
    true = take(corpus.labels, fold.test)
    # Of the whole corpus: a rare class may be absent from this fold's training part.
    classes = np.unique(np.asarray(corpus.labels)).tolist()
    code = {label: i for i, label in enumerate(classes)}
    history = estimator.history_
    assert history.best_epoch is not None
    n_valid: Any = estimator.training_["n_validation"]
    return FoldRecord(
        spec=spec,
        seed=seed,
        rule=rule,
        n_folds=n_folds,
        fold=fold.index,
        data=corpus.name,
        sha256=corpus.sha256,
        versions={
            "adasent": __version__,
            "torch": torch.__version__,
            "numpy": np.__version__,
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        device=f"{next(estimator.model_.parameters()).device}, {torch.get_num_threads()} threads",
        seconds=round(seconds, 3),
        best_epoch=history.best_epoch,
        history=[_short_row(row) for row in history],
        n_train=len(fold.train) - n_valid,
        n_valid=n_valid,
        n_test=len(fold.test),
        accuracy=sum(a == b for a, b in zip(true, predicted, strict=True)) / len(true),
        classes=classes,
        test=fold.test.tolist(),
        true=[code[label] for label in true],
        predicted=[code[label] for label in predicted],
    )


def _spec(estimator: AdaSentClassifier, vectors: Mapping[str, Path]) -> dict[str, Any]:
    spec = dict(estimator.get_params())
    for name in ("checkpoint", "verbose", "random_state"):  # these do not describe the model
        del spec[name]
    spec["tokenizer"] = tokenizer_name(estimator.tokenizer)
    # A list, because the order of the files is the order of the columns.
    spec["vectors"] = [{"name": n, "sha256": _digest(path)} for n, path in vectors.items()]
    return spec


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _short_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the history at six digits; of the gradient flow only the verdict."""
    short = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
    return short | {"gradient_flow": row["gradient_flow"]["verdict"]}

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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from adasent.data import Corpus, Fold, grouped_folds, official_split, stratified_folds
from adasent.data.corpus import take
from adasent.errors import AdaSentWarning, ConfigError
from adasent.evaluation.records import FoldRecord, append_record, read_records, record_key
from adasent.text.encoder import tokenise
from adasent.text.tokenize import Tokenizer, get_tokenizer, tokenizer_name
from adasent.training.config import suited_to
from adasent.vectors.words import read_vectors
from adasent.version import __version__

if TYPE_CHECKING:
    from adasent.data.span_parser import SpanParser

RULES = ("random", "grouped", "official")

#: Models trained as one on CUDA, at most: more add little speed, and each takes memory.
MAX_STACK = 50

#: What records do not say that were written before it was a choice, and how they were made.
UNSAID = {"system": "adasent", "level_norm": False}

#: What is said of the parser of :func:`_parser`.
_OTHER_TEXTS = "span parser fitted on other texts"


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
    system: str = "adasent",
    vectors: Mapping[str, Path] | None = None,
    rule: str = "random",
    n_folds: int = 10,
    seeds: Sequence[int] = (0,),
    out: str | os.PathLike[str] | None = None,
    stack: int | None = None,
) -> Iterator[tuple[FoldRecord, bool]]:
    """Train and test on every fold for every seed.

    Parameters
    ----------
    settings
        Keywords of the system's estimator, other than vectors, seed and checkpoint.
    system
        A name of :mod:`adasent.estimators.registry`.
    vectors
        Files of word vectors, used side by side, by the name that the record shows.
    rule, n_folds
        See :func:`make_folds`.
    seeds
        Each gives its own folds and its own training.
    out
        File that records are appended to. Folds that it already holds, of the same settings,
        seed, rule and data, are not run again. None keeps nothing.
    stack
        Folds trained as one, which changes their time and not their models. None is as many as
        there are (at most 50) on CUDA and one after the other on the CPU, where that is as fast.

    Yields
    ------
    The record of each fold in order, and whether it was run now rather than read.
    """
    from adasent.estimators.registry import make

    estimator = make(system, **settings)
    spec = _spec(system, estimator, vectors or {})
    # Tokenised here for the groups; also warns of odd texts once for all folds.
    tokens = tokenise(corpus.texts, get_tokenizer(estimator.tokenizer), estimator.max_words)
    known = {_known_key(record): record for record in read_records(out)} if out is not None else {}
    if rule == "official":
        n_folds = 1
    jobs = [
        _Job(seed, fold, _key(spec, seed, rule, n_folds, fold.index, corpus.sha256))
        for seed in seeds
        for fold in make_folds(corpus, rule, n_folds, seed, tokens)
    ]
    pending = list({job.key: job for job in jobs if job.key not in known}.values())
    together = (stack or _stack_size()) if _by_epochs(estimator) else 1
    chosen: dict[str, Any] | None = None
    records: dict[str, FoldRecord] = {}
    for job in jobs:
        if job.key in known:
            yield known[job.key], False
            continue
        if job.key not in records:
            if chosen is None:  # read once, and only if there is something to run
                chosen = dict(settings) | _inputs(spec, vectors or {}, corpus, estimator.tokenizer)
            for one in _run(pending[:together], corpus, chosen, spec, rule, n_folds):
                records[_known_key(one)] = one
                if out is not None:
                    append_record(out, one)
            pending = pending[together:]
        yield records[job.key], True


class _Job(NamedTuple):
    """A fold to train and test, and the key its record will have."""

    seed: int
    fold: Fold
    key: str


def _by_epochs(estimator: Any) -> bool:
    """Whether it is a network, trained by epochs; the other systems train in one go."""
    return "validation_fraction" in estimator.get_params(deep=False)


def _stack_size() -> int:
    import torch

    return MAX_STACK if torch.cuda.is_available() else 1


def _inputs(
    spec: Mapping[str, Any],
    vectors: Mapping[str, Path],
    corpus: Corpus,
    tokenizer: str | Tokenizer,
) -> dict[str, Any]:
    """What a system reads beside the texts."""
    inputs: dict[str, Any] = {}
    if vectors:
        inputs["vectors"] = [read_vectors(path) for path in vectors.values()]
    if spec.get("parser") == _OTHER_TEXTS:
        inputs["parser"] = _parser(corpus, tokenizer)
    return inputs


def _parser(corpus: Corpus, tokenizer: str | Tokenizer) -> SpanParser:
    """A parser that has seen none of the texts: how well it knows a text may tell its label."""
    from adasent.data.span_parser import SpanParser, treebank

    others = treebank().without(corpus.texts)
    return SpanParser.fit(others.examples(get_tokenizer(tokenizer)))


def _run(
    jobs: Sequence[_Job],
    corpus: Corpus,
    settings: dict[str, Any],
    spec: dict[str, Any],
    rule: str,
    n_folds: int,
) -> Iterator[FoldRecord]:
    """Train the jobs as one and test each."""
    from adasent.estimators.registry import make

    estimators = [make(spec["system"], **settings | {"random_state": job.seed}) for job in jobs]
    parts = [(take(corpus.texts, j.fold.train), take(corpus.labels, j.fold.train)) for j in jobs]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", r"of \d+ texts", AdaSentWarning)  # told before
        warnings.filterwarnings("ignore", "training was interrupted", AdaSentWarning)
        started = time.perf_counter()
        if len(jobs) == 1:
            estimators[0].fit(*parts[0])
        else:
            from adasent.estimators.neural import fit_together

            fit_together(estimators, parts)
        seconds = (time.perf_counter() - started) / len(jobs)
        for job, estimator in zip(jobs, estimators, strict=True):
            if not _interrupted(estimator):
                predicted = estimator.predict(take(corpus.texts, job.fold.test)).tolist()
                yield _record(
                    estimator, corpus, job, predicted, spec, rule, n_folds, seconds, len(jobs)
                )
    if any(map(_interrupted, estimators)):
        # A fold cut short is not a result.
        raise KeyboardInterrupt


def _interrupted(estimator: Any) -> bool:
    return _by_epochs(estimator) and bool(estimator.history_.interrupted)


def _record(
    estimator: Any,
    corpus: Corpus,
    job: _Job,
    predicted: list[Any],
    spec: dict[str, Any],
    rule: str,
    n_folds: int,
    seconds: float,
    n_together: int,
) -> FoldRecord:
    true = take(corpus.labels, job.fold.test)
    # Of the whole corpus: a rare class may be absent from this fold's training part.
    classes = np.unique(np.asarray(corpus.labels)).tolist()
    code = {label: i for i, label in enumerate(classes)}
    by_epochs = _by_epochs(estimator)
    n_valid: int = estimator.training_.get("n_validation", 0)
    return FoldRecord(
        spec=spec,
        seed=job.seed,
        rule=rule,
        n_folds=n_folds,
        fold=job.fold.index,
        data=corpus.name,
        sha256=corpus.sha256,
        versions={
            "adasent": __version__,
            **estimator.training_["versions"],
            "python": platform.python_version(),
            "platform": platform.platform(),
        },
        device=_device(n_together) if by_epochs else "cpu",
        seconds=round(seconds, 3),
        best_epoch=estimator.history_.best_epoch if by_epochs else 0,
        history=[_short_row(row) for row in estimator.history_] if by_epochs else [],
        n_train=len(job.fold.train) - n_valid,
        n_valid=n_valid,
        n_test=len(job.fold.test),
        accuracy=sum(a == b for a, b in zip(true, predicted, strict=True)) / len(true),
        classes=classes,
        test=job.fold.test.tolist(),
        true=[code[label] for label in true],
        predicted=[code[label] for label in predicted],
    )


def _device(n_together: int) -> str:
    """What the networks were trained on."""
    import torch

    from adasent.training.loop import default_device

    device = default_device()
    if device.type == "cuda":
        name = f"cuda ({torch.cuda.get_device_name(device)})"
    else:
        name = f"cpu, {torch.get_num_threads()} threads"
    return name if n_together == 1 else f"{name}, {n_together} models together"


def _spec(system: str, estimator: Any, vectors: Mapping[str, Path]) -> dict[str, Any]:
    spec = {"system": system, **estimator.get_params(deep=False)}
    for name in ("checkpoint", "verbose", "random_state"):  # these do not describe the model
        spec.pop(name, None)
    spec["tokenizer"] = tokenizer_name(estimator.tokenizer)
    if "vectors" in spec:
        # A list, because the order of the files is the order of the columns.
        spec["vectors"] = [{"name": n, "sha256": _digest(path)} for n, path in vectors.items()]
        size = sum(read_vectors(path, limit=1).dim for path in vectors.values())
        # The values that are used, not that they were left open.
        for name, value in suited_to(size or estimator.vector_size).items():
            if spec[name] is None:
                spec[name] = value
    elif vectors:
        raise ConfigError(f"the system {system} reads no word vectors; leave them out")
    if "parser" in spec and spec["parser"] is None:
        spec["parser"] = _OTHER_TEXTS
    return {name: list(v) if isinstance(v, tuple) else v for name, v in spec.items()}


def _key(spec: Mapping[str, Any], *rest: Any) -> str:
    """The key of a record, whether or not its spec says what it did not say in older ones."""
    said = {n: v for n, v in spec.items() if n not in UNSAID or v != UNSAID[n]}
    return record_key(said, *rest)


def _known_key(record: FoldRecord) -> str:
    return _key(record.spec, record.seed, record.rule, record.n_folds, record.fold, record.sha256)


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _short_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of the history at six digits; of the gradient flow only the verdict."""
    short = {k: float(f"{v:.6g}") if isinstance(v, float) else v for k, v in row.items()}
    flow = row["gradient_flow"]  # None where models are trained together, and of other systems
    return short | {"gradient_flow": flow and flow["verdict"]}

"""Cross-validates a system on a corpus; folds that are recorded are not run again.

The test part of a fold is used once, after training. The validation part that chooses the epoch is
taken by the estimator out of the training part.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from adasent.data import Corpus, Fold, grouped_folds, official_split, stratified_folds
from adasent.data.derived import open_vectors
from adasent.data.splits import strata_of
from adasent.encoders.folder import find_encoder
from adasent.errors import ConfigError
from adasent.estimators.registry import ENCODER_SETTINGS, describe
from adasent.evaluation.jobs import Job
from adasent.evaluation.records import FoldRecord
from adasent.evaluation.runner import run_jobs
from adasent.evaluation.store import RecordStore
from adasent.text.cutting import SHORT, cut_of
from adasent.text.encoder import cut
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer, tokenizer_name
from adasent.vectors.minilm import MiniLMWords

RULES = ("random", "grouped", "official")

_NO_MATTER = ("checkpoint", "verbose", "random_state", "device", "keep_examples", "warm_start")

#: What a spec says of a parser that has seen none of the texts of the corpus.
_OTHER_TEXTS = "span parser fitted on other texts"


def make_folds(
    corpus: Corpus, rule: str, n_folds: int, seed: int, tokens: Sequence[Sequence[str]]
) -> list[Fold]:
    """The folds of a corpus by a rule.

    Parameters
    ----------
    rule
        ``random`` (stratified, texts of several labels by the rarest of them), ``grouped``
        (stratified, texts of equal tokens stay together) or ``official`` (the one split that the
        set's authors fixed; ``n_folds`` is not used).
    tokens
        The tokens of each text; what ``grouped`` compares.
    """
    if rule == "official":
        return [official_split(corpus)]
    if rule == "grouped":
        keys = [" ".join(row) for row in tokens]
        return grouped_folds(keys, strata_of(corpus.labels), n_folds, seed)
    if rule == "random":
        return stratified_folds(strata_of(corpus.labels), n_folds, seed)
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
        Files of word vectors, used side by side, by the name that the record shows. None starts
        from random ones.
    rule, n_folds
        See :func:`make_folds`.
    seeds
        Each gives its own folds and its own training.
    out
        File that records are appended to. Folds that it already holds, of the same settings,
        seed, rule and data, are not run again. None keeps nothing.
    stack
        Folds trained as one, which changes their time and not their models; None is
        :func:`adasent.evaluation.runner.stack_size`.

    Yields
    ------
    The record of each fold in order, and whether it was run now rather than read. Several calls
    in different processes that share a file share the work.
    """
    from adasent.estimators.registry import make

    estimator = make(system, **settings)
    files = dict(vectors or {})
    spec = _spec(system, estimator, files)
    # Tokenised here for the groups; also warns of odd texts once for all folds.
    tokenizer = get_tokenizer(estimator.tokenizer)
    whole = [run_tokenizer(tokenizer, text) for text in corpus.texts]
    found = cut_of(whole, estimator.max_words, getattr(estimator, "max_height", None))
    tokens = cut(whole, found.max_words)
    if found.longest <= SHORT:
        spec["max_words"] = found.max_words  # what is used: no fold cuts texts as short as these
    fits_parser = spec.get("parser") == _OTHER_TEXTS
    maker = _Maker(system, dict(settings), files, corpus, fits_parser, estimator.tokenizer)
    if rule == "official":
        n_folds = 1
    jobs = [
        Job(
            system=system,
            corpus=corpus,
            train=fold.train,
            dev=None,
            test=fold.test,
            make=maker,
            settings=[{}],
            spec=spec,
            seed=seed,
            rule=rule,
            n_folds=n_folds,
            fold=fold.index,
        )
        for seed in seeds
        for fold in make_folds(corpus, rule, n_folds, seed, tokens)
    ]
    store = None if out is None else RecordStore(out)
    for _, record, is_new in run_jobs(jobs, store, stack=stack):
        yield record, is_new


@dataclass
class _Maker:
    """Makes the estimators of all folds; reads what they share when the first is asked for."""

    system: str
    settings: dict[str, Any]
    vectors: dict[str, Path]
    corpus: Corpus
    fits_parser: bool
    tokenizer: str | Tokenizer

    def __call__(self, **more: Any) -> Any:
        from adasent.estimators.registry import make

        return make(self.system, **self.settings | self._inputs | more)

    @cached_property
    def _inputs(self) -> dict[str, Any]:
        """What the system reads beside the texts."""
        inputs: dict[str, Any] = {}
        if describe(self.system).vectors and self.settings.get("encoder") is None:
            inputs["vectors"] = [open_vectors(path) for path in self.vectors.values()] or None
        if self.fits_parser:
            from adasent.data.span_parser import SpanParser, treebank

            # How well a parser knows a text may tell its label: this one has seen none of them.
            others = treebank().without(self.corpus.texts)
            tokenizer = get_tokenizer(self.tokenizer)
            inputs["parser"] = SpanParser.fit(others.examples(tokenizer))
        return inputs


def _spec(system: str, estimator: Any, vectors: Mapping[str, Path]) -> dict[str, Any]:
    spec = {"system": system, **estimator.get_params(deep=False)}
    for name in (
        "checkpoint",
        "verbose",
        "random_state",
        "device",
        "keep_examples",
        "warm_start",
    ):  # no matter
        spec.pop(name, None)
    spec["tokenizer"] = tokenizer_name(estimator.tokenizer)
    if "vectors" in spec:
        # A list, because the order of the files is the order of the columns.
        spec["vectors"] = [{"name": n, "sha256": _digest(path)} for n, path in vectors.items()]
        size = sum(open_vectors(path, limit=1).dim for path in vectors.values())
        size = _take_encoder(spec, estimator) or size
        # The values that are used, not that they were left open.
        for name, value in estimator.open_settings(size or estimator.vector_size).items():
            if spec[name] is None:
                spec[name] = value
    elif vectors:
        raise ConfigError(f"the system {system} reads no word vectors; leave them out")
    if "parser" in spec and spec["parser"] is None:
        spec["parser"] = _OTHER_TEXTS
    return {name: list(v) if isinstance(v, tuple) else v for name, v in spec.items()}


def _take_encoder(spec: dict[str, Any], estimator: Any) -> int:
    """Name the encoder by its hash, and leave out what means nothing here; its dimensions, or 0."""
    source, tuned = estimator.encoder, estimator.tune_encoder
    keep = ENCODER_SETTINGS if source is not None and tuned else ("encoder", "tune_encoder")
    for name in ENCODER_SETTINGS:
        if source is None or name not in keep or name == "save_encoder":
            del spec[name]
    if source is None:
        return 0
    found = find_encoder(source)
    spec["encoder"] = {"name": Path(found.name).name, "sha256": found.sha256}
    return found.vector_size


def _digest(path: Path) -> str:
    source = open_vectors(path, limit=1)
    if isinstance(source, MiniLMWords):
        return source.sha256
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()

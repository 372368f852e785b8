"""AdaSent beside its peers on the same sentences of MR: accuracy, sentences a second, megabytes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.records import Result, Shape
from benchmarks.registry import Sizes
from benchmarks.systems import SYSTEMS, System
from benchmarks.timing import take_turns
from benchmarks.workloads import mr

OURS = "adasent"


def on_mr(sizes: Sizes) -> Iterator[Result]:
    """All predict the same strings in turn, tokenising included; then one string at a time."""
    split = mr()
    texts, labels = split.test_texts, np.array(split.test_labels)
    rows = np.random.default_rng(0).permutation(len(texts))[: sizes.n_sentences]
    texts, labels = [texts[i] for i in rows], labels[rows]
    systems = {name: make(sizes) for name, make in SYSTEMS.items()}
    what = Shape(batch=len(texts), lengths="MR")
    for name, system in systems.items():
        yield Result(name, "MB", [system.megabytes], what)
        hits = np.array(system.predict(texts)) == labels
        yield Result(name, "accuracy %", [100 * float(hits.mean())], what)
    seconds = take_turns(
        {name: _predicts(system, texts) for name, system in systems.items()}, sizes.few
    )
    for name, values in seconds.items():
        yield Result(name, "sentences/s", len(texts) / values, what)
        if name != OURS:
            yield Result(OURS, "ratio", values / seconds[OURS], what, name)
    single = {name: _predicts(system, texts[:1]) for name, system in systems.items()}
    for name, values in take_turns(single, 10 * sizes.repeats).items():
        yield Result(name, "ms", 1e3 * values, Shape(batch=1, lengths="MR"))


def _predicts(system: System, texts: list[str]) -> Callable[[], object]:
    return lambda: system.predict(texts)

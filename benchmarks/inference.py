"""Inference on one core: MR, against sentence length, hidden size and batch size, and its memory.

Three versions of the pyramid alone take turns: ``pyramid`` (the one that predicts), ``padded`` (the
naive baseline) and ``product`` (only the matrix products of the first: its limit). ``predict`` is
all that a user waits for, from strings to probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import adasent
from benchmarks.memory import peak_mb
from benchmarks.records import Result, Shape
from benchmarks.registry import Sizes
from benchmarks.systems import adasent_folder
from benchmarks.timing import exponent, take_turns
from benchmarks.workloads import (
    PackedWork,
    PaddedWork,
    WholePrediction,
    mr,
    n_words,
    shape,
    whole_mr,
)

HIDDEN = 100
BATCH = 128
VECTOR = 256  # d
GROUPS = 25  # N that is looked at closest
OTHER_GROUPS = (1, 50, 100)


def on_mr(sizes: Sizes) -> Iterator[Result]:
    """Sentences of MR: the pyramid and whole predictions against the limit and the baselines."""
    texts = mr().test_texts[: sizes.n_sentences]
    lengths = n_words(texts)
    predictor = adasent.load(adasent_folder(sizes))
    config = predictor.network.config
    hidden = config.hidden_size
    packed = PackedWork(lengths, hidden, n_groups=config.gate_groups)
    padded = PaddedWork(lengths, hidden, BATCH, by_length=False)
    by_length = PaddedWork(lengths, hidden, BATCH, by_length=True)
    seconds = take_turns(
        {
            "predict": lambda: predictor.predict_proba(texts),
            "pyramid": packed.pyramid,
            "product": packed.product,
            "padded": padded.pyramid,
            "padded, sorted": by_length.pyramid,
        },
        sizes.repeats,
    )
    what = shape(lengths, hidden, "MR", BATCH)
    for provider, values in seconds.items():
        yield Result(provider, "sentences/s", len(texts) / values, what)
    for provider in ("pyramid", "predict"):
        for against in ("product", "padded", "padded, sorted"):
            yield Result(provider, "ratio", seconds[against] / seconds[provider], what, against)


def with_groups(sizes: Sizes) -> Iterator[Result]:
    """All of MR from strings to probabilities, and its limit, with gates for N groups."""
    for n_groups in (GROUPS, *OTHER_GROUPS):
        work = WholePrediction(whole_mr()[: sizes.n_all], HIDDEN, VECTOR, n_groups)
        limit = PackedWork(work.lengths, HIDDEN, n_groups=n_groups)
        seconds = take_turns({"predict": work.predict, "product": limit.product}, sizes.few)
        what = shape(work.lengths, HIDDEN, "MR")
        for provider, values in seconds.items():
            rates = len(work.texts) / values
            yield Result(f"{provider}, N = {n_groups}", "sentences/s", rates, what)
        ratio = seconds["product"] / seconds["predict"]
        yield Result(f"predict, N = {n_groups}", "ratio", ratio, what, "product")


def against_length(sizes: Sizes) -> Iterator[Result]:
    """Sentences of T words each, and the exponent of time in the sum of cells."""
    cells, medians = [], []
    for longest in sizes.lengths:
        lengths = np.full(sizes.n_equal, longest, dtype=np.int64)
        packed = PackedWork(lengths, HIDDEN)
        rounds = sizes.repeats if longest <= 64 else sizes.few
        seconds = take_turns({"pyramid": packed.pyramid, "product": packed.product}, rounds)
        what = shape(lengths, HIDDEN, "equal")
        for provider, values in seconds.items():
            yield Result(provider, "s", values, what)
        yield Result("pyramid", "ratio", seconds["product"] / seconds["pyramid"], what, "product")
        assert what.cells is not None
        cells.append(what.cells)
        medians.append(float(np.median(seconds["pyramid"])))
    yield Result("pyramid", "exponent", [exponent(cells, medians)], Shape(hidden=HIDDEN))


def against_hidden_size(sizes: Sizes) -> Iterator[Result]:
    """Sentences of MR with units of D numbers."""
    lengths = n_words(mr().test_texts[: sizes.n_sentences])
    for hidden in sizes.hidden_sizes:
        packed = PackedWork(lengths, hidden)
        seconds = take_turns({"pyramid": packed.pyramid, "product": packed.product}, sizes.few)
        what = shape(lengths, hidden, "MR")
        for provider, values in seconds.items():
            yield Result(provider, "sentences/s", len(lengths) / values, what)
        yield Result("pyramid", "ratio", seconds["product"] / seconds["pyramid"], what, "product")


def against_batch_size(sizes: Sizes) -> Iterator[Result]:
    """Sentences of MR in batches of B, of similar length and mixed."""
    lengths = n_words(mr().test_texts[: sizes.n_sentences // 2])
    by_length = np.argsort(-lengths, kind="stable")
    for batch in sizes.batch_sizes:
        starts = range(0, len(lengths), batch)
        similar = [by_length[start : start + batch] for start in starts]
        # Within a batch the longest comes first, but which sentences meet is left to chance.
        mixed = [
            start + np.argsort(-lengths[start : start + batch], kind="stable") for start in starts
        ]
        seconds = take_turns(
            {
                "pyramid": PackedWork(lengths, HIDDEN, similar).pyramid,
                "pyramid, mixed lengths": PackedWork(lengths, HIDDEN, mixed).pyramid,
                "padded, mixed lengths": PaddedWork(
                    lengths, HIDDEN, batch, by_length=False
                ).pyramid,
            },
            sizes.few,
        )
        what = shape(lengths, HIDDEN, "MR", batch)
        for provider, values in seconds.items():
            yield Result(provider, "sentences/s", len(lengths) / values, what)


def memory_against_length(sizes: Sizes) -> Iterator[Result]:
    """Peak memory of one text of T words, and its exponent in T."""
    folder = adasent_folder(sizes)
    found: dict[str, list[float]] = {"predict": [], "padded": []}
    for longest in sizes.memory_lengths:
        what = shape(np.array([longest]), HIDDEN, "equal", 1)
        for provider, values in found.items():
            values.append(peak_mb(provider, longest=longest, folder=str(folder)))
            yield Result(provider, "MB", values[-1:], what)
    for provider, values in found.items():
        slope = exponent([float(length) for length in sizes.memory_lengths], values)
        yield Result(provider, "exponent", [slope], Shape(hidden=HIDDEN))

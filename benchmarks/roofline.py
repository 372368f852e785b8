"""What the core can do, measured beside what the pyramid does: products, bandwidth, shares."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.inference import HIDDEN
from benchmarks.records import Result, Shape
from benchmarks.registry import Sizes
from benchmarks.timing import take_turns
from benchmarks.workloads import PackedWork, mr, n_words, shape

SQUARE = 1024
COPIED = 1 << 26  # bytes, larger than a core's share of the last cache


def roofline(sizes: Sizes) -> Iterator[Result]:
    """Rates of a large product, a large copy, the products of MR's levels and the whole pyramid."""
    lengths = n_words(mr().test_texts[: sizes.n_sentences])
    packed = PackedWork(lengths, HIDDEN)
    square = np.random.default_rng(0).normal(size=(SQUARE, SQUARE)).astype(np.float32)
    out = np.empty_like(square)
    source = np.ones(COPIED // 4, dtype=np.float32)
    target = np.empty_like(source)
    seconds = take_turns(
        {
            "large product": lambda: np.matmul(square, square, out=out),
            "copy": lambda: np.copyto(target, source),
            "product": packed.product,
            "pyramid": packed.pyramid,
        },
        sizes.repeats,
    )
    what = shape(lengths, HIDDEN, "MR")
    peak = 2 * SQUARE**3 / seconds["large product"]
    bandwidth = 2 * COPIED / seconds["copy"]
    yield Result("large product", "GFLOP/s", peak / 1e9, Shape(dtype="float32"))
    yield Result("copy", "GB/s", bandwidth / 1e9, Shape(dtype="float32"))
    for provider in ("product", "pyramid"):
        rate = packed.flops / seconds[provider]
        yield Result(provider, "GFLOP/s", rate / 1e9, what)
        yield Result(provider, "ratio", rate / peak, what, "large product")
    traffic = packed.traffic / seconds["pyramid"]
    yield Result("pyramid", "GB/s", traffic / 1e9, what)
    yield Result("pyramid", "ratio", traffic / bandwidth, what, "copy")

"""An exported model in ONNX Runtime against the numpy runtime, on one core, from ids.

Networks have random weights; they are as fast as trained ones. Both take the sentences of MR
sorted by length, in batches of as many words as each is fastest with.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import onnxruntime

from adasent.export.onnx_block import Block
from adasent.export.onnx_climb import Sizes as GraphSizes
from adasent.export.onnx_climb import climb_by_loop, kept_gates, level, pool
from adasent.export.onnx_graph import network_model
from adasent.runtime.climb import NUMPY, Composition, Passes
from adasent.runtime.compiled import NUMBA
from adasent.runtime.network import Network
from adasent.text.encoder import TextEncoder
from adasent.text.tokenize import words as tokenise
from benchmarks.records import Result, Shape
from benchmarks.registry import Sizes
from benchmarks.timing import take_turns
from benchmarks.workloads import WholePrediction, mr, shape
from examples.onnx_predict import batches, classify, pad

HIDDEN, VECTOR = 100, 256  # D, d
GROUPS = (1, 25, 100)  # N: the paper's gate, a few, and one for each dimension, as by default
BATCH_WORDS = (200, 400, 800, 1600)  # of which the fastest is chosen, before it is measured
TOGETHER = 40  # texts of a batch, and
EQUAL = 20  # words of each sentence where Loop and unrolled levels are compared

#: What is told of -> what it is compared with. Traces are numba's, and hold every gate too.
RIVALS = {
    "numpy": (),
    "numba": (),
    "onnx": ("numpy", "numba"),
    "traces": (),
    "onnx, gates": ("traces",),
}


def on_mr(sizes: Sizes) -> Iterator[Result]:
    """Sentences of MR, with and without numba, with and without gates among the outputs."""
    texts = mr().test_texts[: sizes.n_sentences]
    for n_groups in GROUPS:
        work = WholePrediction(texts, HIDDEN, VECTOR, n_groups)
        ids = TextEncoder(tokenise, work.vocabulary, int(work.lengths.max()))(texts)
        seconds = take_turns(_contenders(work.network, ids, sizes.few), sizes.few)
        what = shape(work.lengths, HIDDEN, "MR")
        for name, rivals in RIVALS.items():
            rates = len(ids) / seconds[name]
            yield Result(f"{name}, N = {n_groups}", "sentences/s", rates, what)
            for rival in rivals:
                ratios = seconds[rival] / seconds[name]
                yield Result(f"{name}, N = {n_groups}", "ratio", ratios, what, rival)


def _contenders(
    network: Network, ids: list[np.ndarray], repeats: int
) -> dict[str, Callable[[], object]]:
    session, compiled = open_graph(network), by(NUMBA, network)
    batched = {n: partial(classify, session, ids, n) for n in BATCH_WORDS}
    tried = take_turns({str(n): work for n, work in batched.items()}, repeats)
    fastest = min(BATCH_WORDS, key=lambda n: np.median(tried[str(n)]))
    return {
        "numpy": partial(by(NUMPY, network).probabilities, ids),
        "numba": partial(compiled.probabilities, ids),
        "onnx": batched[fastest],
        "traces": partial(traces, compiled, ids),
        "onnx, gates": partial(with_gates, session, ids),
    }


def unrolled_levels(sizes: Sizes) -> Iterator[Result]:
    """Levels as rounds of a Loop, and one after the other in a graph for so many words alone."""
    for n_groups in GROUPS:
        network = WholePrediction(mr().train_texts[:1], HIDDEN, VECTOR, n_groups).network
        ids = [np.arange(i, i + EQUAL) % len(network.table) for i in range(sizes.n_equal)]
        loop, unrolled = (open_graph(network, climb) for climb in (climb_by_loop, climb_unrolled))
        for n_texts, name in ((1, "alone"), (TOGETHER, "together")):
            contenders = {
                "loop": partial(run_all, loop, ids, n_texts),
                "unrolled": partial(run_all, unrolled, ids, n_texts),
            }
            seconds = take_turns(contenders, sizes.few)
            what = Shape(n_texts, EQUAL, HIDDEN, "equal")
            for one, values in seconds.items():
                rates = len(ids) / values
                yield Result(f"{one}, {name}, N = {n_groups}", "sentences/s", rates, what)
            ratios = seconds["unrolled"] / seconds["loop"]
            yield Result(f"loop, {name}, N = {n_groups}", "ratio", ratios, what, "unrolled")


def open_graph(network: Network, climb: Callable[..., Any] = climb_by_loop) -> Any:
    """A session on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    data = network_model(network, network.table, climb).SerializeToString()
    return onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def with_gates(session: Any, ids: list[np.ndarray]) -> None:
    """All that the graph gives, in small batches: gates fill a square of words for each text."""
    for some in batches([len(row) for row in ids], min(BATCH_WORDS)):
        session.run(None, pad([ids[i] for i in some], keep_gates=True))


def traces(network: Network, ids: list[np.ndarray]) -> None:
    """All that the numpy runtime knows of each text."""
    for row in ids:
        network.trace("", row)


def run_all(session: Any, ids: list[np.ndarray], n_texts: int) -> None:
    """All texts, so many at once."""
    for first in range(0, len(ids), n_texts):
        session.run(["probabilities"], pad(ids[first : first + n_texts]))


class _Always:
    """In place of what decides between numpy and numba."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def passes(self, *_: object) -> Passes:
        return self._passes


def by(passes: Passes, network: Network) -> Network:
    """The same network, always climbed like this."""
    other = copy.copy(network)
    other.backend = _Always(passes)
    return other


def climb_unrolled(
    block: Block, units: str, mask: str, composition: Composition, sizes: GraphSizes
) -> tuple[str, str]:
    """As :func:`climb_by_loop`, for texts of ``EQUAL`` words."""
    pooled, gates = [], []
    for _ in range(EQUAL - 1):
        units, shares = level(block, units, composition)
        mask = block.cut(mask, 0, 1)
        for found, one in (
            (pooled, pool(block, units, mask, composition.maximum)),
            (gates, kept_gates(block, shares, mask, sizes)),
        ):
            found.append(block.op("Unsqueeze", one, block.ints(0)))
    return block.op("Concat", *pooled, axis=0), block.op("Concat", *gates, axis=0)

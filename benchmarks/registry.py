"""Name of a benchmark -> the function that measures it, and the sizes it is given."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.records import Result


@dataclass(frozen=True)
class Sizes:
    """How much is measured.

    Attributes
    ----------
    repeats
        Rounds of quick measurements; those of a second or more take a third of them.
    n_sentences
        Sentences of MR in the throughput measurements.
    n_all
        The same where all of MR is read.
    n_equal
        Sentences of equal length in the measurements against T.
    n_steps
        Batches of a training measurement.
    epochs, vectors
        Of the AdaSent that is trained for the comparison with peers: at most so many.
    n_minilm
        Sentences that MiniLM encodes to train its classifier; the others train on all.
    """

    repeats: int = 15
    n_sentences: int = 1_067
    n_all: int = 10_662
    n_equal: int = 128
    n_steps: int = 12
    epochs: int = 30
    vectors: tuple[str, ...] = ("wiki-imdb-200d", "glove-100d", "minilm-256d")
    n_minilm: int = 9_595
    lengths: tuple[int, ...] = (4, 8, 16, 32, 64, 128, 256)
    hidden_sizes: tuple[int, ...] = (20, 50, 100, 128, 200, 300)
    batch_sizes: tuple[int, ...] = (1, 4, 16, 64, 128, 256)
    memory_lengths: tuple[int, ...] = (250, 500, 1000, 2000)

    @property
    def few(self) -> int:
        """Rounds of a measurement that takes seconds."""
        return max(self.repeats // 3, 1)


FULL = Sizes()
QUICK = Sizes(
    repeats=3,
    n_sentences=128,
    n_all=128,
    n_equal=32,
    n_steps=2,
    epochs=1,
    vectors=("wiki-50d",),
    n_minilm=500,
    lengths=(4, 8, 16, 32, 64),
    hidden_sizes=(20, 100),
    batch_sizes=(1, 16, 128),
    memory_lengths=(250, 500, 1000),
)


@dataclass(frozen=True)
class Benchmark:
    """Where a benchmark's function is, and what it runs on.

    Attributes
    ----------
    threads
        Of every library.
    systems
        What must be trained before: nothing, ``adasent``, or ``all`` systems.
    """

    module: str
    function: str
    threads: int = 1
    systems: str = ""

    def load(self) -> Callable[[Sizes], Iterator[Result]]:
        """Import it; only now, since some need packages that others do without."""
        function: Callable[[Sizes], Iterator[Result]] = getattr(
            importlib.import_module(f"benchmarks.{self.module}"), self.function
        )
        return function


CPU = {
    "mr": Benchmark("inference", "on_mr", systems="adasent"),
    "groups": Benchmark("inference", "with_groups"),
    "stages": Benchmark("stages", "stages"),
    "length": Benchmark("inference", "against_length"),
    "hidden": Benchmark("inference", "against_hidden_size"),
    "batch": Benchmark("inference", "against_batch_size"),
    "memory": Benchmark("inference", "memory_against_length", systems="adasent"),
    "roofline": Benchmark("roofline", "roofline"),
    "training": Benchmark("training", "step", threads=2),
    "onnx": Benchmark("onnx_rate", "on_mr"),
    "onnx-levels": Benchmark("onnx_rate", "unrolled_levels"),
    "peers": Benchmark("peers", "on_mr", systems="all"),
}

#: Scripts of their own, run one after the other on a machine with CUDA, with their arguments;
#: ``{out}`` stands for the folder of the results.
GPU = (
    ("gpu_pyramid.py", "{out}"),
    ("stacked.py", "--out", "{out}/stacked.jsonl"),
    ("gpu_crossval.py", "--out", "{out}/gpu_crossval.jsonl"),
    ("gpu_results.py", "{out}"),
)

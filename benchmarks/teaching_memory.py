"""Peak memory of teaching with very many sentences: made-up text and a teacher that costs nothing.

    python -m benchmarks.teaching_memory --sentences 1000000

Sentences of twenty words drawn from 50,000 by Zipf's law, two classes, a student of the default
size that is trained for a few batches: what is measured is all around training, and its tables.
Prints megabytes of resident memory at the highest, seconds of each stage, and what was counted.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence

import numpy as np

from adasent import AdaSentClassifier
from adasent.teaching.teach import ExtraConfig, teach
from adasent.vectors.words import WordVectors

N_WORDS, LENGTH = 50_000, 20


def sentences(n: int, seed: int) -> Iterator[str]:
    """Made one at a time, a thousand drawn at once."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, N_WORDS + 1)
    bounds = np.cumsum(share / share.sum())
    for start in range(0, n, 1000):
        drawn = np.searchsorted(bounds, rng.random((min(1000, n - start), LENGTH)))
        for row in drawn.tolist():
            yield " ".join(f"w{word}" for word in row)


class Parity:
    """Says which class a text is of by its length."""

    classes_ = np.array(["even", "odd"])

    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        odd = np.array([0.9 if len(text) % 2 else 0.1 for text in texts])
        return np.column_stack([1 - odd, odd])


class Stages:
    """Prints when a stage begins."""

    def __init__(self) -> None:
        self.start = time.perf_counter()

    def on_stage(self, name: str, total: int | None) -> None:
        print(f"{time.perf_counter() - self.start:7.1f} s  {peak_mb():7.0f} MB  {name}", flush=True)

    def on_progress(self, n_done: int, n_asked: int) -> None:
        pass


def peak_mb() -> float:
    """The highest resident memory of this process so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sentences", type=int, default=1_000_000)
    n = parser.parse_args().sentences
    texts = list(sentences(2000, 1))
    labels = ["odd" if len(text) % 2 else "even" for text in texts]
    words = [f"w{i}" for i in range(N_WORDS)]
    matrix = np.random.default_rng(0).standard_normal((N_WORDS, 256), dtype=np.float32)
    student = AdaSentClassifier(
        vectors=WordVectors(words, matrix), epochs=1, epoch_size=500, device="cpu"
    )
    stages = Stages()
    taught = teach(
        texts,
        labels,
        Parity(),
        unlabelled=sentences(n, 2),
        student=student,
        extra=ExtraConfig(n_extra=n, n_read=n),
        observer=stages,
    )
    stages.on_stage("done", None)
    print(taught.report.extra, f"{len(taught.student.vocabulary_):,} words")


if __name__ == "__main__":
    main()

"""Where the time of ``adasent teach`` goes: seconds and processor seconds of each stage.

    python -m benchmarks.teaching_time --teacher DIR --unlabelled FILE [--texts 2000]
        [--sentences 5000] [--threads 1] [--device cpu]

The set is ``snippets``, or a random part of it. With ``--texts`` and ``--sentences`` that are less
than all, the last line reckons from the processor seconds what the whole takes on so many cores as
there are threads, if threads help in proportion: tuning and the student grow with the texts,
labelling with the sentences.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from adasent.data import load
from adasent.data.corpus import take
from adasent.estimators.registry import make
from adasent.teaching.sentences import read_texts
from adasent.teaching.student import TeachingConfig, rhythm
from adasent.teaching.teach import ExtraConfig, teach
from adasent.teaching.teacher import find_teacher
from adasent.vectors.words import read_vectors

#: What the issue asks for.
WHOLE = 100_000


class Clock:
    """Notes when each stage begins."""

    def __init__(self) -> None:
        self.marks: list[tuple[str, float, float]] = []

    def on_stage(self, name: str, total: int | None) -> None:
        """A stage begins."""
        self.marks.append((name, time.perf_counter(), time.process_time()))

    def on_progress(self, n_done: int, n_asked: int) -> None:
        """Nothing to note."""

    def stages(self) -> dict[str, tuple[float, float]]:
        """Seconds and processor seconds of each."""
        pairs = zip(self.marks, self.marks[1:], strict=False)
        return {one[0]: (two[1] - one[1], two[2] - one[2]) for one, two in pairs}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--teacher", required=True)
    parser.add_argument("--unlabelled", type=Path, required=True)
    parser.add_argument("--texts", type=int)
    parser.add_argument("--sentences", type=int, default=WHOLE)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device")
    parser.add_argument("--vectors", type=Path)
    options = parser.parse_args()
    corpus = load("snippets")
    rows = np.random.default_rng(0).permutation(len(corpus.texts))[: options.texts]
    clock = Clock()
    common = {"n_jobs": options.threads, "device": options.device}
    sources = None if options.vectors is None else [read_vectors(options.vectors)]
    student = make("adasent", vectors=sources, **common)
    taught = teach(
        take(corpus.texts, rows),
        take(corpus.labels, rows),
        find_teacher(options.teacher, **common),
        unlabelled=read_texts([options.unlabelled]),
        student=student,
        extra=ExtraConfig(n_extra=options.sentences),
        observer=clock,
    )
    clock.on_stage("end", None)
    report = taught.report
    print(f"{len(rows):,} texts, {report.n_extra:,} sentences, {options.threads} threads")
    print(f"teacher {report.teacher_accuracy:.4f}, student {report.student_accuracy:.4f}")
    for name, (seconds, processor) in clock.stages().items():
        print(f"{name:10} {seconds:8.1f} s {processor:8.1f} s of processor")
    spent = {name: processor for name, (_, processor) in clock.stages().items()}
    by_texts = len(corpus.texts) / len(rows)
    known = report.n_labelled + report.n_dev
    by_labels = (by_texts * known + WHOLE) / (known + report.n_extra)
    epochs, config = student.epochs, TeachingConfig()
    now = rhythm(report.n_labelled, report.n_extra, epochs, config)[1]
    then = rhythm(round(by_texts * report.n_labelled), WHOLE, epochs, config)[1]
    n_epochs = len(taught.student.history_)
    whole = {
        "reading": spent["reading"],
        "teacher": by_texts * spent["teacher"],
        "labelling": by_labels * spent["labelling"],
        "student": then / now * epochs / n_epochs * spent["student"],
        "comparing": by_texts * spent["comparing"],
    }
    parts = ", ".join(f"{name} {seconds:.0f}" for name, seconds in whole.items())
    total = sum(whole.values())
    print(f"all of it, of processor: {parts}: {total:.0f} s, at most ({epochs} epochs)")
    print(
        f"on {options.threads} idle cores, if both are used: {total / options.threads / 60:.0f} min"
    )


if __name__ == "__main__":
    main()

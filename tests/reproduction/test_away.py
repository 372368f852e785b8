"""Vectors trimmed for another machine read as they were, but for the rounding."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from adasent.data.derived import vector_digest
from adasent.vectors.words import WordVectors
from reproduction.away import TrimmedJobs, read_trimmed, write_trimmed


def test_trimmed_vectors_come_back(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    vectors = WordVectors(["a", "b\u0085", "\u2028c", "d"], matrix)
    write_trimmed(tmp_path, "some", vectors, {"d", "b\u0085", "\u2028c", "unknown"})
    found = read_trimmed(tmp_path, "some")
    assert found.words == ["b\u0085", "\u2028c", "d"]
    np.testing.assert_allclose(found.matrix, matrix[1:], rtol=1e-3)


def test_jobs_read_them_and_name_the_whole_files(tmp_path: Path) -> None:
    jobs = TrimmedJobs(tmp_path)
    names = jobs.plan.protocol.vectors
    for dim, name in enumerate(names, start=1):
        vectors = WordVectors(["a", "b"], np.ones((2, dim), dtype=np.float32))
        write_trimmed(tmp_path, name, vectors, {"b"})
    run = jobs.plan.runs("table2", ["CR"], ["adasent"])[0]
    assert jobs.vector_size(run) == sum(range(1, len(names) + 1))
    assert [jobs._described(name)["sha256"] for name in names] == [*map(vector_digest, names)]
    assert jobs._source(names[0]).words == ["b"]

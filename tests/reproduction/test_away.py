"""Vectors trimmed for another machine read as they were, but for the rounding."""

from __future__ import annotations

import tarfile
from argparse import Namespace
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from adasent.data.derived import vector_digest
from adasent.evaluation.records import read_records
from adasent.vectors.words import WordVectors
from experiment_cases import made_up, toy_corpus
from reproduction.away import TrimmedJobs, merge, show_plan, worker_arguments
from reproduction.catalog import open_store
from reproduction.jobs import Jobs
from reproduction.specs import Experiments
from reproduction.trimmed import read_trimmed, write_trimmed

EARLIER = {"table": "table2", "system": "adasent", "epochs": 1}


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


@pytest.mark.usefixtures("toy_registry")
def test_what_comes_back_replaces_an_earlier_plan_where_it_is_whole(
    plan: Experiments, tmp_path: Path
) -> None:
    jobs = Jobs(plan, read=toy_corpus)
    here, there = open_store(tmp_path / "results"), open_store(tmp_path / "there")
    for data in ("MR", "SUBJ"):  # of each set a fold by an earlier plan
        here.add(replace(made_up("adasent", data, [1, 0], n_folds=5), spec={**EARLIER}))
    planned = [jobs.job(run) for run in plan.runs("table2", ["MR", "SUBJ"], ["adasent"])]
    for job in planned:
        if (job.data, job.fold) != ("SUBJ", 3):  # which the machine had no time for
            there.add(
                replace(
                    made_up("adasent", job.data, [1, 1], fold=job.fold, n_folds=5),
                    spec=job.spec,
                    seed=job.seed,
                    sha256=job.corpus.sha256,
                )
            )
    for data in ("MR", "SUBJ"):  # its copy of the files had the earlier records, too
        there.add(replace(made_up("adasent", data, [1, 0], n_folds=5), spec={**EARLIER}))
    with tarfile.open(tmp_path / "new.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "there" / "table2", "table2")
    merge(tmp_path / "new.tar.gz", tmp_path / "results", jobs)
    found = {
        data: read_records(tmp_path / f"results/table2/adasent/{data}-random.jsonl")
        for data in ("MR", "SUBJ")
    }
    assert sorted(record.fold for record in found["MR"]) == [0, 1, 2, 3, 4]
    assert {record.key for record in found["MR"]} <= {job.key for job in planned}
    assert sum(record.spec == EARLIER for record in found["SUBJ"]) == 1
    assert len(found["SUBJ"]) == 5


@pytest.mark.parametrize("n", [1, 2, 6])
def test_processes_of_a_search_share_no_training(n: int) -> None:
    options = Namespace(what=["x.toml"], sets=["MR", "CR"], processes=n, folds=[0, 2, 4])
    pairs = []
    for verb, _, *rest in worker_arguments(options):
        assert verb == "search"
        at = rest.index("--folds")
        pairs += [*product(rest[1:at], rest[at + 1 :])]
    assert sorted(pairs, key=str) == sorted(product(["MR", "CR"], [0, 2, 4]), key=str)


def test_processes_of_a_table_begin_with_sets_of_their_own() -> None:
    options = Namespace(what=["taught"], sets=["MR", "CR"], processes=3, folds=None)
    orders = [arguments[3:] for arguments in worker_arguments(options)]
    assert orders == [["MR", "CR"], ["CR", "MR"], ["MR", "CR"]]


def test_a_plan_counts_what_is_lacking(
    plan: Experiments, toy_registry: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = Jobs(plan, read=toy_corpus)
    (first, *_) = plan.runs("table2", ["MR"], ["adasent"])
    store = open_store(tmp_path)
    job = jobs.job(first)
    store.add(
        replace(made_up("adasent", "MR", [1]), spec=job.spec, n_folds=5, sha256=job.corpus.sha256)
    )
    options = Namespace(what=["table2"], sets=["MR"], systems=["adasent"], records=tmp_path)
    show_plan(options, jobs)
    (line, total) = capsys.readouterr().out.splitlines()
    assert "lacks    4 of    5" in line
    assert line.endswith("8 s  MR-random")
    assert total.startswith("in all 0.1 minutes")

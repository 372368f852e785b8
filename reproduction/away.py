"""Runs the reproduction on a machine that has a GPU and neither network nor room for whole vectors.

    python -m reproduction.away pack FOLDER                  # here: the sets, the vectors trimmed
    python -m reproduction.away run FOLDER table2 --systems adasent --sets MR --records OUT
    python -m reproduction.away search FOLDER FILE.toml --sets MR --records OUT      # there

Vectors are cut down to the words that occur in the five sets and kept in half precision. A network
of the protocol knows all words of its vectors, so that no text of the sets is read differently; the
last digits differ by the rounding. Records name the whole files, by their digests.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

import numpy as np

from adasent.data import fetch, load
from adasent.data.derived import vector_digest, vector_file
from adasent.data.registry import describe
from adasent.evaluation.runner import run_jobs
from adasent.text.tokenize import get_tokenizer
from adasent.vectors.words import WordVectors, read_vectors
from reproduction.catalog import open_store
from reproduction.jobs import Jobs
from reproduction.paper import paper_sets
from reproduction.specs import experiments


def pack(folder: Path) -> None:
    """Put the sets, and the vectors of the protocol trimmed to their words, into a folder."""
    protocol = experiments().protocol
    tokenizer = get_tokenizer(protocol.tokenizer)
    words: set[str] = set()
    for name in paper_sets():
        words.update(word for text in load(name).texts for word in tokenizer(text))
        for file, path in zip(describe(name).files, fetch(name), strict=True):
            target = folder / "mirror" / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)
    for name in protocol.vectors:
        write_trimmed(folder, name, read_vectors(vector_file(name)), words)


def write_trimmed(folder: Path, name: str, vectors: WordVectors, words: set[str]) -> None:
    """Keep the vectors of these words."""
    rows = [i for i, word in enumerate(vectors.words) if word in words]
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / f"{name}.npy", vectors.matrix[rows].astype(np.float16))
    kept = "\n".join(vectors.words[i] for i in rows)
    (folder / f"{name}.txt").write_text(kept, encoding="utf-8")


def read_trimmed(folder: Path, name: str) -> WordVectors:
    """Inverse of :func:`write_trimmed`, but for the rounding."""
    words = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    return WordVectors(words, np.load(folder / f"{name}.npy").astype(np.float32))


class TrimmedJobs(Jobs):
    """Jobs that read what :func:`pack` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__()

    def _read_source(self, name: str) -> WordVectors:
        return read_trimmed(self.folder, name)

    def _read_width(self, name: str) -> int:
        return self._source(name).dim

    def _describe(self, name: str) -> dict[str, str]:
        return {"name": name, "sha256": vector_digest(name) or ""}


def run(folder: Path, options: argparse.Namespace) -> None:
    """Make the runs of a table that the records lack."""
    jobs = TrimmedJobs(folder)
    planned = jobs.plan.runs(options.what, options.sets, options.systems)
    started = time.perf_counter()
    made = run_jobs(
        [jobs.job(one) for one in planned], open_store(options.records), stack=options.stack
    )
    for job, record, is_new in made:
        where = f"{job.system} {job.data} {job.rule} {job.fold} {job.seed}"
        age = f"{time.perf_counter() - started:.0f} s" if is_new else "was there"
        print(f"{where} {100 * record.accuracy:.2f} {age}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", choices=["pack", "run", "search"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("what", nargs="?", help="a table, or the file of a search")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--systems", nargs="+")
    parser.add_argument("--folds", type=int, nargs="+")
    parser.add_argument("--records", type=Path, default=Path("rerun"))
    parser.add_argument("--stack", type=int, help="networks trained as one, at most")
    options = parser.parse_args()
    if options.command == "pack":
        pack(options.folder)
        return
    os.environ.setdefault("ADASENT_DATA", str(options.folder / "mirror"))
    if options.command == "run":
        run(options.folder, options)
        return
    from reproduction import search_runs

    given = [options.what, "--results", str(options.records)]
    given += ["--sets", *options.sets] if options.sets else []
    given += ["--folds", *map(str, options.folds)] if options.folds else []
    sys.argv[1:] = given
    search_runs.main(TrimmedJobs(options.folder))


if __name__ == "__main__":
    main()

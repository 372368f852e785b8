"""Runs the reproduction on a machine that has a GPU and neither network nor room for whole vectors.

    python -m reproduction.away plan table3 ablations          # here: what the records lack
    python -m reproduction.away pack FOLDER                  # here: the sets, the vectors trimmed
    python -m reproduction.away pack-taught FOLDER --encoder DIR    # or with an encoder and texts
    python -m reproduction.away run FOLDER table2 --systems adasent --sets MR --records OUT
    python -m reproduction.away search FOLDER FILE.toml --sets MR --records OUT      # there
    python -m reproduction.away all FOLDER ablations table3 --minutes 9 --to OUT/new.tar.gz
    python -m reproduction.away merge new.tar.gz             # here: what came back, into results

`all` makes whatever `results` lacks of these tables, or of a search, in several processes that
share the GPU: while one prepares texts, another trains. It stops in time and packs the files that
it has written. Lessons of teachers go to archives of their own (`--lessons`), no larger than a
transfer may be; `lessons FOLDER ARCHIVE...` puts them back where students find them.
Vectors are cut down to the words that occur in the five sets and kept in half precision. A network
of the protocol knows all words of its vectors, so that no text of the sets is read differently; the
last digits differ by the rounding. Records name the whole files, by their digests. Students'
vectors are cut down to the words of sets and texts, in a byte a number, as a student keeps them.
"""

from __future__ import annotations

import argparse
import lzma
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from adasent.data import fetch, load
from adasent.data.derived import vector_digest, vector_file
from adasent.data.registry import describe
from adasent.errors import AdaSentError, DataError
from adasent.evaluation.jobs import Job
from adasent.evaluation.records import FoldRecord, read_records
from adasent.evaluation.runner import run_jobs
from adasent.text.tokenize import get_tokenizer
from adasent.vectors.words import WordVectors, read_vectors
from reproduction.catalog import open_store
from reproduction.encoder import pack_encoder
from reproduction.jobs import Jobs
from reproduction.paper import paper_sets
from reproduction.specs import TABLES, PlannedRun, experiments
from reproduction.texts import write_texts
from reproduction.trimmed import read_trimmed, write_trimmed

#: What teachers and students need, in the folder that is carried.
TEACHING = "teaching"
#: Sentences of each corpus that tell the encoder's vectors of words.
N_TEXTS_READ = 100_000
#: Bytes of an archive of lessons, at most.
ARCHIVE = 15 * 2**20


def pack(folder: Path) -> None:
    """Put the sets, and all vectors of the protocol trimmed to their words, into a folder."""
    plan = experiments()
    protocol = plan.protocol
    tokenizer = get_tokenizer(protocol.tokenizer)
    pack_sets(folder)
    texts = (text for name in paper_sets() for text in load(name).texts)
    words = {word for text in texts for word in tokenizer(text)}
    others = (ablation.vectors or () for ablation in plan.ablations.values())
    for name in dict.fromkeys(chain(protocol.vectors, *others)):
        write_trimmed(folder, name, read_vectors(vector_file(name)), words)


def pack_taught(folder: Path, encoder: Path) -> None:
    """Put the sets into a folder, and what rows on an encoder and taught rows need."""
    plan = experiments()
    tokenizer = get_tokenizer(plan.protocol.tokenizer)
    pack_sets(folder)
    texts = {name: load(name).texts for name in paper_sets()}
    every = [text for part in texts.values() for text in part]
    teaching = folder / TEACHING
    sizes: dict[str, int] = {}
    for wanted in plan.texts.values():
        for kind, n in wanted.items():
            if kind != "made":
                sizes[kind] = max(n, sizes.get(kind, 0))
    corpora = data_folder() / "text"
    write_texts(teaching / "texts", sizes, corpora, every, texts["MPQA"], tokenizer)
    for name in dict.fromkeys(row.encoder for row in plan.taught.values() if row.encoder):
        pack_encoder(name, encoder, teaching / "encoder")
    lessons = Jobs(teaching=teaching).lessons
    words = {word for text in every for word in tokenizer(text)} | lessons.texts.words
    write_trimmed(teaching / "vectors", "static", lessons.static(), words, small=True)


def data_folder() -> Path:
    """The mirror that ADASENT_DATA names, whose texts are no registered files."""
    if "ADASENT_DATA" not in os.environ:
        raise DataError("texts for a teacher are taken from a data mirror; set ADASENT_DATA to it")
    return Path(os.environ["ADASENT_DATA"])


def pack_sets(folder: Path) -> None:
    """Put the files of the sets into a folder, as a mirror."""
    for name in paper_sets():
        for file, path in zip(describe(name).files, fetch(name), strict=True):
            target = folder / "mirror" / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target)


class TrimmedJobs(Jobs):
    """Jobs that read what :func:`pack` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        super().__init__(teaching=folder / TEACHING)

    def _read_source(self, name: str) -> WordVectors:
        return read_trimmed(self.folder, name)

    def _read_width(self, name: str) -> int:
        return self._source(name).dim

    def _describe(self, name: str) -> dict[str, str]:
        return {"name": name, "sha256": vector_digest(name) or ""}


def run(folder: Path, options: argparse.Namespace) -> None:
    """Make the runs of some tables that the records lack; a training that fails stops no other."""
    jobs = TrimmedJobs(folder)
    planned = [
        jobs.job(one)
        for table in options.what
        for one in jobs.plan.runs(table, options.sets, options.systems)
        if options.folds is None or one.fold in options.folds
    ]
    try:
        _make(planned, options)
    except AdaSentError as error:
        print(f"one by one, for {error}", flush=True)
        for job in planned:
            try:
                _make([job], options)
            except AdaSentError as of_job:
                print(f"failed: {job.spec['table']} {job.system} {job.data}: {of_job}", flush=True)


def _make(jobs: Sequence[Job], options: argparse.Namespace) -> None:
    started = time.perf_counter()
    for job, record, is_new in run_jobs(jobs, open_store(options.records), stack=options.stack):
        where = f"{job.spec['table']} {job.system} {job.data} {job.rule} {job.fold} {job.seed}"
        age = f"{time.perf_counter() - started:.0f} s" if is_new else "was there"
        print(f"{where} {100 * record.accuracy:.2f} {age}", flush=True)


def run_all(folder: Path, options: argparse.Namespace) -> None:
    """Several processes at what the records lack, until it is done or the time is over."""
    started = time.time()
    end = started + 60 * options.minutes
    common = ["--records", options.records]
    common += ["--systems", *options.systems] if options.systems else []
    common += ["--stack", options.stack] if options.stack else []
    if options.folds and not options.what[0].endswith(".toml"):
        common += ["--folds", *options.folds]
    workers = []
    for arguments in worker_arguments(options):
        given = [arguments[0], folder, *arguments[1:], *common]
        command = [sys.executable, "-m", "reproduction.away", *map(str, given)]
        workers.append(subprocess.Popen(command))
    for worker in workers:
        try:
            worker.wait(max(0.0, end - time.time()))
        except subprocess.TimeoutExpired:  # runs that are finished are on disk
            worker.kill()
            worker.wait()
    written = [path for path in options.records.rglob("*.jsonl") if path.stat().st_mtime > started]
    with tarfile.open(options.to, "w:gz") as archive:
        for path in sorted(written):
            archive.add(path, path.relative_to(options.records))
    ends = [worker.returncode for worker in workers]
    print(f"{len(written)} files in {time.time() - started:.0f} s; processes ended with {ends}")
    if options.lessons is not None:
        of_now = folder / TEACHING / "lessons"
        new = [path for path in of_now.glob("*.safetensors") if path.stat().st_mtime > started]
        print(f"{len(new)} lessons in {pack_lessons(new, options.lessons)} archives")


def worker_arguments(options: argparse.Namespace) -> list[list[object]]:
    """What each process is to do; in a folder of records they help each other.

    Of tables each begins with a set of its own, and then helps with those of the others. A search
    has no claims: each process has folds of a set, or sets, that no other has.
    """
    sets, n = list(options.sets or paper_sets()), options.processes
    if not options.what[0].endswith(".toml"):
        orders = ([*sets[i % len(sets) :], *sets[: i % len(sets)]] for i in range(n))
        return [["run", *options.what, "--sets", *order] for order in orders]
    if n <= len(sets):
        return [["search", *options.what, "--sets", *sets[i::n], "--folds", *folds_of(options)]
                for i in range(n)]  # fmt: skip
    found: list[list[object]] = []
    for k, data in enumerate(sets):
        n_of_set = len(range(k, n, len(sets)))
        parts = [folds_of(options)[j::n_of_set] for j in range(n_of_set)]
        found += [["search", *options.what, "--sets", data, "--folds", *p] for p in parts if p]
    return found


def folds_of(options: argparse.Namespace) -> list[int]:
    """The folds of a search."""
    from reproduction.search_runs import FOLDS

    return options.folds or FOLDS


def pack_lessons(paths: Sequence[Path], folder: Path) -> int:
    """Archives of lessons, each no larger than :data:`ARCHIVE`; how many there are."""
    folder.mkdir(parents=True, exist_ok=True)
    groups: list[list[Path]] = []
    size = ARCHIVE
    for path in sorted(paths):
        own = len(lzma.compress(path.read_bytes(), preset=1))
        if size + own > ARCHIVE:
            groups.append([])
            size = 0
        groups[-1].append(path)
        size += own
    for i, group in enumerate(groups):
        with tarfile.open(folder / f"lessons-{i}.tar.xz", "w:xz", preset=1) as archive:
            for path in group:
                archive.add(path, path.name)
    return len(groups)


def unpack_lessons(folder: Path, archives: Sequence[str]) -> None:
    """Put lessons where students find them."""
    for name in archives:
        with tarfile.open(name) as files:
            files.extractall(folder / TEACHING / "lessons", filter="data")


def show_plan(options: argparse.Namespace, jobs: Jobs) -> None:
    """Runs of each row that the records lack, and the hours of a GPU that they may take.

    As long as the same row, or the rows on average, took in records of a GPU; a second a run where
    there is none. Six processes that share a GPU are done in about a third of that: both rows of
    AdaSent in Table 2 have 600 s in their records and took 210. Of rows that tune an encoder, and
    of those that read a teacher's texts, no record tells yet: theirs is too low.
    """
    store = open_store(options.records)
    known: dict[tuple[str, str], list[float]] = defaultdict(list)
    for path in sorted(options.records.glob("*/*/*.jsonl")):
        for record in read_records(path):
            if not record.machine.startswith("cpu"):
                each = record.seconds / max(1, len(record.tried))
                for name in (str(record.spec.get("of", record.spec["system"])), ""):
                    known[name, record.data].append(each)
    total = 0.0
    for table in options.what or TABLES:
        rows: dict[str, list[tuple[PlannedRun, Job]]] = defaultdict(list)
        for one in jobs.plan.runs(table, options.sets, options.systems):
            rows[one.system].append((one, jobs.job(one)))
        for system, planned in rows.items():
            found = store.find([job for _, job in planned])
            lacking = [(one, job) for one, job in planned if job.key not in found]
            seconds = sum(
                len(job.settings) * _mean(known, jobs.plan.row(one).registered, one.data)
                for one, job in lacking
            )
            total += seconds
            sets = sorted({f"{one.data}-{one.rule}" for one, _ in lacking})
            said = f"{table:10} {system:24} lacks {len(lacking):4} of {len(planned):4}"
            print(f"{said}  {seconds:6.0f} s  {' '.join(sets)}" if lacking else said)
    print(f"in all {total / 60:.1f} minutes of one process on a GPU, by the records")


def _mean(known: dict[tuple[str, str], list[float]], system: str, data: str) -> float:
    found = known.get((system, data)) or known.get(("", data)) or [1.0]
    return sum(found) / len(found)


def merge(archive: Path, root: Path, jobs: Jobs) -> None:
    """Put what came back in place, and drop records of an earlier plan where the later is done."""
    with tarfile.open(archive) as files:
        files.extractall(root, filter="data")
    store = open_store(root)
    for table in TABLES:
        planned: dict[Path, set[str]] = defaultdict(set)
        for one in jobs.plan.runs(table):
            job = jobs.job(one)
            planned[store.path(job)].add(job.key)
        for path, keys in planned.items():
            lines = {record.key: line for record, line in _records_and_lines(path)}
            if keys <= lines.keys() and keys != lines.keys():
                print(f"{path}: {len(lines) - len(keys)} records of an earlier plan go")
                path.write_bytes(b"".join(line for key, line in lines.items() if key in keys))


def _records_and_lines(path: Path) -> Iterator[tuple[FoldRecord, bytes]]:
    if path.exists():
        yield from zip(read_records(path), path.read_bytes().splitlines(True), strict=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = ["plan", "pack", "pack-taught", "run", "search", "all", "words", "lessons", "merge"]
    parser.add_argument("command", choices=verbs)
    parser.add_argument("what", nargs="*", help="a folder or archive; then tables, or a search")
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--systems", nargs="+")
    parser.add_argument("--folds", type=int, nargs="+")
    parser.add_argument("--records", type=Path, default=Path("results"))
    parser.add_argument("--stack", type=int, help="networks trained as one, at most")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=9.0)
    parser.add_argument("--to", type=Path, default=Path("new.tar.gz"))
    parser.add_argument("--lessons", type=Path, help="folder for archives of new lessons")
    parser.add_argument("--encoder", type=Path, help="pack-taught: the folder of gte-small")
    options = parser.parse_args()
    if options.command == "plan":
        show_plan(options, Jobs())
        return
    if not options.what:
        parser.error(f"{options.command} needs a folder")
    first, options.what = Path(options.what[0]), options.what[1:]
    if options.command == "pack":
        pack(first)
    elif options.command == "pack-taught":
        if options.encoder is None:
            parser.error("pack-taught needs --encoder")
        pack_taught(first, options.encoder)
    elif options.command == "lessons":
        unpack_lessons(first, options.what)
    elif options.command == "merge":
        merge(first, options.records, Jobs())
    else:
        os.environ.setdefault("ADASENT_DATA", str(first / "mirror"))
        _work(first, options)


def _work(folder: Path, options: argparse.Namespace) -> None:
    """What is done on the other machine."""
    if options.command == "words":
        from adasent.training.loop import default_device

        (name,) = {row.encoder for row in experiments().taught.values() if row.encoder}
        TrimmedJobs(folder).lessons.read_words(name, N_TEXTS_READ, str(default_device()))
        return
    if options.command != "search":
        {"run": run, "all": run_all}[options.command](folder, options)
        return
    from reproduction import search_runs

    given = [*options.what, "--results", str(options.records)]
    given += ["--sets", *options.sets] if options.sets else []
    given += ["--folds", *map(str, options.folds)] if options.folds else []
    sys.argv[1:] = given
    search_runs.main(TrimmedJobs(folder))


if __name__ == "__main__":
    main()

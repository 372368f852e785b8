"""Files of any number and size, labelled by a model on a Ray cluster into a folder of Parquet.

Ray Data moves numbers of parts alone: an actor of its pool reads a range of rows, labels it and
writes it, with the readers and the writer of a single process. So rows agree with what
``adasent predict`` gives of the same files, no row passes through the object store, and memory is
that of a chunk of rows an actor.
"""

from __future__ import annotations

import logging
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias

from adasent.data.tables import Table
from adasent.distributed.bulk_job import Identity, Manifest
from adasent.distributed.bulk_model import SharedModel, share
from adasent.distributed.bulk_places import OutputFolder, find_inputs
from adasent.distributed.bulk_plan import BulkConfig, first_rows, plan
from adasent.distributed.bulk_worker import Done, Part, Work, Worker
from adasent.distributed.cluster import connected
from adasent.errors import (
    AdaSentError,
    AdaSentWarning,
    ConfigError,
    is_on_a_command_line,
    require,
    setting,
)
from adasent.estimators.labelling import Columns

#: Seconds between two notes of what is finished.
_NOTE_EVERY = 5.0
#: Problems that an error names one by one.
_NAMED = 3
_ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1"
)


#: What the manifest says of finished parts, by name.
Notes: TypeAlias = dict[str, Mapping[str, Any]]


class Observer(Protocol):
    """Sees how the work goes on, and changes nothing."""

    def on_read(self, table: Table, columns: Columns) -> None:
        """The first file was looked at."""

    def on_plan(self, n_parts: int, n_finished: int, n_rows: int | None) -> None:
        """So many parts are to be there, some are; rows of the others, where that is known."""

    def on_part(self, done: Done) -> None:
        """A part is finished, or could not be done."""


class _Nobody:
    def on_read(self, table: Table, columns: Columns) -> None:
        pass

    def on_plan(self, n_parts: int, n_finished: int, n_rows: int | None) -> None:
        pass

    def on_part(self, done: Done) -> None:
        pass


class Report(NamedTuple):
    """What became of a job."""

    n_rows: int  # that this call labelled
    n_missing: int  # of these, without a text
    n_long: int
    n_empty: int
    n_parts: int
    n_finished_before: int


def label_files(
    model: Path,
    inputs: Sequence[str],
    out: str,
    config: BulkConfig | None = None,
    *,
    address: str | None = None,
    force: bool = False,
    observer: Observer | None = None,
) -> Report:
    """Label all rows of files; see ``docs/scale.md``.

    Called again with the same arguments, it does what is not done yet.

    Parameters
    ----------
    inputs
        Files, globs, folders, or addresses of object stores, of any formats that have the same
        columns.
    out
        Folder for the parts, or its address.
    address
        Of a cluster; see :func:`~adasent.distributed.cluster.connected`.
    force
        Whether to replace the answers of another job.

    Raises
    ------
    ConfigError
        If the folder is of another job.
    AdaSentError
        If rows could not be labelled; all other parts are finished by then.
    """
    config, observer = config or BulkConfig(), observer or _Nobody()
    require("pyarrow", "ray", "writing Parquet")
    shared = share(model, config.device)
    labeller = shared.open(None)
    config.answering.check(labeller)
    files = find_inputs(inputs)
    identity = Identity(shared.digest, [one.name for one in files], config.options)
    folder = OutputFolder(out)
    manifest = Manifest(folder, identity, force=force)
    layout, types = first_rows(files, config, labeller, observer.on_read)
    with connected(address, n_cpus=config.workers) as ray:
        parts = plan(ray, files, types, config, identity)
        finished = manifest.begin([part.name for part in parts])
        todo = [part for part in parts if part.name not in finished]
        counts = [part.range.n_rows for part in todo]
        known = [n for n in counts if n is not None]
        observer.on_plan(len(parts), len(finished), sum(known) if len(known) == len(todo) else None)
        work = Work(
            out,
            config.how,
            config.answering,
            layout,
            types,
            len(files) > 1,
            "cuda" if config.on_gpu else config.device,  # each worker sees one GPU alone
            is_on_a_command_line(),
        )
        notes: Notes = {part.name: _note(part) for part in parts if part.name in finished}
        found = _followed(_run(ray, work, shared, todo, config), todo, notes, manifest, observer)
        done = list(found)
    problems = [one.problem for one in done if one.problem is not None]
    manifest.end(notes, finished=not problems)
    _warn(done)
    if problems:
        shown = "; ".join(problems[:_NAMED]) + ("; ..." if len(problems) > _NAMED else "")
        raise AdaSentError(
            f"{len(problems)} of {len(parts)} parts could not be done: {shown}; the others are "
            f"finished in {out}: mend these rows, and the same command does what is left"
        )
    total = Counter(n_rows=0, n_missing=0, n_long=0, n_empty=0)
    for one in done:
        total.update(
            n_rows=one.n_rows, n_missing=one.n_missing, n_long=one.n_long, n_empty=one.n_empty
        )
    return Report(**total, n_parts=len(parts), n_finished_before=len(finished))


def _run(
    ray: Any, work: Work, shared: SharedModel, todo: Sequence[Part], config: BulkConfig
) -> Iterator[Done]:
    """What becomes of each part, in the order in which they end."""
    if not todo:
        return
    data = require("ray.data", "ray", "the engine ray")
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = data.DataContext.get_current()
    context.enable_progress_bars = context.print_on_execution_start = False
    workers = min(len(todo), config.workers or _room(ray, on_gpu=config.on_gpu))
    dataset = data.from_items(
        [{"id": i} for i in range(len(todo))], override_num_blocks=len(todo)
    ).map(
        Worker,
        fn_constructor_args=(work, [ray.put(shared)], [ray.put(list(todo))]),
        compute=data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=1,
        num_gpus=1 if config.on_gpu else 0,
        runtime_env={"env_vars": _ONE_THREAD},
    )
    try:
        for batch in dataset.iter_batches(batch_size=None, prefetch_batches=0):
            yield from map(Done.from_row, batch["done"].tolist())
    except ray.exceptions.RayError as error:
        cause = getattr(error, "cause", None) or error
        said = (str(cause).strip() or type(cause).__name__).splitlines()[-1]
        raise AdaSentError(
            f"the Ray cluster gave up: {said}; finished parts are kept in {work.out}, and the same "
            "command goes on from there"
        ) from error


def _room(ray: Any, *, on_gpu: bool) -> int:
    """Workers that the cluster has room for."""
    kind = "GPU" if on_gpu else "CPU"
    n = int(ray.cluster_resources().get(kind, 0))
    if n < 1:
        raise ConfigError(
            f"the Ray cluster has no {kind} to work on; add a node to it, or name "
            f"{setting('workers', 'N')} that are to wait for one"
        )
    return n


def _followed(
    found: Iterator[Done],
    todo: Sequence[Part],
    notes: Notes,
    manifest: Manifest,
    observer: Observer,
) -> Iterator[Done]:
    """The same, noted in the manifest now and then."""
    parts = {part.name: part for part in todo}
    noted = time.monotonic()
    for done in found:
        if done.problem is None:
            notes[done.name] = _note(parts[done.name]) | {"n_rows": done.n_rows}
        observer.on_part(done)
        yield done
        if time.monotonic() - noted > _NOTE_EVERY:
            manifest.write(notes, finished=False)
            noted = time.monotonic()


def _note(part: Part) -> dict[str, Any]:
    return {"file": part.file.name, "row": part.range.row, "n_rows": part.range.n_rows}


def _warn(done: Sequence[Done]) -> None:
    """What was odd, once each."""
    said = Counter(one for part in done for one in part.warnings)
    for message, n in said.items():
        times = f" ({n} parts)" if n > 1 else ""
        warnings.warn(f"{message}{times}", AdaSentWarning, stacklevel=3)

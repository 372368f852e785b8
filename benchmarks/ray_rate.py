"""Bulk prediction over Ray: one worker against two, memory in all, and what a killed worker costs.

    python benchmarks/ray_rate.py --texts 1000000 --page

Texts are drawn from MR, with repeats. The same file is labelled by a single process, by one worker,
by two, and by two of which one is killed with -9 in the middle; each output is compared with that
of the single process, row by row. Memory is that of this process and of all that Ray starts, shared
pages counted once. Seconds are of the whole command but for the start of Ray itself.

``--page`` writes ``benchmarks/results/ray.csv`` and fills the tables of ``docs/scale.md``, among
them what follows on paper for 10^9 texts. Exits with 1 if an output differs.
"""

from __future__ import annotations

import argparse
import csv
import re
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
if __name__ == "__main__":  # Python then looks in the folder of the script, not in ours
    sys.path[0] = str(ROOT)

from benchmarks.pages import markdown, put_between_marks  # noqa: E402
from benchmarks.records import environment  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results" / "ray.csv"
GPU = ROOT / "benchmarks" / "results" / "gpu.csv"
PAGE = ROOT / "docs" / "scale.md"
#: Of a row group of the input.
GROUP = 65_536
#: Assumed, not measured: dollars for an hour of a core, and of a GPU with the cores beside it.
CORE_HOUR, GPU_HOUR = 0.04, 4.0
CORES, GPUS, BILLION, WORDS = 100, 8, 10**9, 20

Row = dict[str, str | int | float]


def write_texts(path: Path, n: int) -> None:
    """Sentences of MR, drawn with repeats, as Parquet."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from adasent.data import load

    texts = load("MR").texts
    drawn = np.random.default_rng(0).integers(len(texts), size=n)
    table = pa.table({"id": np.arange(n), "text": [texts[i] for i in drawn.tolist()]})
    pq.write_table(table, path, row_group_size=GROUP)


class Memory:
    """The highest sum of proportional set sizes of this process and its descendants, in MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Memory:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        import psutil

        me = psutil.Process()
        while not self._over.wait(2.0):
            pids = [me.pid, *(one.pid for one in me.children(recursive=True))]
            self.peak = max(self.peak, sum(map(_pss, pids)) / 1e3)


def _pss(pid: int) -> int:
    """Kilobytes; pages that processes share are split between them."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


class Killer:
    """Kills a worker of this process's Ray once, when some of the parts are done."""

    def __init__(self, share: float | None) -> None:
        self.share, self.n_killed = share, 0
        self.n_parts = self.n_done = 0

    def on_read(self, *ignored: Any) -> None:
        pass

    def on_plan(self, n_parts: int, *ignored: Any) -> None:
        self.n_parts = n_parts

    def on_part(self, done: Any) -> None:
        import psutil

        self.n_done += 1
        if self.share is None or self.n_killed or self.n_done < self.share * self.n_parts:
            return
        every = psutil.Process().children(recursive=True)
        next(one for one in every if one.name().startswith("ray::MapWorker")).kill()
        self.n_killed += 1


def columns(paths: Sequence[Path]) -> Any:
    """The answers of files in order, as one table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables([pq.read_table(one) for one in paths]).combine_chunks()


def agrees(found: Any, expected: Any) -> bool:
    """The same rows once each in the same order, the same labels, confidence within rounding."""
    if found.column_names != expected.column_names or len(found) != len(expected):
        return False
    exact = [name for name in found.column_names if name not in ("predicted", "confidence")]
    close = np.allclose(found["confidence"], expected["confidence"], atol=2e-5)
    ours, theirs = found["predicted"].to_pylist(), expected["predicted"].to_pylist()
    sure = np.abs(np.asarray(expected["confidence"]) - 0.5) > 1e-5  # else rounding decides
    alike = np.asarray([a == b for a, b in zip(ours, theirs, strict=True)])
    return bool(close and alike[sure].all() and all(found[n].equals(expected[n]) for n in exact))


@contextmanager
def timed(row: Row) -> Iterator[None]:
    """Fills in seconds, rate and memory."""
    with Memory() as memory:
        begin = time.perf_counter()
        yield
        seconds = time.perf_counter() - begin
    row["seconds"] = round(seconds, 2)
    row["texts/s"] = round(int(row["texts"]) / seconds, 1)
    row["peak memory, MB"] = round(memory.peak)


def measure(model: str, n: int, rows: int, folder: Path) -> list[Row]:
    """All runs; the first is that of a single process."""
    from typer.testing import CliRunner

    from adasent.cli.app import app
    from adasent.distributed.bulk import label_files
    from adasent.distributed.bulk_plan import BulkConfig
    from adasent.distributed.cluster import connected

    data, single = folder / "texts.parquet", folder / "single.parquet"
    write_texts(data, n)
    found: list[Row] = [{"run": "single process", "texts": n, "workers": 0}]
    with timed(found[0]):
        args = ["predict", model, str(data), "--out", str(single), "--quiet"]
        done = CliRunner().invoke(app, args)
    if done.exit_code:
        raise RuntimeError(done.output)
    found[0]["output"] = "the measure"
    expected = columns([single])
    runs: list[tuple[str, int, float | None]] = [
        ("one worker", 1, None),
        ("two workers", 2, None),
        ("two workers, one killed", 2, 0.3),
    ]
    with connected(n_cpus=2):
        for name, workers, kill_at in runs:
            row: Row = {"run": name, "texts": n, "workers": workers}
            out, killer = folder / name.replace(" ", "-"), Killer(kill_at)
            config = BulkConfig(workers=workers, rows=rows)
            with timed(row):
                label_files(Path(model), [str(data)], str(out), config, observer=killer)
            if kill_at is not None and not killer.n_killed:
                raise RuntimeError("no worker was killed; give more texts")
            parts = sorted(out.glob("part-*.parquet"))
            row["output"] = "equal" if agrees(columns(parts), expected) else "DIFFERS"
            found.append(row)
    return found + stages(data, n)


def stages(data: Path, n: int) -> list[Row]:
    """What a core does beside the network, each by itself: the bounds of many workers or a GPU."""
    import pyarrow.parquet as pq

    from adasent.estimators.predictor import load
    from adasent.estimators.starter import starter_folder

    encoder = load(starter_folder()).encoder
    table = pq.read_table(data)
    texts = table["text"].to_pylist()
    work: dict[str, Callable[[], object]] = {
        "read Parquet": lambda: pq.read_table(data)["text"].to_pylist(),
        "write Parquet": lambda: pq.write_table(table, data.with_suffix(".copy")),
        "texts to ids": lambda: list(encoder.stream(texts)),
    }
    found: list[Row] = []
    for name, do in work.items():
        begin = time.perf_counter()
        do()
        seconds = time.perf_counter() - begin
        row: Row = {"run": name, "texts": n, "workers": 0, "seconds": round(seconds, 3)}
        found.append(row | {"texts/s": round(n / seconds, 1), "peak memory, MB": "", "output": ""})
    return found


def shown(rows: Sequence[Row]) -> str:
    """The runs as a table of the page."""
    names = ["run", "texts", "seconds", "texts/s", "peak memory, MB", "output"]
    body = [[_cell(row[name]) for name in names] for row in rows]
    by_name = {str(row["run"]): float(row["texts/s"]) for row in rows}
    ratio = by_name["two workers"] / by_name["one worker"]
    last = rows[0]
    origin = f"{last['device']}, adasent {last['adasent']} at {last['commit']}, {last['date']}"
    said = f"Two workers have {ratio:.2f} times the rate of one. Measured on {origin}."
    return f"{markdown(names, body)}\n\n{said}"


def on_paper(rows: Sequence[Row], gpu_rate: float | None) -> str:
    """Time and cost of 10^9 texts from the rates of the rows."""
    rate = {str(row["run"]): float(row["texts/s"]) for row in rows}
    lasting = rate["two workers"] / (2 * rate["one worker"])
    per_core = rate["two workers"] / 2
    hours = BILLION / (CORES * per_core) / 3600
    body = [
        [
            f"{CORES} cores",
            f"{CORES} x {per_core:,.0f}",
            f"{hours:,.1f}",
            f"{hours * CORES:,.0f} core-hours x {CORE_HOUR} = {hours * CORES * CORE_HOUR:,.0f}",
        ]
    ]
    if gpu_rate is not None:
        fed = 1 / (1 / rate["texts to ids"] + 1 / rate["read Parquet"] + 1 / rate["write Parquet"])
        each = min(gpu_rate, fed)
        hours = BILLION / (GPUS * each) / 3600
        body.append(
            [
                f"{GPUS} GPUs, a core each",
                f"{GPUS} x min({gpu_rate:,.0f} pyramids, {fed:,.0f} that a core feeds)",
                f"{hours:,.1f}",
                f"{hours * GPUS:,.0f} GPU-hours x {GPU_HOUR:g} = {hours * GPUS * GPU_HOUR:,.0f}",
            ]
        )
    table = markdown(["10^9 texts on", "texts/s", "hours", "dollars, at assumed prices"], body)
    said = f"Of a worker's rate alone, {lasting:.0%} was left in each of two side by side."
    return f"{table}\n\n{said}"


def gpu_rate(path: Path = GPU) -> float | None:
    """Texts of MR whose pyramids a GPU builds in a second, as measured before; None if not."""
    with path.open(newline="", encoding="utf-8") as file:
        found = [line for line in csv.DictReader(file) if _is_prediction(line)]
    return max(map(_texts_per_second, found), default=None)


def _is_prediction(line: dict[str, str]) -> bool:
    ours = line["variant"].endswith("without gradient") and line["unit"] == "ms"
    return line["what"] == "pyramid" and ours


def _texts_per_second(line: dict[str, str]) -> float:
    """Of K models with B texts each."""
    models, texts = map(int, re.findall(r"[KB]=(\d+)", line["shape"]))
    return 1000 * models * texts / float(line["median"])


def _cell(value: object) -> str:
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--model", default="starter")
    parser.add_argument("--texts", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=16_384, help="of a part")
    parser.add_argument("--out", type=Path, default=None, help="CSV to write")
    parser.add_argument("--page", action="store_true", help=f"write {RESULTS.name} and the page")
    given = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ray-rate-"))
    try:
        rows = measure(given.model, given.texts, given.rows, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    origin = environment(1) | {"model": given.model, "part rows": given.rows}
    rows = [row | origin for row in rows]
    print(shown(rows))
    print(on_paper(rows, gpu_rate()))
    out = RESULTS if given.page else given.out
    if out is not None:
        with out.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    if given.page:
        fill_page(rows)
    return int(any(row["output"] == "DIFFERS" for row in rows))


def fill_page(rows: Sequence[Row]) -> None:
    """Put the tables into the page."""
    page = PAGE.read_text(encoding="utf-8")
    page = put_between_marks(page, "rates", "ray_rate.py", shown(rows))
    page = put_between_marks(page, "paper", "ray_rate.py", on_paper(rows, gpu_rate()))
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())

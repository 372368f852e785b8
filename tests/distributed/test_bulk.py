"""Labelling files over a real cluster: the answers of a single process, whoever dies on the way."""

from __future__ import annotations

import csv
import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import psutil
import pyarrow
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from adasent.cli.app import app
from adasent.distributed.bulk import Report, label_files
from adasent.distributed.bulk_plan import BulkConfig
from adasent.distributed.bulk_worker import Done
from adasent.errors import AdaSentError
from adasent.estimators.labelling import Answering
from adasent.estimators.starter import starter_folder

WORDS = "a film plot was is not good bad great awful dull lovely and but very story".split()  # noqa: SIM905
PARTS = 12
ROWS = 40


def make_texts(n: int, seed: int = 0) -> list[str]:
    drawn = random.Random(seed)
    return [" ".join(drawn.choices(WORDS, k=drawn.randint(1, 25))) for _ in range(n)]


def write_csv(path: Path, texts: list[str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "text"), *((f"i{i}", t) for i, t in enumerate(texts))])
    return path


def read(out: Path) -> pandas.DataFrame:
    """The parts in the order of their names."""
    names = sorted(out.glob("part-*.parquet"))
    return pandas.concat([pyarrow.parquet.read_table(one).to_pandas() for one in names])


def check_alike(found: pandas.DataFrame, expected: pandas.DataFrame) -> None:
    """The same rows in the same order, numbers within rounding."""
    assert list(found) == list(expected)
    assert len(found) == len(expected)
    for name in found:
        if found[name].dtype.kind == "f":
            close = np.allclose(found[name], expected[name], atol=2e-5, equal_nan=True)
            assert close, name
        elif name == "words":
            for own, other in zip(found[name], expected[name], strict=True):
                if isinstance(other, str):  # of a row with a text
                    assert [w for w, _ in json.loads(own)] == [w for w, _ in json.loads(other)]
        else:
            assert found[name].fillna("").tolist() == expected[name].fillna("").tolist(), name


class Watch:
    """Calls a function once a number of parts is done."""

    def __init__(self, at: dict[int, Callable[[], None]]) -> None:
        self.at, self.n_done = at, 0
        self.planned: tuple[int, int] = (0, 0)

    def on_read(self, table: Any, columns: Any) -> None:
        pass

    def on_plan(self, n_parts: int, n_finished: int, n_rows: int | None) -> None:
        self.planned = n_parts, n_finished

    def on_part(self, done: Done) -> None:
        self.n_done += 1
        self.at.get(self.n_done, lambda: None)()


def single(inputs: list[Path], out: Path, *more: str) -> pandas.DataFrame:
    """What one process gives."""
    result = CliRunner().invoke(
        app, ["predict", "starter", *map(str, inputs), "--out", str(out), *more]
    )
    assert result.exit_code == 0, result.output
    return pandas.read_parquet(out)


def run(inputs: list[str], out: Path, watch: Watch | None = None, workers: int = 1) -> Report:
    config = BulkConfig(rows=ROWS, workers=workers, answering=Answering(proba=True, explain="fast"))
    return label_files(starter_folder(), inputs, str(out), config, observer=watch)


def at_work(ray_cluster: Any, node: Any) -> psutil.Process:
    """Wait until workers of the pool are there on a node and on another; one of the others."""
    raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
    end = time.monotonic() + 20
    while time.monotonic() < end:
        every = ray_cluster.workers("MapWorker")
        others = [one for one in every if raylet not in one.parents()]
        if others and len(others) < len(every):
            return others[0]
        time.sleep(0.05)
    raise AssertionError("no worker came to the node, or none elsewhere")


def test_a_worker_and_a_node_killed_lose_nothing(ray_cluster: Any, tmp_path: Path) -> None:
    node = ray_cluster.add_node()
    texts = make_texts(PARTS * ROWS)
    path = write_csv(tmp_path / "a.csv", texts)

    def kill_both() -> None:
        at_work(ray_cluster, node).kill()
        ray_cluster.kill_node(node)

    report = run([str(path)], tmp_path / "out", Watch({1: kill_both}), workers=3)
    assert report.n_rows == len(texts)
    found = read(tmp_path / "out")
    assert found.row.tolist() == list(range(len(texts)))
    assert len(list((tmp_path / "out").iterdir())) == PARTS + 1  # and the manifest
    check_alike(found, single([path], tmp_path / "one.parquet", "--proba", "--explain", "fast"))


def test_three_formats_in_one_folder_and_nothing_done_twice(
    ray_cluster: Any, tmp_path: Path
) -> None:
    texts = make_texts(2 * ROWS + 3)
    texts[5] = '\u00fc \u20ac, "quoted"\nand broken'
    data = tmp_path / "data"
    data.mkdir()
    write_csv(data / "a.csv", texts)
    rows = [{"id": f"j{i}", "text": text} for i, text in enumerate(texts)]
    rows[3]["text"] = None  # type: ignore[assignment]
    (data / "b.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    table = pyarrow.Table.from_pylist(rows)
    pyarrow.parquet.write_table(table, data / "c.parquet", row_group_size=17)
    (data / "_ignored.csv").write_text("other\n")
    out = tmp_path / "out"
    report = run([str(data)], out, workers=2)
    assert (report.n_rows, report.n_missing) == (3 * len(texts), 2)
    files = sorted(data.glob("[a-c].*"))
    expected = single(files, tmp_path / "one.parquet", "--proba", "--explain", "fast")
    check_alike(read(out), expected)
    manifest = json.loads((out / "_manifest.json").read_text())
    assert manifest["finished"]
    assert [one["n_rows"] for one in manifest["parts"]] == [ROWS, ROWS, 3] * 3

    before = {one.name: one.stat().st_mtime_ns for one in out.glob("part-*")}
    (out / f".{next(iter(before))}.0123abcd.part").write_text("of a worker that was killed")
    next(out.glob("part-000001-00000001-*")).unlink()
    report = run([str(data)], out)
    assert (report.n_parts, report.n_finished_before, report.n_rows) == (9, 8, ROWS)
    after = {one.name: one.stat().st_mtime_ns for one in out.glob("part-*")}
    assert after.keys() == before.keys()
    assert sum(after[name] != before[name] for name in after) == 1
    assert len(list(out.iterdir())) == 10
    check_alike(read(out), expected)
    assert run([str(data)], out).n_finished_before == 9


def test_a_poisoned_row_is_named_and_stops_no_other_part(ray_cluster: Any, tmp_path: Path) -> None:
    padding = " " * 900  # what stands in the first 64 kB is met before there is any work
    path = write_csv(tmp_path / "a.csv", [text + padding for text in make_texts(4 * ROWS)])
    lines = path.read_bytes().splitlines(keepends=True)
    poisoned = list(lines)
    poisoned[2 * ROWS + 3] = b"i,caf\xe9 is good\n"
    poisoned[3 * ROWS + 3] = b"i,two,commas\n"
    path.write_bytes(b"".join(poisoned))
    out = tmp_path / "out"
    with pytest.raises(AdaSentError) as caught:
        run([str(path)], out)
    message = str(caught.value)
    for expected in (
        "2 of 4 parts could not be done",
        f"{path}, line {2 * ROWS + 4}: byte 0xe9 is not utf-8",
        f"{path}, line {3 * ROWS + 4}: expected 2 fields as in the header, got 3",
        "the same command does what is left",
    ):
        assert expected in message
    assert not json.loads((out / "_manifest.json").read_text())["finished"]
    kept = {one.name for one in out.glob("part-*")}
    assert len(kept) == 2
    path.write_bytes(b"".join(lines))
    report = run([str(path)], out)
    assert (report.n_parts, report.n_finished_before) == (4, 2)
    assert kept < {one.name for one in out.glob("part-*")}
    check_alike(read(out), single([path], tmp_path / "o.parquet", "--proba", "--explain", "fast"))


def test_the_command_end_to_end(ray_cluster: Any, tmp_path: Path) -> None:
    texts = [*make_texts(3 * ROWS - 1), ""]
    path = tmp_path / "a.jsonl"
    rows = [{"text": text, "id": i} for i, text in enumerate(texts)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    out, args = tmp_path / "out", ["--threshold", "0.5"]
    command = ["predict", "starter", str(path), "--out", str(out), "--engine", "ray"]
    parts = ["--part-rows", str(ROWS), "--workers", "1", "--address", ray_cluster.address]
    result = CliRunner().invoke(app, [*command, *parts, "--id", "id", "--min-confidence", "0.7"])
    assert result.exit_code == 0, result.output
    assert f"{3 * ROWS} texts labelled; 3 parts in {out}" in result.stderr
    assert "columns: text from 'text', id from 'id'" in result.stderr
    assert f"of {3 * ROWS} texts: 1 without a word" in result.stderr
    more = ["--id", "id", "--min-confidence", "0.7"]
    check_alike(read(out), single([path], tmp_path / "one.parquet", *more))
    again = CliRunner().invoke(app, [*command, *parts])
    assert again.exit_code == 1
    assert "other options (id, min_confidence)" in again.stderr
    assert "--force" in again.stderr
    assert "one label" in CliRunner().invoke(app, [*command, *parts, *args]).stderr


def test_a_worker_that_cannot_start_ends_the_job(ray_cluster: Any, tmp_path: Path) -> None:
    path = write_csv(tmp_path / "a.csv", make_texts(3))
    config = BulkConfig(device="nonsense", workers=1)
    with pytest.raises(AdaSentError, match=r"gave up: .*device must be such as cpu.*goes on"):
        label_files(starter_folder(), [str(path)], str(tmp_path / "out"), config)

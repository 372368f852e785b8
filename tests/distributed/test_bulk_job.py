"""What a folder of answers is of, where files are found, and models that are sent to others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent.distributed.bulk_job import Identity, Manifest
from adasent.distributed.bulk_model import share
from adasent.distributed.bulk_places import OutputFolder, find_inputs
from adasent.errors import ConfigError, DataError
from adasent.estimators.registry import make
from adasent.estimators.starter import starter_folder

JOB = Identity("m1", ["a.csv"], {"proba": False})


def begin(out: Path, identity: Identity, names: list[str], *, force: bool = False) -> set[str]:
    return Manifest(OutputFolder(str(out)), identity, force=force).begin(names)


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (JOB.__class__("m2", JOB.inputs, JOB.options), "another model"),
        (JOB.__class__(JOB.model, ["b.csv"], JOB.options), "other inputs"),
        (JOB.__class__(JOB.model, JOB.inputs, {"proba": True}), r"other options \(proba\)"),
    ],
)
def test_answers_of_another_job_are_kept(tmp_path: Path, other: Identity, what: str) -> None:
    names = [JOB.part_name(0, i, f"r{i}") for i in range(3)]
    assert begin(tmp_path, JOB, names) == set()
    (tmp_path / names[0]).touch()
    with pytest.raises(ConfigError, match=what):
        begin(tmp_path, other, names)
    assert begin(tmp_path, JOB, names) == {names[0]}
    assert begin(tmp_path, other, names, force=True) == set()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["_manifest.json"]


def test_parts_whose_rows_changed_go(tmp_path: Path) -> None:
    old, new = JOB.part_name(0, 0, "old"), JOB.part_name(0, 0, "new")
    begin(tmp_path, JOB, [old])
    (tmp_path / old).touch()
    assert begin(tmp_path, JOB, [new]) == set()
    assert not (tmp_path / old).exists()
    assert JOB.part_name(0, 9, "r") < JOB.part_name(0, 10, "r") < JOB.part_name(1, 0, "r")


def test_a_folder_of_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").touch()
    for force in (False, True):
        with pytest.raises(ConfigError, match=r"other files, such as mine.txt"):
            begin(tmp_path, JOB, [], force=force)
    (tmp_path / "mine.txt").unlink()
    (tmp_path / "_manifest.json").write_text("[")
    with pytest.raises(ConfigError, match="cannot be read"):
        begin(tmp_path, JOB, [])


def test_files_folders_globs_and_addresses(tmp_path: Path) -> None:
    for name in ("b/x.csv", "b/c/y.jsonl", "a.parquet", ".hidden.csv", "_done.csv", "note.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("text\n")

    def names(*inputs: str) -> list[str]:
        return [one.name.rpartition(f"{tmp_path}/")[2] for one in find_inputs(inputs)]

    everything = ["a.parquet", "b/c/y.jsonl", "b/x.csv"]
    for root in (str(tmp_path), f"file://{tmp_path}"):
        assert names(root) == everything
        assert names(f"{root}/b/*.csv") == ["b/x.csv"]
        assert names(f"{root}/b/x.csv", root) == ["b/x.csv", "a.parquet", "b/c/y.jsonl"]
        with pytest.raises(DataError, match="no file for"):
            names(f"{root}/*.tsv")
    with pytest.raises(DataError, match="cannot look for"):
        names("nowhere://bucket/a.csv")


def test_an_address_is_read_and_written_like_a_path(tmp_path: Path) -> None:
    from adasent.data.ranges import cut_file, open_range
    from adasent.data.tables import How

    (tmp_path / "a.csv").write_text("text\none\ntwo\nthree\n")
    (file,) = find_inputs([f"file://{tmp_path}/a.csv"])
    how = file.reading(How())
    found = []
    for one in cut_file(file.path, how, file.identity, 2):
        with open_range(one, file.path, how) as table:
            found += [row.values[0] for row in table.rows]
    assert found == ["one", "two", "three"]
    folder = OutputFolder(f"file://{tmp_path}/new/out")
    assert folder.list() == set()
    assert folder.read_json("x.json") is None
    folder.write_json("x.json", {"a": 1})
    assert (folder.list(), folder.read_json("x.json")) == ({"x.json"}, {"a": 1})

    def fail(stream: object) -> None:
        raise OSError("full")

    with pytest.raises(OSError, match="full"):
        folder.write("y.json", fail)
    assert folder.list() == {"x.json"}
    folder.remove(["x.json", "gone.json"])
    assert folder.list() == set()


def test_a_model_of_arrays_and_one_of_files(
    reviews: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    texts, labels = reviews
    shared = share(starter_folder())
    assert shared.read is not None
    assert not shared.files
    expected = adasent.load("starter").predict_proba(texts)
    np.testing.assert_allclose(shared.open(None).predict_proba(texts), expected, atol=1e-6)
    other = make("mnb").fit(texts, labels)
    other.save(tmp_path / "mnb")
    files = share(tmp_path / "mnb")
    assert files.read is None
    assert files.digest not in ("", shared.digest)
    np.testing.assert_allclose(
        files.open(None).predict_proba(texts), other.predict_proba(texts), atol=1e-6
    )

"""A folder holds the old model or the new one, whatever happens to the process that saves."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adasent.errors import FolderInUseError, ModelFormatError
from adasent.saving import folder as saving
from adasent.saving.folder import (
    CHECKPOINT,
    CONFIG,
    ENCODER,
    FILES,
    TENSORS,
    foreign_files,
    has_model,
    hold,
    repair,
    write_files,
)


def files(content: str) -> dict[str, bytes]:
    return {name: f"{content} {name}".encode() for name in FILES}


def model_in(folder: Path) -> str:
    """Which model a folder holds, all of whose files must be of one."""
    found = {(folder / name).read_text().split()[0] for name in FILES}
    assert len(found) == 1, found
    return found.pop()


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A folder that holds a model called old, and the state of a run."""
    write_files(tmp_path / "model", files("old"))
    (tmp_path / "model" / CHECKPOINT).mkdir()
    (tmp_path / "model" / CHECKPOINT / "checkpoint.safetensors").write_text("state")
    return tmp_path / "model"


def test_nothing_but_the_model_is_there(tmp_path: Path) -> None:
    write_files(tmp_path / "a" / "model", files("new"))
    assert names(tmp_path) == {"a"}
    assert names(tmp_path / "a") == {"model"}
    assert names(tmp_path / "a" / "model") == set(FILES)


def test_a_model_is_replaced_and_the_checkpoint_stays(old: Path) -> None:
    os.chmod(old, 0o2770)  # noqa: PTH101
    write_files(old, files("new"))
    assert model_in(old) == "new"
    assert names(old) == {*FILES, CHECKPOINT}
    assert names(old.parent) == {"model"}
    assert stat.S_IMODE(old.stat().st_mode) == 0o2770


class Killed(BaseException):
    """Stands for SIGKILL: nothing may tidy up after it."""


def kill_at(patch: pytest.MonkeyPatch, owner: Any, name: str, call: int, after: bool) -> None:
    """End the process, as it were, at the n-th call of a function."""
    original, n_calls = getattr(owner, name), 0

    def struck(*args: Any, **options: Any) -> Any:
        nonlocal n_calls
        n_calls += 1
        if n_calls == call and not after:
            raise Killed
        result = original(*args, **options)
        if n_calls == call and after:
            raise Killed
        return result

    patch.setattr(owner, name, struck)


MOMENTS = [(Path, "rename", call, after) for call in range(1, 7) for after in (False, True)] + [
    (os, "fsync", call, False) for call in (1, 3, 5)
]


@pytest.mark.parametrize(("owner", "name", "call", "after"), MOMENTS)
@pytest.mark.parametrize("foreign", [False, True])
def test_a_kill_leaves_one_whole_model(
    old: Path,
    monkeypatch: pytest.MonkeyPatch,
    owner: Any,
    name: str,
    call: int,
    after: bool,
    foreign: bool,
) -> None:
    if foreign:
        (old / "notes.txt").write_text("mine")
        if name == "rename" and call > 4:
            name = "replace"
            call -= 3
    with monkeypatch.context() as patch:
        patch.setattr(saving, "_repair", lambda target: None)
        kill_at(patch, owner, name, call, after)
        with pytest.raises(Killed):
            write_files(old, files("new"))
    repair(old)
    assert model_in(old) in ("old", "new")
    assert names(old) == {*FILES, CHECKPOINT} | ({"notes.txt"} if foreign else set())
    assert (old / CHECKPOINT / "checkpoint.safetensors").read_text() == "state"
    assert names(old.parent) == {"model"}
    write_files(old, files("newer"))
    assert model_in(old) == "newer"


def test_a_full_disk_keeps_the_old_model(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_files(old, files("new"))
    assert caught.value.filename == str(old)
    assert model_in(old) == "old"
    assert names(old) == {*FILES, CHECKPOINT}
    assert names(old.parent) == {"model"}


def test_what_older_versions_left_is_ours(tmp_path: Path) -> None:
    for name in (f"{TENSORS}.part", "vocabulary.json"):
        (tmp_path / name).write_text("torn")
    assert foreign_files(tmp_path) == set()
    assert not has_model(tmp_path)
    write_files(tmp_path, files("new"))
    assert names(tmp_path) == set(FILES)


def test_other_files_stay_where_they_are(old: Path) -> None:
    (old / "notes.txt").write_text("mine")
    before = old.stat().st_ino
    write_files(old, files("new"))
    assert model_in(old) == "new"
    assert (old / "notes.txt").read_text() == "mine"
    assert old.stat().st_ino == before
    assert foreign_files(old) == {"notes.txt"}


def test_the_working_directory_is_not_moved_away(
    old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(old)
    write_files(".", files("new"))
    assert Path.cwd() == old
    assert model_in(Path.cwd()) == "new"


def test_a_link_to_a_folder_stays_a_link(old: Path) -> None:
    link = old.parent / "link"
    link.symlink_to(old)
    write_files(link, files("new"))
    assert link.is_symlink()
    assert model_in(old) == "new"


def test_the_root_is_refused() -> None:
    with pytest.raises(ModelFormatError, match="give the name of a folder"):
        write_files("/", files("new"))


# -- several processes ---------------------------------------------------------------------------


def hold_elsewhere(folder: Path) -> subprocess.Popen[str]:
    code = (
        "import sys\nfrom adasent.saving.folder import hold\n"
        "with hold(sys.argv[1]):\n    print('held', flush=True)\n    sys.stdin.read()"
    )
    words = [sys.executable, "-c", code, str(folder)]
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_folder_that_another_process_writes_is_refused(old: Path) -> None:
    with hold_elsewhere(old) as process:
        with (
            pytest.raises(FolderInUseError, match="being written by another process"),
            hold(old, 0),
        ):
            pass
        repair(old)  # nothing to do, and not in the way
        process.kill()
    with hold(old, 0), hold(old, 0):  # the system lets go of what a dead process held
        pass
    assert names(old.parent) == {"model"}


def save_often(folder: Path, name: str, n: int) -> None:
    for _ in range(n):
        write_files(folder, files(name))


def test_two_processes_that_save_to_one_folder(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    context = multiprocessing.get_context("spawn")
    savers = [context.Process(target=save_often, args=(folder, n, 20)) for n in ("one", "two")]
    for process in savers:
        process.start()
    for process in savers:
        process.join()
        assert process.exitcode == 0
    assert model_in(folder) in ("one", "two")
    assert names(tmp_path) == {"model"}


def test_folders_that_hold_makes_are_taken_away(tmp_path: Path) -> None:
    with hold(tmp_path / "a" / "b" / "model"):
        assert names(tmp_path / "a") == {"b"}
    assert names(tmp_path) == set()


@pytest.mark.parametrize("left", [".model.new", ".model.old", "model/.new"])
def test_leftovers_are_taken_away_by_a_reader(old: Path, left: str) -> None:
    shutil.copytree(old, old.parent / left, ignore=shutil.ignore_patterns(CHECKPOINT))
    (old.parent / left / CONFIG).write_text("older")
    repair(old)
    assert model_in(old) == "old"
    assert names(old.parent) == {"model"}
    assert ".new" not in names(old)


# -- a model on an encoder ------------------------------------------------------------------------


def encoder_files(folder: Path, content: str) -> dict[str, Path]:
    """Files to be copied, each saying whose it is."""
    folder.mkdir()
    names = ("config.json", "model.safetensors")
    for name in names:
        (folder / name).write_text(f"{content} {name}")
    return {name: folder / name for name in names}


def whole_model_in(folder: Path) -> str:
    """The model of a folder, with the encoder that is its own."""
    found = model_in(folder)
    if (folder / ENCODER).exists():
        whose = {path.read_text().split()[0] for path in (folder / ENCODER).iterdir()}
        assert whose == {found}
        assert len(names(folder / ENCODER)) == 2
    return found


@pytest.mark.parametrize("foreign", [False, True])
def test_an_encoder_comes_and_goes_with_its_model(old: Path, tmp_path: Path, foreign: bool) -> None:
    if foreign:
        (old / "notes.txt").write_text("mine")
    write_files(old, files("new"), encoder_files(tmp_path / "new", "new"))
    assert whole_model_in(old) == "new"
    assert (old / ENCODER).exists()
    # From where it is to where it is.
    own = {name: old / ENCODER / name for name in names(old / ENCODER)}
    write_files(old, files("new"), own)
    assert whole_model_in(old) == "new"
    assert foreign_files(old) == ({"notes.txt"} if foreign else set())
    write_files(old, files("plain"))
    assert not (old / ENCODER).exists()
    assert whole_model_in(old) == "plain"


@pytest.mark.parametrize(
    ("name", "call"), [(n, c) for n in ("rename", "fsync") for c in range(1, 8)]
)
@pytest.mark.parametrize("foreign", [False, True])
def test_a_kill_leaves_a_model_with_its_encoder(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, call: int, foreign: bool
) -> None:
    write_files(old, files("first"), encoder_files(tmp_path / "first", "first"))
    if foreign:
        (old / "notes.txt").write_text("mine")
    new = encoder_files(tmp_path / "new", "new")
    owner = Path if name == "rename" else os
    with monkeypatch.context() as patch:
        patch.setattr(saving, "_repair", lambda target: None)
        kill_at(patch, owner, name, call, False)
        with contextlib.suppress(Killed):
            write_files(old, files("new"), new)
    repair(old)
    assert whole_model_in(old) in ("first", "new")
    assert (old / ENCODER).exists()

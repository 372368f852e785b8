"""The folder of a model on disk: its files are replaced together or not at all.

New files are written beside the folder and reach the disk first; then the folder as a whole changes
places with the new one. What a killed process leaves is finished or undone by the next one that
saves, trains or loads there. Processes that write are kept apart by a lock. Needs no torch.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from adasent.errors import FolderInUseError, ModelFormatError

TENSORS, CONFIG, VOCABULARY, TRAINING = (
    "model.safetensors",
    "config.json",
    "vocabulary.json",
    "training.json",
)
FILES = (TENSORS, VOCABULARY, TRAINING, CONFIG)
#: The folder of an encoder, in the folder of a model that stands on one.
ENCODER = "encoder"
#: Where `adasent train` keeps an unfinished run inside the folder; a save leaves it there.
CHECKPOINT = ".checkpoint"
#: Seconds that a save waits for another one in the same folder.
PATIENCE = 30.0

#: Beside a folder NAME these are .NAME.new and so on; inside one they are called as they are.
_NEW, _OLD, _LOCK = ".new", ".old", ".lock"
#: Version 0.1 wrote files under these names first, in the folder itself.
_PARTS = tuple(f"{name}.part" for name in FILES)


def foreign_files(folder: Path) -> set[str]:
    """Names in a folder that no version of this library has put there."""
    if not folder.is_dir():
        return set()
    return {path.name for path in folder.iterdir()} - {
        *FILES,
        *_PARTS,
        ENCODER,
        CHECKPOINT,
        _NEW,
        _LOCK,
    }


def has_model(folder: Path) -> bool:
    """Whether a folder looks like that of a model."""
    return (folder / CONFIG).exists() and (folder / TENSORS).exists()


@contextmanager
def hold(folder: str | os.PathLike[str], patience: float = PATIENCE) -> Iterator[None]:
    """Keep all others from writing to a folder, which need not exist yet.

    The same thread may hold it again inside.

    Raises
    ------
    FolderInUseError
        When another holds it for longer than ``patience`` seconds.
    """
    target = _resolve(folder)
    absent = [parent for parent in target.parents if not parent.exists()]
    target.parent.mkdir(parents=True, exist_ok=True)
    path = _beside(target, _LOCK) if _may_write(target.parent) else target / _LOCK
    lock = FileLock(path, is_singleton=True)
    path.touch()  # says why, where a file cannot be made: to the lock it looks like being held
    try:
        lock.acquire(timeout=patience)
        while not path.exists():  # some versions may lock a file that its last holder has removed
            lock.release()
            lock.acquire(timeout=patience)
    except Timeout as error:
        raise FolderInUseError(
            f"{folder} is being written by another process; wait until it is done, or give "
            "another folder"
        ) from error
    try:
        yield
    finally:
        if lock.lock_counter == 1:
            with suppress(OSError):
                path.unlink()
        lock.release()
        for parent in absent:
            with suppress(OSError):
                parent.rmdir()


def write_files(
    folder: str | os.PathLike[str],
    files: Mapping[str, bytes],
    encoder: Mapping[str, Path] | None = None,
) -> None:
    """Put the files of a model into a folder, in place of those that are there.

    Whatever happens on the way, the folder holds the old model or the new one. A folder that holds
    other files too, or that cannot be moved, gets the files one by one, and is then no model for
    the moment that this takes.

    Parameters
    ----------
    files
        The content of each of :data:`FILES`.
    encoder
        What to copy to the folder :data:`ENCODER`, by name; None: there is to be none.
    """
    target = _resolve(folder)
    if target.exists() and not target.is_dir():
        raise ModelFormatError(f"cannot save to {target}: a file of that name is in the way")
    with hold(folder):
        _repair(target)
        try:
            if _may_swap(target):
                _stage(_beside(target, _NEW), files, encoder or {}, like=target)
                _swap(target)
            else:
                target.mkdir(exist_ok=True)
                _stage(target / _NEW, files, encoder or {})
                _move_files(target)
                if not encoder:  # that of the model before is of no use
                    shutil.rmtree(target / ENCODER, ignore_errors=True)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(folder)) from error
        finally:
            _repair(target)


def repair(folder: str | os.PathLike[str]) -> None:
    """Finish or undo what a killed save has left of a folder, if anything and if it can be."""
    target = _resolve(folder)
    traces = (_beside(target, _NEW), _beside(target, _OLD), target / _NEW)
    if not any(map(os.path.lexists, traces)):
        return
    # Where there is a model, whoever is busy may be left alone; else it is about to be there.
    with suppress(OSError), hold(folder, patience=0 if target.is_dir() else PATIENCE):
        _repair(target)


def _resolve(folder: str | os.PathLike[str]) -> Path:
    """The folder itself, where the name is a link to it."""
    target = Path(folder).resolve()
    if not target.name:
        raise ModelFormatError(f"cannot save to {target}; give the name of a folder")
    return target


def _beside(target: Path, what: str) -> Path:
    return target.with_name(f".{target.name}{what}")


def _may_write(folder: Path) -> bool:
    return os.access(folder, os.W_OK | os.X_OK)


def _may_swap(target: Path) -> bool:
    """Whether the folder can change places with another and nobody would miss it."""
    try:
        is_in_use = Path.cwd().is_relative_to(target)
    except OSError:  # the working directory itself is gone
        is_in_use = False
    return (
        not is_in_use
        and _may_write(target.parent)
        and not target.is_mount()
        and not foreign_files(target)
    )


def _stage(
    new: Path, files: Mapping[str, bytes], encoder: Mapping[str, Path], like: Path | None = None
) -> None:
    """Write files to a new folder and wait until they are on disk; the configuration is last."""
    new.mkdir()
    if encoder:
        (new / ENCODER).mkdir()
    for name, source in encoder.items():
        with source.open("rb") as origin, (new / ENCODER / name).open("wb") as file:
            shutil.copyfileobj(origin, file, 1 << 20)
            file.flush()
            os.fsync(file.fileno())
    for name in FILES:
        part = new / f"{name}.part"
        with part.open("wb") as file:
            file.write(files[name])
            file.flush()
            os.fsync(file.fileno())
        part.rename(new / name)
    if like is not None and like.exists():
        shutil.copymode(like, new)
    _sync(new)


def _swap(target: Path) -> None:
    """Put the new folder in the place of the old one; a kill in between is repaired later."""
    if target.exists():
        target.rename(_beside(target, _OLD))
    _beside(target, _NEW).rename(target)
    _sync(target.parent)


def _move_files(target: Path) -> None:
    """Put new files in the place of old ones, in a folder without configuration meanwhile."""
    (target / CONFIG).unlink(missing_ok=True)
    if (target / _NEW / ENCODER).exists():  # if not, it was moved before a kill
        shutil.rmtree(target / ENCODER, ignore_errors=True)
        (target / _NEW / ENCODER).rename(target / ENCODER)
    for name in FILES:
        if (target / _NEW / name).exists():
            (target / _NEW / name).replace(target / name)
    _sync(target)


def _repair(target: Path) -> None:
    """What :func:`repair` says, by one who holds the folder."""
    new, old, inner = _beside(target, _NEW), _beside(target, _OLD), target / _NEW
    if not target.exists() and old.exists():  # killed within _swap
        (new if new.exists() else old).rename(target)
    if (inner / CONFIG).exists() and not (target / CONFIG).exists():  # killed within _move_files
        _move_files(target)
    if old.exists():
        for path in old.iterdir():  # what is no part of the old model, such as a checkpoint
            if path.name not in (*FILES, *_PARTS, ENCODER) and not (target / path.name).exists():
                path.rename(target / path.name)
    for path in (new, old, inner):
        shutil.rmtree(path, ignore_errors=True)
    for name in _PARTS:
        (target / name).unlink(missing_ok=True)


def _sync(folder: Path) -> None:
    """Wait until the entries of a folder are on disk, where the system can say so."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

"""The folder that a command trains into: claimed before any work, checked, saved to."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer

from adasent.cli.console import console
from adasent.errors import AdaSentError, ConfigError, FolderInUseError
from adasent.estimators.registry import describe
from adasent.saving.folder import CHECKPOINT, foreign_files, has_model, hold, repair
from adasent.training.processes import is_first


@contextmanager
def claimed(out: Path) -> Iterator[None]:
    """Hold the folder, before any work is done; another command that trains there is refused.

    Of the processes of one command, the first holds it for all.
    """
    with ExitStack() as stack:
        if not is_first():
            yield
            return
        try:
            stack.enter_context(hold(out, patience=0))
        except FolderInUseError as error:
            raise ConfigError(f"--out {error}") from None
        except OSError as error:
            raise ConfigError(f"--out {out} cannot be written: {error.strerror}") from error
        yield


def check_folder(out: Path, system: str, force: bool) -> None:
    """Refuse a folder that may not be written or that holds what is to be kept."""
    if out.exists() and not out.is_dir():
        raise ConfigError(f"--out {out} is a file; give the name of a folder")
    if out.exists() and not os.access(out, os.W_OK | os.X_OK):
        raise ConfigError(f"--out {out} cannot be written; give another folder")
    repair(out)
    is_unfinished = holds_unfinished(out)
    if not is_unfinished:  # an empty folder of checkpoints is what a kill has left
        shutil.rmtree(out / CHECKPOINT, ignore_errors=True)
    if foreign_files(out) and not has_model(out):
        raise ConfigError(
            f"--out {out} holds other files and no model; give a new or an empty folder"
        )
    if force:
        return
    if is_unfinished and not describe(system).by_epochs:
        raise ConfigError(
            f"--out {out} holds the unfinished run of a network, with which {system} cannot go on; "
            "add --force to discard it, or give another folder"
        )
    if has_model(out) and not is_unfinished:
        raise ConfigError(f"--out {out} holds a model already; add --force to replace it")


def holds_unfinished(out: Path) -> bool:
    """Whether the folder holds a run that can be gone on with, or labels of a teacher."""
    return any((out / CHECKPOINT).rglob("*.safetensors"))


def save_model(clf: Any, out: Path) -> None:
    """Save the model, or say what becomes of the training if that fails."""
    kept = "the training is kept, and the same command goes on from its end"
    kept = kept if holds_unfinished(out) else "the same command starts anew"
    try:
        clf.save(out)
    except KeyboardInterrupt:
        stop(f"stopped before the model was saved; {kept}")
    except OSError as error:
        raise AdaSentError(f"the model was not saved: {out}: {error.strerror}; {kept}") from error


def stop(line: str) -> NoReturn:
    console(stderr=True).print(line)
    raise typer.Exit(130) from None

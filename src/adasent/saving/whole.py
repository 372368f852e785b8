"""Writes one file, such as a picture or answers, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Where its bytes go: to a file beside it, which takes its place at the end of the block.

    After Ctrl-C or an error there is the file that was there before. A device is written to.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():  # such as /dev/null
        with target.open("wb") as stream:
            yield stream
        return
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        part.replace(target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and not error.filename:
            error.filename = str(path)  # a full disk does not say whose bytes it had no room for
        raise

"""What the scripts for a machine with CUDA share: who measured, and lines kept as they come.

Needs torch and numpy alone.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks.records import commit


def about() -> dict[str, str]:
    """Device, versions and commit, as columns of a row."""
    cuda = torch.cuda.is_available()
    return {
        "device": torch.cuda.get_device_name() if cuda else "cpu",
        "torch": torch.__version__,
        "numpy": np.__version__,
        "commit": commit(),
    }


class Lines:
    """A file of JSON lines, begun anew; a run that fails leaves what it had.

    Parameters
    ----------
    path
        None prints only.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._about = about()
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")

    def add(self, row: Mapping[str, Any]) -> None:
        """Print a row, and keep it with what measured it."""
        print(json.dumps(row), flush=True)
        if self._path is not None:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**row, **self._about}) + "\n")


def read_lines(path: Path) -> list[dict[str, Any]]:
    """All rows of a file; none where there is no file."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]

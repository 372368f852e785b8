"""Which of the processes of ``accelerate launch`` this is; known before torch is imported."""

from __future__ import annotations

import os


def is_launched() -> bool:
    """Whether a launcher has started this process, perhaps beside others."""
    return "RANK" in os.environ


def is_first() -> bool:
    """Whether this is the process that prints and saves; alone it always is."""
    return os.environ.get("RANK", "0") == "0"

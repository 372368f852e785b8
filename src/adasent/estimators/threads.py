"""How many threads an estimator's work in torch runs on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from adasent.checks import check_optional


def n_threads(n_jobs: int | None) -> int:
    """How many threads to use."""
    check_optional("n_jobs", n_jobs, 1)
    return n_jobs or 1


@contextmanager
def threads(n_jobs: int | None) -> Iterator[None]:
    """Run torch on so many threads, and on as many as before afterwards."""
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads(n_jobs))
    try:
        yield
    finally:
        torch.set_num_threads(before)

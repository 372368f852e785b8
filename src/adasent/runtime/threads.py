"""How many threads numpy's matrix products use, for the length of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def blas_threads(n_threads: int) -> Iterator[None]:
    """Run BLAS on so many threads, and on as many as before afterwards.

    Without threadpoolctl (scikit-learn brings it) nothing is changed: BLAS then follows its own
    settings, such as ``OPENBLAS_NUM_THREADS``.
    """
    controller = _controller()
    if controller is None:
        yield
        return
    with controller.limit(limits=n_threads, user_api="blas"):
        yield


@cache
def _controller() -> Any:
    # Finding the libraries takes milliseconds, so it is done once; numpy's is loaded by now.
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return None
    return ThreadpoolController()

"""Work on a device that is the same again and again: recorded once, then replayed as a CUDA graph.

A replay costs one launch instead of hundreds. Elsewhere the work is simply done.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch
from torch import Tensor


class Graphs:
    """Runs functions of tensors that give nothing back and change other tensors in place."""

    def __init__(self, *, enabled: bool) -> None:
        self.enabled = enabled  # False runs everything as it comes
        self._seen: set[Hashable] = set()
        self._graphs: dict[Hashable, tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]] = {}
        self._pool: Any = None  # memory that all recordings share

    def run(self, key: Hashable, work: Callable[..., None], *inputs: Tensor) -> None:
        """Do ``work(*inputs)``; equal keys promise equal shapes and the same work."""
        if not self.enabled:
            work(*inputs)
            return
        if key not in self._seen:
            # Once without recording: kernels are compiled. On copies, because Triton compiles for
            # how memory is aligned too, and must have nothing left to compile while recording.
            self._seen.add(key)
            work(*(value.clone() for value in inputs))
            return
        if key not in self._graphs:
            self._graphs[key] = self._record(work, inputs)
        graph, places = self._graphs[key]
        for place, value in zip(places, inputs, strict=True):
            place.copy_(value)
        graph.replay()

    def forget(self) -> None:
        """Drop all recordings: the tensors they change are no longer in use."""
        self._graphs.clear()
        self._seen.clear()
        self._pool = None

    def _record(
        self, work: Callable[..., None], inputs: tuple[Tensor, ...]
    ) -> tuple[torch.cuda.CUDAGraph, tuple[Tensor, ...]]:
        places = tuple(value.clone() for value in inputs)
        graph = torch.cuda.CUDAGraph()
        if self._pool is None:
            self._pool = torch.cuda.graph_pool_handle()
        with torch.cuda.graph(graph, pool=self._pool):
            work(*places)
        return graph, places

"""Functions in, seconds out: contenders take turns, so that a noisy machine hits all alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

Work = Callable[[], object]


def take_turns(contenders: Mapping[str, Work], repeats: int) -> dict[str, np.ndarray]:
    """Seconds of each contender, one value a round; each is warmed up once before.

    Every round runs all contenders, and starts with another one than the round before.
    """
    names = list(contenders)
    for work in contenders.values():
        work()
    seconds = {name: np.empty(repeats) for name in names}
    for i in range(repeats):
        start = i % len(names)
        for name in names[start:] + names[:start]:
            begin = time.perf_counter()
            contenders[name]()
            seconds[name][i] = time.perf_counter() - begin
    return seconds


def exponent(sizes: list[float], values: list[float]) -> float:
    """Slope of a straight line through the points in log-log."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])

"""Where the time of a prediction goes: steps from strings to probabilities, timed as they run."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from adasent.runtime import network
from adasent.text.encoder import TextEncoder
from benchmarks.inference import GROUPS, HIDDEN, VECTOR
from benchmarks.records import Result
from benchmarks.registry import Sizes
from benchmarks.workloads import PackedWork, WholePrediction, shape, whole_mr

#: Whose function makes a step. The climb is split in two below.
STEPS: dict[str, tuple[Any, str]] = {
    "tokens and their ids": (TextEncoder, "__call__"),
    "distinct words: vector, projection, product": (network.Network, "words"),
    "words put in place": (network.Words, "first_level"),
    "climb": (network, "climb"),
    "level norm, classifier, consensus": (network.Network, "mix"),
}


def stages(sizes: Sizes) -> Iterator[Result]:
    """The share of each step in a prediction of all of MR, with N groups and one a dimension."""
    for n_groups in (GROUPS, HIDDEN):
        work = WholePrediction(whole_mr()[: sizes.n_all], HIDDEN, VECTOR, n_groups)
        limit = PackedWork(work.lengths, HIDDEN, n_groups=n_groups)
        what = shape(work.lengths, HIDDEN, "MR")
        work.predict()
        rounds = [one_round(work, limit) for _ in range(sizes.few)]
        for step in rounds[0]:
            shares = [seconds[step] for seconds in rounds]
            yield Result(f"{step}, N = {n_groups}", "share of time", shares, what)


def one_round(work: WholePrediction, limit: PackedWork) -> dict[str, float]:
    """Of one prediction, the share of each step."""
    seconds = dict.fromkeys(STEPS, 0.0)
    with ExitStack() as stack:
        for step, (owner, name) in STEPS.items():
            stack.enter_context(timed(owner, name, step, seconds))
        start = time.perf_counter()
        work.predict()
        every = time.perf_counter() - start
    start = time.perf_counter()
    limit.product(first=1)  # those of the first level are among what is done for distinct words
    products = time.perf_counter() - start
    seconds["products of the levels"] = products
    seconds["units, gates and pooling"] = seconds.pop("climb") - products
    seconds["the rest"] = every - sum(seconds.values())
    return {step: value / every for step, value in seconds.items()}


@contextmanager
def timed(owner: Any, name: str, step: str, seconds: dict[str, float]) -> Iterator[None]:
    """Add up what a function takes while this lasts."""
    function = getattr(owner, name)

    def measured(*arguments: Any, **options: Any) -> Any:
        start = time.perf_counter()
        found = function(*arguments, **options)
        seconds[step] += time.perf_counter() - start
        return found

    with mock.patch.object(owner, name, measured):
        yield

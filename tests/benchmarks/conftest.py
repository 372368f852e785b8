"""Made-up rows of every benchmark, for the code that reads the CSV."""

from __future__ import annotations

import pytest

from benchmarks.records import Result, Row, Shape, environment, row


@pytest.fixture
def made_up() -> list[Row]:
    where = environment(1, device="a machine")
    results = {
        "mr": [
            Result("predict", "sentences/s", [3000.0, 3100.0]),
            Result("padded", "sentences/s", [600.0, 610.0]),
            Result("predict", "ratio", [5.1, 5.3], against="padded"),
            Result("predict", "ratio", [0.7, 0.71], against="product"),
        ],
        "length": [
            Result("pyramid", "s", [0.01, 0.011], Shape(longest=4, cells=10)),
            Result("pyramid", "s", [0.04, 0.041], Shape(longest=8, cells=36)),
            Result("pyramid", "exponent", [1.02]),
        ],
        "hidden": [Result("pyramid", "sentences/s", [9000.0], Shape(hidden=20))],
        "batch": [Result("pyramid", "sentences/s", [4000.0], Shape(batch=16))],
        "memory": [
            Result("predict", "MB", [1.5], Shape(longest=128)),
            Result("predict", "exponent", [1.3]),
        ],
        "peers": [
            result
            for name, accuracy in (("adasent", 78.0), ("fastText", 77.1))
            for result in (
                Result(name, "accuracy %", [accuracy], Shape(batch=9)),
                Result(name, "sentences/s", [4000.0], Shape(batch=9)),
                Result(name, "MB", [5.0], Shape(batch=9)),
                Result(name, "ms", [0.5], Shape(batch=1)),
            )
        ],
    }
    return [row(name, one, where) for name, many in results.items() for one in many]

"""The packaged paper.toml as typed lookups: what the paper reports for a cell, or None."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib import resources
from typing import Any


@cache
def paper() -> dict[str, Any]:
    """Everything in paper.toml."""
    text = resources.files("reproduction").joinpath("paper.toml").read_text("utf-8")
    return tomllib.loads(text)


def paper_sets() -> tuple[str, ...]:
    """The five sets in the order of the paper's columns."""
    return tuple(paper()["sets"])


def paper_accuracy(row: str, data: str) -> float | None:
    """The cell of Table 2 in percent; None where the paper has none."""
    value: float | None = paper()["table2"].get(row, {}).get(data)
    return value


def paper_variance(row: str, data: str) -> tuple[float, float] | None:
    """Mean and standard deviation of the cell of Table 3 in percent; None where there is none."""
    value = paper()["table3"].get(row, {}).get(data)
    return None if value is None else (value[0], value[1])

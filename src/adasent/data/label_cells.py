"""Several labels of a text in one cell of a file: a list, or strings with a separator between."""

from __future__ import annotations

from typing import Any

from adasent.data.corpus import Label, Labels, counted
from adasent.errors import DataError


def label_list(value: Any, separator: str | None, where: str) -> Labels | None:
    """The distinct labels of a cell in their order; None if it holds a single one.

    Parameters
    ----------
    separator
        Between the labels of a string, where one was named: a blank cell then is a text without any
        label. A list of JSON lines or Parquet needs none.
    where
        The place of the cell, for an error.
    """
    if isinstance(value, list | tuple):
        odd = [one for one in value if not isinstance(one, str | int | float) or one != one]
        if odd:
            raise DataError(
                f"{where}: expected strings, numbers or booleans in the list, got {odd[0]!r}"
            )
        return tuple(dict.fromkeys(value))
    if separator is None:
        return None
    if value is None or value != value:  # nothing, as Parquet and JSON say it
        return ()
    if not isinstance(value, str):
        return (value,)
    parts = (part.strip() for part in value.split(separator))
    return tuple(dict.fromkeys(filter(None, parts)))


def check_alike(labels: list[Label] | list[Labels], path: Any) -> None:
    """Refuse a file of whose texts some have a list of labels and some a single one."""
    n_lists = sum(isinstance(one, tuple) for one in labels)
    if 0 < n_lists < len(labels):
        raise DataError(
            f"{path}: a list of labels in {counted(n_lists, 'row')}, and a single label in "
            f"{len(labels) - n_lists:,}; write a list for each, [] for none"
        )

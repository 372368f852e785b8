"""Chooses the columns of a table that hold texts, labels, weights and names of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from adasent.errors import ConfigError, DataError, nearest, setting

TEXT_COLUMNS = (
    "text", "texts", "sentence", "review", "question", "comment", "content", "message", "tweet",
    "phrase", "utterance", "snippet", "document", "body", "headline", "post",
)  # fmt: skip
LABEL_COLUMNS = (
    "label", "labels", "class", "target", "category", "sentiment", "polarity", "intent", "topic",
    "stars", "rating", "tag", "y",
)  # fmt: skip

_GUESSES = {"text": TEXT_COLUMNS, "label": LABEL_COLUMNS}


def choose_columns(
    path: Path, columns: Sequence[str], wanted: Mapping[str, str | None]
) -> dict[str, str]:
    """The column of each role.

    Parameters
    ----------
    path, columns
        The file, for messages, and its columns.
    wanted
        Role -> the name that the user gives. None is, of ``text`` and ``label``, the one column
        that looks like it, and of other roles nothing.
    """
    chosen: dict[str, str] = {}
    for role, name in wanted.items():
        if name is not None:
            chosen[role] = _named(path, columns, role, name)
        elif role in _GUESSES:
            chosen[role] = _guessed(path, columns, role)
    for role, name in chosen.items():
        others = [other for other in chosen if other != role and chosen[other] == name]
        # The names of rows may be anything, the text itself included.
        if others and "id" not in (role, *others):
            raise ConfigError(
                f"{path}: column {name!r} cannot be both {role} and {others[0]}; name another with "
                f"{setting(others[0], 'COL')}"
            )
        if columns.count(name) > 1:
            raise DataError(f"{path}: two columns are called {name!r}; rename one")
    return chosen


def _named(path: Path, columns: Sequence[str], role: str, name: str) -> str:
    if name in columns:
        return name
    same = [column for column in columns if column.strip() == name.strip()]
    if len(same) == 1:
        return same[0]
    raise DataError(f"{path}: {setting(role, name)}: there is no such column{_hint(name, columns)}")


def _hint(name: str, columns: Sequence[str]) -> str:
    close = nearest(name, columns) if columns else ""
    return f"{close if close.endswith('?') else ';'} the columns are {_listed(columns)}"


def _guessed(path: Path, columns: Sequence[str], role: str) -> str:
    """The column called as the role is, or else the only one with a name like it."""
    guesses = _GUESSES[role]
    likely = [column for column in columns if column.strip().casefold() in guesses]
    exact = [column for column in likely if column.strip().casefold() == role]
    found = exact or likely
    if not found:
        raise DataError(
            f"{path}: no column looks like the {role} (such as {guesses[0]!r} or {guesses[2]!r}); "
            f"name it with {setting(role, 'COL')}; the columns are {_listed(columns)}"
        )
    if len(set(found)) > 1:
        raise DataError(
            f"{path}: the columns {_listed(found)} all look like the {role}; name one with "
            f"{setting(role, 'COL')}"
        )
    return found[0]


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(map(repr, columns)) or "none"

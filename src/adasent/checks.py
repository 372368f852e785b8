"""Checks of settings: choices, ranges and flags, refused with what was expected and what came.

Configurations are frozen dataclasses over :class:`JsonConfig`, checked when they are made.
"""

from __future__ import annotations

import math
import os
import reprlib
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Self

from adasent.errors import ConfigError, nearest

#: No whole number that means anything here is larger, and numpy and torch hold none that is.
_LARGEST_WHOLE = 2**63 - 1


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ``ConfigError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {_shown(value)}")


def check_range(
    name: str, value: object, low: float, high: float = float("inf"), *, whole: bool = False
) -> None:
    """Raise ``ConfigError`` unless ``low <= value <= high`` (and whole, if asked)."""
    if not _inside(value, low, high, whole):
        kind = "a whole number" if whole else "a number"
        limit = f"of at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise ConfigError(f"{name} must be {kind} {limit}; got {_shown(value)}")


def check_integer(name: str, value: object, low: int, high: float = float("inf")) -> None:
    """Raise ``ConfigError`` unless ``value`` is an ``int`` in the range; 2.0 is refused too."""
    check_range(name, value, low, high, whole=True)
    if not isinstance(value, int):
        raise ConfigError(f"{name} must be an integer; got {_shown(value)}")


def check_optional(name: str, value: object, low: int) -> None:
    """Raise ``ConfigError`` unless ``value`` is None or a whole number of at least ``low``."""
    if value is not None:
        check_range(name, value, low, whole=True)


def check_flag(name: str, value: object) -> None:
    """Raise ``ConfigError`` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False; got {_shown(value)}")


def switched_on(variable: str) -> bool:
    """Whether a variable of the environment says yes."""
    return os.environ.get(variable, "").strip().lower() not in ("", "0", "false", "no")


def _inside(value: object, low: float, high: float, whole: bool) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if abs(value) > _LARGEST_WHOLE and (isinstance(value, int) or whole):
        return False  # also spares what follows an integer that no float can hold
    return math.isfinite(value) and low <= value <= high and not (whole and value != int(value))


def _shown(value: object) -> str:
    """A value of any length, fit for a message of one line."""
    return reprlib.repr(value)


class JsonConfig:
    """Round trip between a dataclass and a JSON object, with unknown keys refused."""

    def to_dict(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return asdict(self)  # type: ignore[call-overload,no-any-return]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Build from a mapping; an unknown key is an error that names the nearest valid one."""
        valid = [f.name for f in fields(cls)]  # type: ignore[arg-type]
        for key in values:
            if key not in valid:
                raise ConfigError(f"unknown setting {key!r}{nearest(key, valid)}")
        return cls(**values)

"""Checks of settings: choices, ranges and flags, refused with what was expected and what came.

Configurations are frozen dataclasses over :class:`JsonConfig`, checked when they are made.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from typing import Any, Self

from adasent.errors import ConfigError, nearest


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Raise ``ConfigError`` unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ConfigError(f"{name} must be one of {', '.join(choices)}; got {value!r}")


def check_range(
    name: str, value: object, low: float, high: float = float("inf"), *, whole: bool = False
) -> None:
    """Raise ``ConfigError`` unless ``low <= value <= high`` (and whole, if asked)."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and math.isfinite(value) and low <= value <= high  # type: ignore[arg-type,operator]
    if not inside or (whole and value != int(value)):  # type: ignore[call-overload]
        kind = "a whole number" if whole else "a number"
        limit = f"of at least {low:g}" if high == float("inf") else f"from {low:g} to {high:g}"
        raise ConfigError(f"{name} must be {kind} {limit}; got {value!r}")


def check_flag(name: str, value: object) -> None:
    """Raise ``ConfigError`` unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} must be True or False; got {value!r}")


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

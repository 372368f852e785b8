"""Which settings a sweep tries: ranges and choices by the name of a setting; the default ones.

A setting is searched between two ends or among a few values. Ends and values are checked by the
settings of the system before the first of them is trained with.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from adasent.errors import ConfigError, nearest
from adasent.estimators.registry import HOW_IT_RUNS, describe
from adasent.estimators.settings import check_values, settings_of


@dataclass(frozen=True)
class Range:
    """From ``low`` to ``high``, both included; on a logarithmic scale if ``log``."""

    low: float
    high: float
    log: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether only whole numbers are meant."""
        return isinstance(self.low, int) and isinstance(self.high, int)

    def holds(self, value: Any) -> bool:
        """Whether the value lies within."""
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and self.low <= value <= self.high

    def to_json(self) -> list[Any]:
        """The ends, and the scale."""
        return [self.low, self.high, "log" if self.log else "linear"]

    @property
    def ends(self) -> tuple[float, float]:
        """What is to be checked."""
        return self.low, self.high


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    def holds(self, value: Any) -> bool:
        """Whether it is one of them."""
        return value in self.values

    def to_json(self) -> list[Any]:
        """The values."""
        return list(self.values)

    @property
    def ends(self) -> tuple[Any, ...]:
        """What is to be checked."""
        return self.values


Space: TypeAlias = Mapping[str, Range | Choice]
_Own: TypeAlias = dict[str, Range | Choice]

#: Of every network.
_NETWORK: _Own = {
    "learning_rate": Range(2e-4, 5e-3, log=True),
    "dropout": Range(0.0, 0.6),
    "vector_dropout": Range(0.0, 0.7),
    "word_dropout": Range(0.0, 0.3),
}
_UNITS: _Own = {"hidden_size": Range(50, 200, log=True)}
_COUNTS: _Own = {"alpha": Range(0.05, 10.0, log=True), "max_ngram": Range(1, 3)}
#: Of each system beside that.
_OWN: dict[str, _Own] = {
    "adasent": _UNITS
    | {
        "level_loss": Range(0.0, 1.0),
        "table_rate": Range(0.05, 1.0, log=True),
        "penalty": Range(1e-5, 1e-2, log=True),
    },
    "mnb": _COUNTS,
    "nbsvm": _COUNTS | {"beta": Range(0.0, 1.0), "C": Range(0.05, 20.0, log=True)},
    "paragraph-vector": {
        "vector_size": Range(50, 300, log=True),
        "window": Range(2, 10),
        "negative": Range(2, 15),
        "epochs": Range(10, 60, log=True),
        "learning_rate": Range(0.01, 0.1, log=True),
        "C": Range(0.01, 10.0, log=True),
    },
    "rnn": _UNITS,
    "brnn": _UNITS,
    "grconv": _UNITS | {"copy_bias": Range(0.0, 6.0)},
    "cbow": {"classifier_size": Range(25, 200, log=True), "pooling": Choice(("mean", "max"))},
    "cnn": {"n_maps": Range(50, 200, log=True), "max_norm": Range(1.0, 10.0, log=True)},
    "dcnn": {"top": Range(2, 6)},
    "rae": _UNITS | {"reconstruction": Range(0.0, 0.5)},
    "mv-recnn": {"hidden_size": Range(10, 50, log=True), "rank": Range(1, 5)},
}
#: Of a network above an encoder that is tuned, whose vectors need less noise.
_TUNED: _Own = {
    "encoder_rate": Range(5e-6, 1e-4, log=True),
    "layer_decay": Range(0.7, 1.0),
    "vector_dropout": Range(0.0, 0.3),
}

#: Settings that say what is read and what the best is, not how to learn.
_NOT_SEARCHED = HOW_IT_RUNS | {"encoder", "tune_encoder", "save_encoder", "metric"}


def default_space(system: str, settings: Mapping[str, Any] | None = None) -> _Own:
    """What is searched of a system when nothing is named, but for what the settings fix."""
    fixed = settings or {}
    space = dict(_NETWORK) if describe(system).by_epochs else {}
    space |= _OWN[system]
    space |= _TUNED if fixed.get("tune_encoder") else {}
    return {name: one for name, one in space.items() if name not in fixed}


def searchable(system: str) -> list[str]:
    """The settings of a system that can be searched."""
    return sorted(
        name
        for name, one in settings_of(system).items()
        if name not in _NOT_SEARCHED and "tuple" not in one.kinds
    )


def check_space(
    system: str, space: Space, fixed: Mapping[str, Any], named: str = "search"
) -> dict[str, Range | Choice]:
    """The space, its ends of the type of the setting; refused is what cannot be searched.

    Parameters
    ----------
    fixed
        Settings of all trials.
    named
        How a message names the space.
    """
    if not space:
        raise ConfigError(f"{named}: expected at least one setting to search, got none")
    valid = searchable(system)
    for name, one in space.items():
        if name not in settings_of(system):
            raise ConfigError(f"{named}: {system} has no setting {name!r}{nearest(name, valid)}")
        if name not in valid:
            raise ConfigError(f"{named} {name}: it cannot be searched; it is fixed for all trials")
        if name in fixed:
            raise ConfigError(
                f"{named} {name}: it is given as {fixed[name]!r} too; leave one of them out"
            )
        _check_one(f"{named} {name}", one)
        for value in one.ends:
            check_values(system, {name: value})
    return {name: _typed(f"{named} {name}", system, name, one) for name, one in space.items()}


def _typed(where: str, system: str, name: str, one: Range | Choice) -> Range | Choice:
    kinds = settings_of(system)[name].kinds
    if isinstance(one, Choice):
        return one
    if "float" in kinds:
        return Range(float(one.low), float(one.high), one.log)
    if "int" not in kinds:
        raise ConfigError(f"{where}: it is no number; give its values, with commas between")
    if not one.is_whole:
        raise ConfigError(f"{where}: expected whole numbers, got {one.low!r} and {one.high!r}")
    return one


def _check_one(where: str, one: Range | Choice) -> None:
    if isinstance(one, Choice):
        if len(set(one.values)) < len(one.values) or len(one.values) < 2:
            raise ConfigError(
                f"{where}: expected two or more distinct values, got {list(one.values)!r}"
            )
        return
    is_finite = math.isfinite(one.low) and math.isfinite(one.high)
    if not is_finite or not one.low < one.high:
        raise ConfigError(f"{where}: expected low < high, got {one.low!r} and {one.high!r}")
    if one.log and one.low <= 0:
        raise ConfigError(f"{where}: a logarithmic scale starts above 0, got {one.low!r}")


def started_at(space: Space, used: Mapping[str, Any]) -> dict[str, Any] | None:
    """The values that are used when none are given, where the space holds them all.

    The first trial is made with them, so that a search ends no worse than it began.
    """
    values = {name: used[name] for name in space}
    return values if all(one.holds(values[name]) for name, one in space.items()) else None

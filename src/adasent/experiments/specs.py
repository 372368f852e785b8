"""protocol.toml in; every run that the paper's Tables 2 and 3 need, out, as data."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from adasent.data.registry import describe
from adasent.errors import ConfigError, nearest
from adasent.experiments.paper import paper_sets

RULES = ("random", "grouped")
TABLES = ("table2", "table3")
Setting = dict[str, Any]


@dataclass(frozen=True)
class SystemSpec:
    """A row of Table 2: its name in the registry and in the paper, and what may be tried for it.

    Attributes
    ----------
    vectors
        Whether it takes the protocol's word vectors and epochs.
    variants
        Settings that are tried in Table 2 beside the defaults.
    space
        Values to draw the settings of Table 3 from, by the name of the setting; empty for a
        system that the paper's Table 3 does not have.
    """

    name: str
    title: str
    vectors: bool = False
    variants: tuple[Setting, ...] = ()
    space: dict[str, list[Any]] = field(default_factory=dict)

    @property
    def table3(self) -> bool:
        """Whether it has a row in Table 3."""
        return bool(self.space)

    def draws(self, n: int, seed: int) -> list[Setting]:
        """That many different settings out of the space."""
        size = math.prod(map(len, self.space.values()))
        if size < n:
            raise ConfigError(
                f"the space of {self.name} has {size} settings, {n} are to be tried; widen it"
            )
        everything = list(itertools.product(*self.space.values()))
        chosen = np.random.default_rng(seed).choice(size, size=n, replace=False)
        return [dict(zip(self.space, everything[i], strict=True)) for i in chosen.tolist()]


@dataclass(frozen=True)
class Protocol:
    """How every run is made; the fields are explained in protocol.toml."""

    n_folds: int = 10
    fold_seed: int = 0
    dev_fraction: float = 0.1
    tokenizer: str = "kim"
    vectors: tuple[str, ...] = ()
    epochs: int = 20
    patience: int = 5
    n_settings: int = 3
    n_draws: int = 10
    table3_fold: int = 0
    grouped: tuple[str, ...] = ()


@dataclass(frozen=True)
class Unit:
    """One run: settings are tried on the dev part, the best one is tested on the fold once.

    Attributes
    ----------
    rule
        ``random``, or ``grouped`` (equal texts never on both sides).
    n_folds
        1 for a set with an official split, whatever the rule.
    seed
        Of the training; the folds have the protocol's. In Table 3 it also names the setting.
    """

    table: str
    system: str
    data: str
    rule: str
    fold: int
    n_folds: int
    seed: int


@dataclass(frozen=True)
class Experiments:
    """The protocol and the systems it is applied to."""

    protocol: Protocol
    systems: dict[str, SystemSpec]

    def __post_init__(self) -> None:
        for system in self.systems.values():
            if 1 + len(system.variants) != self.protocol.n_settings:
                raise ConfigError(
                    f"{system.name}: every system tries {self.protocol.n_settings} settings, the "
                    f"defaults among them; got {len(system.variants)} variants"
                )

    def system(self, name: str) -> SystemSpec:
        """By its name in the registry or in the paper, in any letter case."""
        folded = name.casefold()
        for system in self.systems.values():
            if folded in (system.name.casefold(), system.title.casefold()):
                return system
        raise ConfigError(f"unknown system {name!r}{nearest(name, self.systems)}")

    def units(
        self,
        table: str,
        sets: Iterable[str] | None = None,
        systems: Iterable[str] | None = None,
    ) -> list[Unit]:
        """The runs of a table, set by set.

        Parameters
        ----------
        table
            ``table2`` or ``table3``.
        sets, systems
            Names to keep; None keeps all.
        """
        names = paper_sets() if sets is None else tuple(describe(name).name for name in sets)
        chosen = self.systems.values() if systems is None else map(self.system, systems)
        rows = [row for row in chosen if table == "table2" or row.table3]
        units = [self._table2, self._table3][TABLES.index(table)]
        return [unit for data in names for row in rows for unit in units(row, data)]

    def settings(self, unit: Unit) -> list[Setting]:
        """What the unit tries, in order."""
        system, protocol = self.systems[unit.system], self.protocol
        if unit.table == "table3":
            # One seed for all systems: those with equal spaces are compared on equal settings.
            return [system.draws(protocol.n_draws, seed=0)[unit.seed]]
        return [{}, *(dict(variant) for variant in system.variants)]

    def spec(self, unit: Unit, vectors: Sequence[dict[str, str]]) -> dict[str, Any]:
        """What the record of the unit says of how it was made; equal specs are the same work.

        Parameters
        ----------
        vectors
            Name and sha256 of each file of word vectors.
        """
        protocol = asdict(self.protocol)
        system = self.systems[unit.system]
        used = {name: protocol[name] for name in ("fold_seed", "dev_fraction", "tokenizer")}
        if system.vectors:
            used |= {name: protocol[name] for name in ("epochs", "patience")}
            used["vectors"] = list(vectors)
        head = {"table": unit.table, "system": unit.system}
        return head | used | {"settings": self.settings(unit)}

    def _table2(self, system: SystemSpec, data: str) -> list[Unit]:
        n_folds = self._n_folds(data)
        rules = RULES if data in self.protocol.grouped else RULES[:1]
        return [
            Unit("table2", system.name, data, rule, fold, n_folds, seed=0)
            for rule in rules
            for fold in range(n_folds)
        ]

    def _table3(self, system: SystemSpec, data: str) -> list[Unit]:
        n_folds = self._n_folds(data)
        fold = self.protocol.table3_fold if n_folds > 1 else 0
        return [
            Unit("table3", system.name, data, "random", fold, n_folds, seed)
            for seed in range(self.protocol.n_draws)
        ]

    def _n_folds(self, data: str) -> int:
        return 1 if describe(data).split == "official" else self.protocol.n_folds


@cache
def experiments() -> Experiments:
    """The packaged protocol and systems."""
    text = resources.files("adasent.experiments").joinpath("protocol.toml").read_text("utf-8")
    values = tomllib.loads(text)
    protocol: dict[str, Any] = values["protocol"]
    for name in ("vectors", "grouped"):
        protocol[name] = tuple(protocol[name])
    systems = {}
    for name, table in values["systems"].items():
        variants = tuple(table.pop("variants"))
        systems[name] = SystemSpec(name, variants=variants, **table)
    return Experiments(Protocol(**protocol), systems)

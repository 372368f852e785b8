"""Reads protocol.toml and lists every run that the tables and the ablations need."""

from __future__ import annotations

import itertools
import math
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from adasent.data.registry import describe
from adasent.errors import ConfigError, nearest
from adasent.estimators.registry import describe as describe_system
from reproduction.paper import paper_sets

RULES = ("random", "grouped")
TABLES = ("table2", "table3", "ablations", "refit")
Setting = dict[str, Any]


@dataclass(frozen=True)
class SystemSpec:
    """A row of Table 2: its name in the registry and in the paper, and what may be tried for it.

    Attributes
    ----------
    vectors
        Whether it takes the protocol's word vectors and epochs.
    trees
        Whether it composes along parse trees.
    seeded
        Whether chance plays a part in it; if not, one run with an official split says all.
    variants
        Settings that are tried in Table 2 beside the defaults.
    space
        Values to draw the settings of Table 3 from, by the name of the setting; empty for a
        system that the paper's Table 3 does not have.
    """

    name: str
    title: str
    vectors: bool = False
    trees: bool = False
    seeded: bool = True
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
class Ablation:
    """A system, nearly always AdaSent, with something changed.

    Attributes
    ----------
    settings
        Of the estimator, where they differ from the defaults.
    network
        A name in :data:`reproduction.ablations.ABLATIONS`; None is AdaSent itself.
    vectors
        In place of the protocol's; None takes these.
    """

    name: str
    settings: Setting = field(default_factory=dict)
    network: str | None = None
    vectors: tuple[str, ...] | None = None
    system: str = "adasent"


@dataclass(frozen=True)
class Protocol:
    """How every run is made; the fields are explained in protocol.toml."""

    n_folds: int = 10
    official_seeds: int = 1
    fold_seed: int = 0
    dev_fraction: float = 0.1
    tokenizer: str = "kim"
    vectors: tuple[str, ...] = ()
    extra_words: int | None = None
    epochs: int = 20
    patience: int = 5
    n_settings: int = 3
    n_draws: int = 10
    table3_fold: int = 0
    grouped: tuple[str, ...] = ()
    ablated: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedRun:
    """One run that a table asks for, by name; :class:`reproduction.jobs.Jobs` makes a job of it.

    Settings are tried on the dev part, the best one is tested on the fold once.

    Attributes
    ----------
    system
        A name in the registry; in the table of ablations, the name of an ablation.
    rule
        ``random``, or ``grouped`` (equal texts never on both sides).
    n_folds
        1 for a set with an official split, whatever the rule.
    seed
        Of the training; the folds have the protocol's. In Table 3 it also names the setting. A set
        with an official split has several in Table 2, in place of folds.
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
    """The protocol, the systems it is applied to, and variants of one of them."""

    protocol: Protocol
    systems: dict[str, SystemSpec]
    ablations: dict[str, Ablation] = field(default_factory=dict)

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

    def runs(
        self,
        table: str,
        sets: Iterable[str] | None = None,
        systems: Iterable[str] | None = None,
    ) -> list[PlannedRun]:
        """The runs of a table, set by set.

        Parameters
        ----------
        table
            One of :data:`TABLES`.
        sets, systems
            Names to keep; None keeps all. The systems of the ablations are their names.
        """
        if table == "ablations":
            return self._ablations(sets, systems)
        names = paper_sets() if sets is None else tuple(describe(name).name for name in sets)
        chosen = self.systems.values() if systems is None else map(self.system, systems)
        only = {"table3": "table3", "refit": "vectors"}.get(table)  # what its rows must have
        rows = [row for row in chosen if only is None or getattr(row, only)]
        of_row = {"table2": self._table2, "table3": self._table3, "refit": self._refit}[table]
        return [run for data in names for row in rows for run in of_row(row, data)]

    def settings(self, run: PlannedRun) -> list[Setting]:
        """What the run tries, in order."""
        system, protocol = self.row(run), self.protocol
        if run.table == "ablations":
            return [dict(self.ablations[run.system].settings)]
        if run.table == "table3":
            # One seed for all systems: those with equal spaces are compared on equal settings.
            return [system.draws(protocol.n_draws, seed=0)[run.seed]]
        return [{}, *(dict(variant) for variant in system.variants)]

    def spec(
        self,
        run: PlannedRun,
        defaults: Mapping[str, Any],
        vectors: Sequence[dict[str, str]],
        trees: str | None = None,
    ) -> dict[str, Any]:
        """What the record of the run says of how it was made; equal specs are the same work.

        Parameters
        ----------
        defaults
            Settings that the system has when none is given.
        vectors
            Name and sha256 of each file of word vectors.
        trees
            Where they come from, for a system that composes along them.
        """
        protocol = asdict(self.protocol)
        system = self.row(run)
        used = {name: protocol[name] for name in ("fold_seed", "dev_fraction", "tokenizer")}
        if system.vectors:
            used |= {name: protocol[name] for name in ("epochs", "patience")}
            used["vectors"] = list(vectors)
            if self.protocol.extra_words is not None:
                used["extra_words"] = self.protocol.extra_words
        if trees is not None:
            used["trees"] = trees
        if run.table != "table3":
            used["n_seeds"] = self._n_seeds(system, run.data)
        head: dict[str, Any] = {"table": run.table, "system": run.system}
        if run.table == "ablations":
            ablation = self.ablations[run.system]
            head |= {"of": ablation.system, "network": ablation.network}
        rest = {name: value for name, value in defaults.items() if name not in used}
        return head | used | {"defaults": rest, "settings": self.settings(run)}

    def row(self, run: PlannedRun) -> SystemSpec:
        """The system that is run, an ablation's included."""
        ablated = run.table == "ablations"
        return self.systems[self.ablations[run.system].system if ablated else run.system]

    def vectors(self, run: PlannedRun) -> tuple[str, ...]:
        """Names of the word vectors that the run uses."""
        if not self.row(run).vectors:
            return ()
        own = self.ablations[run.system].vectors if run.table == "ablations" else None
        return self.protocol.vectors if own is None else own

    def _ablations(
        self, sets: Iterable[str] | None, names: Iterable[str] | None
    ) -> list[PlannedRun]:
        asked = None if sets is None else [describe(name).name for name in sets]
        for name in names or ():
            if name not in self.ablations:
                raise ConfigError(f"unknown ablation {name!r}{nearest(name, self.ablations)}")
        return [
            PlannedRun("ablations", name, data, "random", fold, self._n_folds(data), seed)
            for data in self.protocol.ablated
            if asked is None or data in asked
            for name in (self.ablations if names is None else names)
            for fold in range(self._n_folds(data))
            for seed in range(self._n_seeds(self.systems["adasent"], data))
        ]

    def _table2(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        n_folds = self._n_folds(data)
        rules = RULES if data in self.protocol.grouped else RULES[:1]
        return [
            PlannedRun("table2", system.name, data, rule, fold, n_folds, seed)
            for rule in rules
            for fold in range(n_folds)
            for seed in range(self._n_seeds(system, data))
        ]

    def _refit(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        return [
            replace(run, table="refit")
            for run in self._table2(system, data)
            if run.rule == RULES[0]
        ]

    def _table3(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        n_folds = self._n_folds(data)
        fold = self.protocol.table3_fold if n_folds > 1 else 0
        return [
            PlannedRun("table3", system.name, data, "random", fold, n_folds, seed)
            for seed in range(self.protocol.n_draws)
        ]

    def _n_seeds(self, system: SystemSpec, data: str) -> int:
        several = system.seeded and self._n_folds(data) == 1
        return self.protocol.official_seeds if several else 1

    def _n_folds(self, data: str) -> int:
        return 1 if describe(data).split == "official" else self.protocol.n_folds


@cache
def experiments() -> Experiments:
    """The packaged protocol and systems."""
    text = resources.files("reproduction").joinpath("protocol.toml").read_text("utf-8")
    values = tomllib.loads(text)
    protocol: dict[str, Any] = values["protocol"]
    for name in ("vectors", "grouped", "ablated"):
        protocol[name] = tuple(protocol[name])
    systems = {}
    for name, table in values["systems"].items():
        variants = tuple(table.pop("variants"))
        entry = describe_system(name)
        systems[name] = SystemSpec(
            name,
            entry.title,
            vectors=entry.vectors,
            trees=entry.trees,
            variants=variants,
            **table,
        )
    ablations = {}
    for name, table in values["ablations"].items():
        vectors = tuple(table.pop("vectors")) if "vectors" in table else None
        network, system = table.pop("network", None), table.pop("system", "adasent")
        ablations[name] = Ablation(name, table, network, vectors, system)
    return Experiments(Protocol(**protocol), systems, ablations)

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
from adasent.estimators.presets import preset
from adasent.estimators.registry import describe as describe_system
from adasent.evaluation.records import UNSAID
from reproduction.paper import paper_sets

RULES = ("random", "grouped")
TABLES = ("table2", "partitions", "table3", "ablations", "refit", "taught")
Setting = dict[str, Any]


@dataclass(frozen=True)
class SystemSpec:
    """A row of Table 2: a system of the registry, and what may be tried for it.

    Attributes
    ----------
    of
        The system's name in the registry, if the row is not named like it.
    base
        Settings that all its runs have, where they are not the system's defaults.
    encoder
        The name of the encoder that it stands on, in place of word vectors.
    teacher
        The row that labels texts for it; its settings may be those of a lesson, too.
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
    of: str | None = None
    base: Setting = field(default_factory=dict)
    encoder: str | None = None
    teacher: str | None = None

    @property
    def registered(self) -> str:
        """Its name in the registry."""
        return self.of or self.name

    @property
    def in_paper(self) -> str:
        """The row of the paper's tables that has its figures."""
        return self.title if self.of is None else describe_system(self.of).title

    @property
    def refitted(self) -> bool:
        """Whether it has a row in the table of second trainings."""
        return self.vectors and self.of is None

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
    system
        The row of Table 2 that is changed.
    training
        A system whose settings of the training it has in place of its own.
    sets
        That it is run on; None for the protocol's.
    """

    name: str
    settings: Setting = field(default_factory=dict)
    network: str | None = None
    vectors: tuple[str, ...] | None = None
    system: str = "adasent"
    training: str | None = None
    sets: tuple[str, ...] | None = None


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
    table3_folds: tuple[int, ...] = (0,)
    more_fold_seeds: tuple[int, ...] = ()
    partitioned: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    ablated: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedRun:
    """One run that a table asks for, by name; :class:`reproduction.jobs.Jobs` makes a job of it.

    Settings are tried on the dev part, the best one is tested on the fold once.

    Attributes
    ----------
    system
        A row of Table 2; in the table of ablations, the name of an ablation.
    rule
        ``random``, or ``grouped`` (equal texts never on both sides).
    n_folds
        1 for a set with an official split, whatever the rule.
    seed
        Of the training; the folds have one of their own. In Table 3 it also names the setting. A
        set with an official split has several in Table 2, in place of folds.
    fold_seed
        Of the folds and the dev part; None is the protocol's.
    """

    table: str
    system: str
    data: str
    rule: str
    fold: int
    n_folds: int
    seed: int
    fold_seed: int | None = None


@dataclass(frozen=True)
class Experiments:
    """The protocol, the systems it is applied to, and variants of one of them.

    Attributes
    ----------
    taught
        Rows beside Table 2, which know more than the sets: on an encoder, or taught by one.
    texts
        By set: how many texts of each kind a teacher labels; see :mod:`reproduction.lessons`.
    """

    protocol: Protocol
    systems: dict[str, SystemSpec]
    ablations: dict[str, Ablation] = field(default_factory=dict)
    taught: dict[str, SystemSpec] = field(default_factory=dict)
    texts: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for system in self.systems.values():
            if 1 + len(system.variants) != self.protocol.n_settings:
                raise ConfigError(
                    f"{system.name}: every system tries {self.protocol.n_settings} settings, the "
                    f"defaults among them; got {len(system.variants)} variants"
                )

    def system(self, name: str) -> SystemSpec:
        """By its name in the registry or in the paper, in any letter case."""
        folded, every = name.casefold(), self.systems | self.taught
        for system in every.values():
            if folded in (system.name.casefold(), system.title.casefold()):
                return system
        raise ConfigError(f"unknown system {name!r}{nearest(name, every)}")

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
        of_table = self.taught if table == "taught" else self.systems
        chosen = of_table.values() if systems is None else map(self.system, systems)
        only = {"table3": "table3", "refit": "refitted"}.get(table)  # what its rows must have
        rows = [row for row in chosen if row.name in of_table]
        rows = [row for row in rows if only is None or getattr(row, only)]
        of_row = {
            "table2": self._table2,
            "taught": self._taught,
            "partitions": self._partitions,
            "table3": self._table3,
            "refit": self._refit,
        }[table]
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
        beside: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """What the record of the run says of how it was made; equal specs are the same work.

        Parameters
        ----------
        defaults
            Settings that the run has when none is given.
        vectors
            Name and sha256 of each file of word vectors.
        trees
            Where they come from, for a system that composes along them.
        beside
            What a row that knows more than the sets was given.
        """
        protocol = asdict(self.protocol)
        system = self.row(run)
        used: dict[str, Any] = {"fold_seed": self.fold_seed(run)}
        used |= {name: protocol[name] for name in ("dev_fraction", "tokenizer")}
        if system.vectors:
            used |= {name: protocol[name] for name in ("epochs", "patience")}
            if system.encoder is None:
                used["vectors"] = list(vectors)
                if self.protocol.extra_words is not None:
                    used["extra_words"] = self.protocol.extra_words
        if trees is not None:
            used["trees"] = trees
        used |= beside or {}
        if run.table != "table3":
            used["n_seeds"] = self._n_seeds(system, run.data)
        elif run.n_folds > 1 and self.protocol.table3_folds != (0,):
            used["folds"] = list(self.protocol.table3_folds)
        head: dict[str, Any] = {"table": run.table, "system": run.system}
        if run.table == "ablations":
            ablation = self.ablations[run.system]
            head |= {"of": ablation.system, "network": ablation.network}
        if system.of is not None and run.table != "ablations":
            head["of"] = system.of
        # What was once no choice goes unsaid where it is as it was: old records are the same work.
        rest = {
            name: value
            for name, value in defaults.items()
            if name not in used and (name not in UNSAID or value != UNSAID[name])
        }
        return head | used | {"defaults": rest, "settings": self.settings(run)}

    def row(self, run: PlannedRun) -> SystemSpec:
        """The row of Table 2 that is run, an ablation's included."""
        if run.table == "taught":
            return self.taught[run.system]
        ablation = self.ablation(run)
        return self.systems[run.system if ablation is None else ablation.system]

    def ablation(self, run: PlannedRun) -> Ablation | None:
        """What the run changes, in the table of ablations."""
        return self.ablations[run.system] if run.table == "ablations" else None

    def fold_seed(self, run: PlannedRun) -> int:
        """The seed of its folds."""
        return self.protocol.fold_seed if run.fold_seed is None else run.fold_seed

    def vectors(self, run: PlannedRun) -> tuple[str, ...]:
        """Names of the word vectors that the run uses."""
        if not self.row(run).vectors or self.row(run).encoder is not None:
            return ()
        ablation = self.ablation(run)
        own = None if ablation is None else ablation.vectors
        return self.protocol.vectors if own is None else own

    def _ablations(
        self, sets: Iterable[str] | None, names: Iterable[str] | None
    ) -> list[PlannedRun]:
        asked = paper_sets() if sets is None else [describe(name).name for name in sets]
        for name in names or ():
            if name not in self.ablations:
                raise ConfigError(f"unknown ablation {name!r}{nearest(name, self.ablations)}")
        return [
            PlannedRun("ablations", name, data, "random", fold, self._n_folds(data), seed)
            for data in asked
            for name in (self.ablations if names is None else names)
            if data in self.ablated_sets(name)
            for fold in range(self._n_folds(data))
            for seed in range(self._n_seeds(self.systems["adasent"], data))
        ]

    def ablated_sets(self, name: str) -> tuple[str, ...]:
        """The sets that an ablation is run on."""
        own = self.ablations[name].sets
        return self.protocol.ablated if own is None else own

    def _table2(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        n_folds = self._n_folds(data)
        rules = RULES if data in self.protocol.grouped else RULES[:1]
        return [
            PlannedRun("table2", system.name, data, rule, fold, n_folds, seed)
            for rule in rules
            for fold in range(n_folds)
            for seed in range(self._n_seeds(system, data))
        ]

    def _taught(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        return [replace(run, table="taught") for run in self._table2(system, data)]

    def _partitions(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        """The random folds of Table 2 drawn anew; of an official split, further seeds.

        The seed of the folds and of the training are one, so that both are new.
        """
        if system.name not in self.protocol.partitioned:
            return []
        n_folds, n_seeds = self._n_folds(data), self._n_seeds(system, data)
        return [
            PlannedRun("partitions", system.name, data, "random", fold, n_folds, seed, fold_seed)
            for fold_seed in self.protocol.more_fold_seeds
            for fold in range(n_folds)
            for seed in range(fold_seed * n_seeds, (fold_seed + 1) * n_seeds)
        ]

    def _refit(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        return [
            replace(run, table="refit")
            for run in self._table2(system, data)
            if run.rule == RULES[0]
        ]

    def _table3(self, system: SystemSpec, data: str) -> list[PlannedRun]:
        n_folds = self._n_folds(data)
        folds = self.protocol.table3_folds if n_folds > 1 else (0,)
        return [
            PlannedRun("table3", system.name, data, "random", fold, n_folds, seed)
            for seed, fold in zip(range(self.protocol.n_draws), itertools.cycle(folds))
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
    protocol: dict[str, Any] = _with_tuples(values["protocol"])
    systems = {name: _system(name, table) for name, table in values["systems"].items()}
    ablations = {name: _ablation(name, table) for name, table in values["ablations"].items()}
    taught = {name: _system(name, table) for name, table in values["taught"].items()}
    return Experiments(Protocol(**protocol), systems, ablations, taught, values["texts"])


def _system(name: str, table: dict[str, Any]) -> SystemSpec:
    entry = describe_system(table.get("of", name))
    base = preset(table.pop("preset", "default")) | table.pop("base", {})
    return SystemSpec(
        name,
        table.pop("title", entry.title),
        vectors=entry.vectors,
        trees=entry.trees,
        base=base,
        **_with_tuples(table),
    )


def _ablation(name: str, table: dict[str, Any]) -> Ablation:
    """Whatever is no field of an ablation is a setting of its system."""
    names = ("network", "vectors", "system", "training", "sets")
    own = _with_tuples({key: table.pop(key) for key in names if key in table})
    return Ablation(name, table, **own)


def _with_tuples(table: Mapping[str, Any]) -> dict[str, Any]:
    return {k: tuple(v) if isinstance(v, list) else v for k, v in table.items()}

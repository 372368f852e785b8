"""Finds what a folder of records has to show for a table or a figure.

The folder holds ``table1/SET.json`` (audits), ``table2``, ``partitions``, ``table3``,
``ablations``, ``refit`` and ``taught`` (stores of runs), ``figures/NAME.json`` (their data),
``phenomena/SET.json`` (flags of the texts), ``search/NAME.jsonl`` (trials on dev parts),
``trees.json`` (how much of each set the treebanks hold) and ``sizes.json`` (how many numbers the
networks learn).
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from adasent.data.audit import Audit, audit
from adasent.data.span_parser import treebank
from adasent.errors import DataError
from adasent.evaluation.records import FoldRecord, read_records
from adasent.evaluation.store import Labelled, RecordStore
from adasent.text.tokenize import get_tokenizer
from reproduction.ablation_table import Ablations, ablation_tables
from reproduction.cells import Variance, table2_cells, variance
from reproduction.figure_tables import figure_tables
from reproduction.figures import FIGURES, check_figure
from reproduction.jobs import Jobs
from reproduction.paper import paper_sets
from reproduction.partitions_table import Partitions, partition_tables
from reproduction.phenomena import find_phenomena
from reproduction.phenomena_table import phenomena_tables
from reproduction.refit_table import Refits, refit_tables
from reproduction.render import Table
from reproduction.results import Results
from reproduction.search_table import Trial, read_search, search_tables
from reproduction.sizes import Sizes, network_sizes
from reproduction.specs import Experiments, SystemSpec
from reproduction.table1 import table1
from reproduction.table2 import table2
from reproduction.table3 import table3
from reproduction.taught_table import taught_tables

#: Tables that are stores of runs.
STORES = ("table2", "partitions", "table3", "ablations", "refit", "taught")
NAMES = ("table1", *STORES, "phenomena", "search", *FIGURES)


def open_store(root: str | os.PathLike[str]) -> RecordStore:
    """The runs below a folder: a file for each table, system, set and fold rule.

    For example ``table2/adasent/MPQA-grouped.jsonl``.
    """
    return RecordStore(root, _record_file)


def _record_file(run: Labelled) -> Path:
    name = f"{run.data}-{run.rule}"
    if run.spec["table"] == "partitions":  # a file holds one division of a set
        name += f"-{run.spec['fold_seed']}"
    return Path(run.spec["table"], run.spec["system"], f"{name}.jsonl")


class Catalog:
    """What a folder of records has to show.

    Parameters
    ----------
    sets, systems
        Columns and rows to keep; None keeps all.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        plan: Experiments,
        sets: Sequence[str] | None = None,
        systems: Sequence[str] | None = None,
    ) -> None:
        self.root = Path(root)
        self.plan = plan
        self.store = open_store(root)
        self.sets = paper_sets() if sets is None else tuple(sets)
        chosen = plan.systems.values() if systems is None else map(plan.system, systems)
        self.systems: list[SystemSpec] = list(chosen)

    def tables(self, name: str) -> list[Table]:
        """The tables of a name; of a figure, what it shows in words, or nothing without data."""
        if name == "table1":
            return table1(self.audits, self.sets)
        if name == "table2":
            return table2(self.results, self.plan.protocol.grouped)
        if name == "partitions":
            rows = [row for row in self.systems if row.name in self.plan.protocol.partitioned]
            return partition_tables(self.partitions, rows, self.sets)
        if name == "table3":
            return table3(self.variance, self.robust_systems, self.sets)
        if name == "ablations":
            return ablation_tables(self.ablations, self.sets, self.sizes)
        if name == "refit":
            rows = [row for row in self.systems if row.refitted]
            return refit_tables(self.refits, rows, self.sets)
        if name == "taught":
            cells = table2_cells([*self.records["table2"], *self.records["taught"]])
            plan, rows = self.plan, list(self.plan.taught.values())
            grouped, untaught = plan.protocol.grouped, self.systems
            return taught_tables(cells, rows, untaught, self.sets, grouped, self.sizes)
        if name == "phenomena":
            return phenomena_tables(self.phenomena, self.results, self.sets)
        if name == "search":
            return search_tables(self.search, self.sets)
        data = self.figure(name)
        return [] if data is None else figure_tables(data)

    @property
    def robust_systems(self) -> list[SystemSpec]:
        """Rows of Table 3."""
        return [system for system in self.systems if system.table3]

    @property
    def networks(self) -> list[SystemSpec]:
        """The systems that are trained by epochs."""
        return [system for system in self.systems if system.vectors]

    @cached_property
    def refits(self) -> Refits:
        """What training again on both parts changes."""
        return Refits(self.records["refit"])

    @cached_property
    def results(self) -> Results:
        """Table 2."""
        return Results(self.records["table2"], self.systems, self.sets)

    @cached_property
    def partitions(self) -> Partitions:
        """Table 2 on further divisions into folds."""
        return Partitions(self.results.runs, self.records["partitions"])

    @cached_property
    def variance(self) -> Variance:
        """Table 3."""
        return variance(self.records["table3"], self.plan.protocol.n_draws)

    @cached_property
    def ablations(self) -> Ablations:
        """What the parts of AdaSent are worth."""
        return Ablations(self.records["ablations"], self.plan.ablations)

    @cached_property
    def records(self) -> dict[str, list[FoldRecord]]:
        """Every run by its table."""
        return {
            name: [
                record
                for path in sorted((self.root / name).glob("*/*.jsonl"))
                for record in read_records(path)
            ]
            for name in STORES
        }

    def figure(self, name: str) -> dict[str, Any] | None:
        """The data of a figure; None where it has not been computed."""
        path = self._figure_path(name)
        return dict(check_figure(name, _read_json(path))) if path.exists() else None

    def add_figure(self, name: str, data: dict[str, Any]) -> None:
        """Keep the data of a figure in place of what was there."""
        _write_json(self._figure_path(name), data)

    def add_audits(self, jobs: Jobs) -> None:
        """Look at the sets again."""
        protocol = self.plan.protocol
        for data in self.sets:
            found = audit(
                jobs.corpus(data),
                tokenizer=protocol.tokenizer,
                n_folds=protocol.n_folds,
                seed=protocol.fold_seed,
            )
            _write_json(self._audit_path(data), found.to_dict())

    def add_phenomena(self, jobs: Jobs) -> None:
        """Look again for what the texts of the sets show."""
        for data in self.sets:
            _write_json(self._phenomena_path(data), find_phenomena(jobs, data))

    @cached_property
    def phenomena(self) -> dict[str, dict[str, Any]]:
        """What the texts show, by set; sets that were not looked at are absent."""
        paths = {data: self._phenomena_path(data) for data in self.sets}
        return {data: _read_json(path) for data, path in paths.items() if path.exists()}

    @cached_property
    def search(self) -> list[Trial]:
        """How the recipe was chosen."""
        return read_search(self.root / "search")

    def add_trees(self, jobs: Jobs) -> None:
        """Look again for the texts of the sets in the treebanks."""
        tokenizer = get_tokenizer(self.plan.protocol.tokenizer)
        found = dict(self.trees)
        for data in self.sets:
            corpus = jobs.corpus(data)
            counts = Counter(
                str(label)
                for text, label in zip(corpus.texts, corpus.labels, strict=True)
                if treebank().heights(text, tokenizer(text)) is not None
            )
            found[data] = {label: counts[label] for label in map(str, dict.fromkeys(corpus.labels))}
        _write_json(self.root / "trees.json", found)

    @property
    def trees(self) -> dict[str, dict[str, int]]:
        """Texts of each class whose tree the treebanks hold, by set; empty if not looked for."""
        path = self.root / "trees.json"
        return _read_json(path) if path.exists() else {}

    def add_sizes(self, jobs: Jobs) -> None:
        """Count again what the networks learn, for as many classes as the sets have."""
        n_classes = {len(set(jobs.corpus(data).labels)) for data in self.sets}
        found = network_sizes(jobs, n_classes)
        for name, size in self.sizes.items():  # by number of classes: other sets have others
            if name in found:
                found[name]["network"] = size["network"] | found[name]["network"]
        _write_json(self.root / "sizes.json", found)

    @property
    def sizes(self) -> Sizes:
        """How many numbers the networks learn; empty if not counted."""
        path = self.root / "sizes.json"
        return _read_json(path) if path.exists() else {}

    @cached_property
    def audits(self) -> dict[str, Audit]:
        """What was found in the sets."""
        paths = {data: self._audit_path(data) for data in self.sets}
        return {
            data: Audit.from_dict(_read_json(path)) for data, path in paths.items() if path.exists()
        }

    def _audit_path(self, data: str) -> Path:
        return self.root / "table1" / f"{data}.json"

    def _phenomena_path(self, data: str) -> Path:
        return self.root / "phenomena" / f"{data}.json"

    def _figure_path(self, name: str) -> Path:
        return self.root / "figures" / f"{name}.json"


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise DataError(f"{path} is not valid JSON ({error}); compute it again") from error


def _write_json(path: Path, values: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(values, separators=(",", ":"), ensure_ascii=False) + "\n"
    # Beside it first: a kill never leaves half a file under the name.
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(text, "utf-8")
    temporary.replace(path)

"""The name of a table or figure and a folder of records in; what there is to show, out.

The folder holds ``table1/SET.json`` (audits), ``table2`` and ``table3`` (stores of runs) and
``figures/NAME.json`` (data of the figures).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from adasent.data.audit import Audit, audit
from adasent.errors import DataError
from adasent.experiments.figure_tables import figure_tables
from adasent.experiments.figures import FIGURES, check_figure
from adasent.experiments.paper import paper_sets
from adasent.experiments.render import Table
from adasent.experiments.specs import Experiments, SystemSpec
from adasent.experiments.store import Store
from adasent.experiments.table1 import table1
from adasent.experiments.table2 import table2
from adasent.experiments.table3 import table3
from adasent.experiments.tasks import Tasks

NAMES = ("table1", "table2", "table3", *FIGURES)


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
        self.store = Store(root)
        self.sets = paper_sets() if sets is None else tuple(sets)
        chosen = plan.systems.values() if systems is None else map(plan.system, systems)
        self.systems: list[SystemSpec] = list(chosen)

    def tables(self, name: str) -> list[Table]:
        """The tables of a name; of a figure, what it shows in words, or nothing without data."""
        protocol = self.plan.protocol
        if name == "table1":
            return table1(self._audits(), self.sets)
        if name == "table2":
            return table2(self.store.records(name), self.systems, self.sets, protocol.grouped)
        if name == "table3":
            rows = [system for system in self.systems if system.table3]
            return table3(self.store.records(name), rows, self.sets, protocol.n_draws)
        data = self.figure(name)
        return [] if data is None else figure_tables(data)

    def figure(self, name: str) -> dict[str, Any] | None:
        """The data of a figure; None where it has not been computed."""
        path = self._figure_path(name)
        return dict(check_figure(name, _read_json(path))) if path.exists() else None

    def add_figure(self, name: str, data: dict[str, Any]) -> None:
        """Keep the data of a figure in place of what was there."""
        _write_json(self._figure_path(name), data)

    def add_audits(self, tasks: Tasks) -> None:
        """Look at the sets again."""
        protocol = self.plan.protocol
        for data in self.sets:
            found = audit(
                tasks.corpus(data),
                tokenizer=protocol.tokenizer,
                n_folds=protocol.n_folds,
                seed=protocol.fold_seed,
            )
            _write_json(self._audit_path(data), found.to_dict())

    def _audits(self) -> dict[str, Audit]:
        paths = {data: self._audit_path(data) for data in self.sets}
        return {
            data: Audit.from_dict(_read_json(path)) for data, path in paths.items() if path.exists()
        }

    def _audit_path(self, data: str) -> Path:
        return self.root / "table1" / f"{data}.json"

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

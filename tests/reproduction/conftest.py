"""A tiny plan and the paper's sets without their files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from adasent.data import registry as data_registry
from adasent.data.registry import Entry
from experiment_cases import NAMES
from reproduction.cli import app
from reproduction.specs import Experiments, Protocol, SystemSpec


@pytest.fixture
def plan() -> Experiments:
    """Two systems, five folds, two settings; the first stops early."""
    space: dict[str, list[Any]] = {"rate": [1, 2, 3, 4]}
    return Experiments(
        Protocol(n_folds=5, n_settings=2, n_draws=3, grouped=("CR", "TREC")),
        {
            name: SystemSpec(name, title, variants=({"rate": 4},), space=space)
            for name, title in {"grconv": "GrConv", "adasent": "AdaSent"}.items()
        },
    )


@pytest.fixture
def toy_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """The five names and their kind of split, without files."""
    entries = {
        name: Entry(name, "", "", "", "", (), reader="lines", split=split)
        for name, split in NAMES.items()
    }
    monkeypatch.setattr(data_registry, "_entries", lambda: entries)


@pytest.fixture(scope="session")
def run() -> Callable[..., Result]:
    """Run the command line in this process; anything but an exit code is raised here."""

    def _run(*args: object) -> Result:
        result = CliRunner().invoke(app, [str(arg) for arg in args])
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return _run

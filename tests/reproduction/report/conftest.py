"""The committed records, read once."""

from __future__ import annotations

from pathlib import Path

import pytest

from reproduction.catalog import Catalog
from reproduction.report import build_report
from reproduction.specs import experiments

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="package")
def catalog() -> Catalog:
    """All that ``results/`` holds."""
    return Catalog(ROOT / "results", experiments())


@pytest.fixture(scope="package")
def page(catalog: Catalog) -> str:
    """The page that the records give."""
    return build_report(catalog)

"""A store holds what was put in, and lets one process at a unit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from adasent.errors import DataError
from experiment_cases import made_up
from reproduction.specs import Unit
from reproduction.store import Store

UNIT = Unit("table2", "adasent", "MR", "random", 0, 2, 0)
RECORD = made_up("adasent", "MR", [1, 0, 1])


def test_one_file_for_each_system_set_and_rule(tmp_path: Path) -> None:
    store = Store(tmp_path / "results")
    assert store.records("table2") == []
    grouped = replace(RECORD, rule="grouped")
    store.add(UNIT, RECORD)
    store.add(replace(UNIT, rule="grouped"), grouped)
    assert store.records("table2") == [grouped, RECORD]
    assert store.records("table3") == []
    files = sorted(p.relative_to(store.root).as_posix() for p in store.root.rglob("*.jsonl"))
    assert files == ["table2/adasent/MR-grouped.jsonl", "table2/adasent/MR-random.jsonl"]


def test_a_record_must_be_of_its_unit(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="expected the record of"):
        Store(tmp_path).add(replace(UNIT, fold=1), RECORD)


def test_a_unit_has_one_claimant(tmp_path: Path) -> None:
    one, two = Store(tmp_path), Store(tmp_path)
    with one.claim(UNIT, RECORD.key) as mine:
        assert mine
        with two.claim(UNIT, RECORD.key) as theirs, two.claim(UNIT, "another") as other:
            assert (theirs, other) == (False, True)
    with two.claim(UNIT, RECORD.key) as again:
        assert again  # let go, and not finished
        two.add(UNIT, RECORD)
    with one.claim(UNIT, RECORD.key) as late:
        assert not late

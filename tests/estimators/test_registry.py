"""The table of systems says what is so, and is all that a new system needs."""

from __future__ import annotations

import inspect
import pickle
import re
from pathlib import Path

import pytest

from adasent.errors import ConfigError
from adasent.estimators.registry import SYSTEMS, SystemEntry, describe, find

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", SYSTEMS)
def test_an_entry_says_what_is_so(name: str) -> None:
    entry, kind = SYSTEMS[name], find(name)
    assert kind.system == entry.name == name
    keywords = inspect.signature(kind).parameters
    assert entry.vectors == ("vectors" in keywords)
    assert entry.trees == ("treebank" in keywords)
    assert entry.by_epochs == ("checkpoint" in keywords)
    assert pickle.loads(pickle.dumps(kind)) is kind  # noqa: S301 - what joblib does
    assert (kind.__doc__ or "").strip()


def test_an_unknown_system() -> None:
    with pytest.raises(ConfigError, match=r"unknown system 'cmm'.*cnn"):
        describe("cmm")
    with pytest.raises(ConfigError, match=r"unknown system 'cmm'.*cnn"):
        find("cmm")


def test_titles_and_summaries_are_distinct() -> None:
    for attribute in ("title", "summary"):
        assert len({getattr(entry, attribute) for entry in SYSTEMS.values()}) == len(SYSTEMS)


def test_the_page_lists_every_system_as_the_table_has_it() -> None:
    page = (ROOT / "docs" / "systems.md").read_text("utf-8")
    listed = re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \| `", page, re.M)
    assert [tuple(map(str.strip, row)) for row in listed] == [
        (entry.name, entry.title, entry.summary, entry.paper) for entry in SYSTEMS.values()
    ]


def test_a_new_network_is_one_file_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = SystemEntry("again", "Again", "pooled", "nobody", "adasent.systems.cbow", "CBow")
    monkeypatch.setitem(SYSTEMS, "again", entry)
    clf = find("again")(vector_size=4, epochs=2, validation_fraction=0.0)
    assert clf.fit(["good film", "bad film"] * 5, [1, 0] * 5).predict(["good"]).shape == (1,)
    assert clf.system == "again"

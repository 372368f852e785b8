"""The script behind docs/why.md: every picture drawn, every part filled, twice the same."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

import adasent
from adasent import AdaSentClassifier
from adasent.explain.reading import percent

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "examples" / "pictures.py"

pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the examples are not shipped here")


def test_the_page_is_filled(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    texts = ["a good film", "the cast is bad", "a warm script", "never funny"] * 5
    clf = AdaSentClassifier(hidden_size=8, vector_size=8, epochs=2)
    clf.fit(texts, ["positive", "negative"] * 10).save(tmp_path / "model")
    page, other = tmp_path / "why.md", tmp_path / "explanations.md"
    for copied in (page, other):
        shutil.copy(ROOT / "docs" / copied.name, copied)
    script = runpy.run_path(str(SCRIPT))
    script["main"](tmp_path / "model", page)
    filled = page.read_text(encoding="utf-8")
    assert filled != (ROOT / "docs" / "why.md").read_text(encoding="utf-8")
    of_no_text = adasent.load(tmp_path / "model").explain("a good film").base
    assert " | ".join(map(percent, of_no_text)) in other.read_text(encoding="utf-8")
    for name in ("pyramid", "votes", "beliefs", "decomposition", "training"):
        assert f"pictures/{name}.svg" in filled
        assert (tmp_path / "pictures" / f"{name}.svg").stat().st_size > 1000
    script["main"](tmp_path / "model", page)
    assert page.read_text(encoding="utf-8") == filled
    with pytest.raises(ValueError, match="put them back"):
        script["fill"](filled, "unheard of", "")

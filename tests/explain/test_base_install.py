"""Explanations where only the base dependencies are."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from adasent import AdaSentClassifier, load

HIDDEN = ("gensim", "matplotlib", "numba", "pandas", "scipy", "sklearn", "threadpoolctl", "torch")

CODE = f"""
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN!r}:
            raise ImportError(name + " is hidden")

sys.meta_path.insert(0, Hide())
import adasent
from adasent.explain.html import page
from adasent.explain.profile import profile

model = adasent.load(sys.argv[1])
why = model.explain("a good film")
assert page([why])
assert profile(model, ["a good film", "the plot was awful"], ["pos", "neg"]).n == 2
print(why.to_json())
"""


def test_with_everything_else_hidden(tmp_path: Path) -> None:
    texts, labels = ["a good film", "an awful plot"] * 5, ["pos", "neg"] * 5
    clf = AdaSentClassifier(hidden_size=4, vector_size=4, epochs=1, validation_fraction=0)
    clf.fit(texts, labels).save(tmp_path / "model")
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path / "model")],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = load(tmp_path / "model").explain("a good film").to_dict()
    found = json.loads(done.stdout)
    assert found["tokens"] == expected["tokens"]
    for one, other in zip(found["words"], expected["words"], strict=True):
        assert all(abs(a - b) < 1e-5 for a, b in zip(one, other, strict=True))

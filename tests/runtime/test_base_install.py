"""Prediction where only the base dependencies are: in a process that hides the others, and in a
virtual environment of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import venv
from pathlib import Path

import numpy as np
import pytest

import adasent
from adasent import AdaSentClassifier

TEXTS = ["a good film", "the plot was bad and dull", "zebra"]
HIDDEN = (
    "gensim",
    "matplotlib",
    "numba",
    "pandas",
    "pyarrow",
    "scipy",
    "sklearn",
    "threadpoolctl",
    "tokenizers",
    "torch",
)

#: Makes what is not a base dependency impossible to import.
HIDE = f"""
import sys

class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {HIDDEN!r}:
            raise ImportError(name + " is hidden")

sys.meta_path.insert(0, Hide())
"""

PREDICT = """
import json, sys
import adasent
from adasent.runtime import climb

climb.UNITS_WORTH_NUMBA = 0  # numba would be used if it were there
predictor = adasent.load(sys.argv[1])
texts = json.loads(sys.argv[2])
print(json.dumps([predictor.predict(texts).tolist(), predictor.predict_proba(texts).tolist()]))
trace = predictor.trace(texts[0])
assert len(trace.units) == len(trace.tokens) == 3
"""

COMMAND = "from adasent.cli import main; main()"

NEEDS_MORE = """
import adasent
try:
    adasent.AdaSentClassifier
except ImportError as error:
    print(error)
"""


def run(python: str | Path, *args: object, stdin: str | None = None) -> str:
    done = subprocess.run(
        [str(python), *map(str, args)],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def check_base_install(python: str | Path, folder: Path, prelude: str) -> None:
    """Library, command line and the hint at what is missing, in another interpreter."""
    expected = AdaSentClassifier.load(folder).predict_proba(TEXTS)
    labels, found = json.loads(run(python, "-c", prelude + PREDICT, folder, json.dumps(TEXTS)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)
    assert labels == adasent.load(folder).predict(TEXTS).tolist()

    lines = run(python, "-c", prelude + COMMAND, "predict", folder, "-", stdin="\n".join(TEXTS))
    assert [json.loads(line)["predicted"] for line in lines.splitlines()] == labels

    hint = run(python, "-c", prelude + NEEDS_MORE)
    assert "run: pip install 'adasent[train]'" in hint


def test_with_everything_else_hidden(folder: Path) -> None:
    check_base_install(sys.executable, folder, HIDE)


@pytest.mark.network
def test_in_a_clean_environment(folder: Path, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", root)
    names = {line.partition("==")[0].lower() for line in run(python, "-m", "pip", "freeze").split()}
    assert not names & {"torch", "scikit-learn", "scipy", "numba", "gensim", "pandas"}
    check_base_install(python, folder, "")

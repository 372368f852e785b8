"""What of the documentation no test runs, and what of its output is not compared: one place.

A command that is neither run nor listed here fails its page, and a pattern that matches nothing
fails too. Patterns are matched against a whole command, with runs of spaces as one.
"""

from __future__ import annotations

#: Commands of a shell.
NOT_RUN: dict[str, str] = {
    r"pip install .*": "installs packages; tests/test_package.py and CI install the wheel",
    r"(.* )?make (test|demo)": "the tests themselves, and minutes of training on a download",
    r"(ADASENT_DATA=MIRROR )?python -m reproduction (run|report) .*": (
        "trains on the paper's sets, or writes README.md; tests/reproduction runs small ones"
    ),
    r"python -m benchmarks\..*": (
        "hours, a large encoder or a download; tests/benchmarks runs the parts"
    ),
    r"adasent .* --engine ray.*": "starts a cluster; tests/distributed joins one",
    r"docker build .*|mkdir models && .*|ADASENT_TOKEN=.* docker compose up": (
        "needs a Docker engine; tests/test_container.py checks what they read"
    ),
    r"accelerate launch .*": "starts processes; tests/training/test_tuning.py runs two",
    r"python recompute\.py .*": "tests/reproduction/report runs the script of the page",
}

#: Blocks of Python, by page and first line.
NOT_RUN_PYTHON: dict[tuple[str, str], str] = {
    ("reproduction.md", "import json, pathlib, sys"): "tests/reproduction/report runs it",
}

#: Blocks that show neither code nor output of their page's commands, by how they begin.
NOT_OUTPUT: dict[tuple[str, str], str] = {
    ("README.md", "            [this is not funny]    "): "a drawing",
    ("README.md", "┏━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┳━━━━━━━━━┓"): "of make demo",
    ("export.md", "const session"): "JavaScript; tests/export/test_onnx_web.py runs such lines",
    ("format.md", "KIM = "): "a pattern",
    ("format.md", "UNSPACED = "): "patterns",
    ("training.md", "long texts "): "of a file with long texts; tests/cli/test_train.py",
    ("sweep.md", "setting    mattered"): "of trials that differ; tests/evaluation",
    ("service.md", "text,label,predicted,probability,time"): "a file; tests/serve/test_feedback.py",
}

#: Lines of output that depend on the model, the data or the machine. Where a page shows such a
#: line, some line that the same pattern matches has to be said.
DEPENDS: dict[str, str] = {
    r"^\w+ \(>?\d+ %\), mostly because of “": "the words that decide",
    r"\w\[[-+]\d\.\d\d\]": "the scores of a sentence's words",
    r"^[-+]\d\.\d\d  \S": "the scores of phrases",
    r"^ ?\d\.\d\d  \(\w+, \d": "the label that is explained",
    r"^ adds  phrase": "whether phrases say more than their words",
    r"^unequal classes ": "how unequal, and what may help",
    r"^few texts ": "how few",
    r"^[^,{]+,,[A-Z]+,\d\.\d+,\d+$": "the texts that a model is least sure of",
    r"^\d+,\d+,.*,\w+,\w+,\d\.\d+$": "rows of a table with their labels",
    r"^[A-Z]{3,4}$": "labels by themselves",
    r"^only [\w-]+ is right$": "which of two models has a text right",
    r"^  [A-Z][^:]* \?$": "questions that one model has right",
    r"^    [A-Z]+; [\w-]+: [A-Z]+$": "their labels",
    r"McNemar's p = [\d.e-]+(: (may be|more than) chance)?$": "how sure a difference is",
    r'"predicted": \[': "several labels, or none",
    r"^ +dropped: \d+ ": "why sentences were dropped",
    r"^(first words|near good): ": "words of the vectors",
    r"\d% of [\d,]+ tokens, [\d.]+% of [\d,]+ distinct words": "words that vectors have or not",
}

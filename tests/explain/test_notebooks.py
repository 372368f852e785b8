"""The notebooks run from top to bottom on the made-up sample; no kernel is needed for that."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

pytestmark = pytest.mark.skipif(not EXAMPLES.is_dir(), reason="the examples are not shipped here")


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """Execute a cell; what its last line gives, as a notebook would show it."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # our own code, as it stands in the repository
    if last is None:
        return None
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "cell", "eval"), names)  # noqa: S307


@pytest.mark.parametrize("name", ["explain.ipynb", "profile.ipynb"])
def test_notebook(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADASENT_EXAMPLE_DATA", str(EXAMPLES / "reviews.csv"))
    notebook = json.loads((EXAMPLES / name).read_text(encoding="utf-8"))
    assert notebook["nbformat"] == 4
    names: dict[str, Any] = {}
    shown = []
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []  # what a notebook shows depends on where it ran
            shown.append(run_cell("".join(cell["source"]), names))
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert any('class="adasent"' in page for page in pages)
    if name == "explain.ipynb":
        assert (tmp_path / "why.html").stat().st_size > 1000
        assert (tmp_path / "pyramid.svg").exists()
    else:
        assert "Does the task need word order?" in capsys.readouterr().out
        assert (tmp_path / "profile" / "profile.html").exists()

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


def run_notebook(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Any], dict[str, Any]]:
    """What its cells show, and the names that they leave."""
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
    return shown, names


@pytest.mark.parametrize("name", ["explain.ipynb", "profile.ipynb"])
def test_notebook(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("matplotlib")
    shown, _ = run_notebook(name, tmp_path, monkeypatch)
    pages = [value._repr_html_() for value in shown if hasattr(value, "_repr_html_")]
    assert any('class="adasent"' in page for page in pages)
    if name == "explain.ipynb":
        assert (tmp_path / "why.html").stat().st_size > 1000
        assert (tmp_path / "pyramid.svg").exists()
    else:
        assert "Does the task need word order?" in capsys.readouterr().out
        assert (tmp_path / "profile" / "profile.html").exists()


@pytest.mark.usefixtures("own_cache")
def test_teaching(
    tmp_path: Path,
    encoder_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A tiny encoder stands for the large model; what it knows is not asked."""
    monkeypatch.setenv("ADASENT_EXAMPLE_ENCODER", str(encoder_folder))
    more = tmp_path / "more.txt"
    kinds = [
        f"the {noun} was not {how}" for noun in ("end", "hat", "sea") for how in ("bad", "wet")
    ]
    more.write_text("\n".join(kinds), encoding="utf-8")
    monkeypatch.setenv("ADASENT_EXAMPLE_UNLABELLED", str(more))
    shown, names = run_notebook("teach.ipynb", tmp_path, monkeypatch)
    assert names["report"].n_extra == len(kinds)
    assert names["report"].n_held == len(names["held"][0]) == 48
    assert names["model"].predict_proba(["a good film"]).shape == (1, 2)
    assert 'class="adasent"' in shown[-1]._repr_html_()
    assert "texts that only the teacher labelled: 6" in capsys.readouterr().out

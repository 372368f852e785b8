"""Tables and figures from a folder of records, and the same computed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from experiment_cases import EarlyRule, made_up, toy_corpus
from reproduction import catalog, figure_runs, jobs, report, specs
from reproduction.catalog import NAMES, open_store
from reproduction.report.readme import BEGIN, END
from reproduction.specs import Experiments, Protocol, SystemSpec

Run = Callable[..., Result]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """One cell of Table 2 and the data of one figure."""
    store = open_store(tmp_path / "results")
    for fold in range(2):
        store.add(made_up("nbsvm", "MR", [1, 1, 1, fold], fold=fold))
    data = {"figure": "fig-example", "text": "a b", "label": "positive", "positive": "positive"}
    data |= {"beliefs": [0.5, 0.5], "level_probabilities": [0.1, 0.9], "probability": 0.5}
    data |= {"models": [{"data": "MR", "accuracy": 0.8, "n_test": 5}]}
    (store.root / "figures").mkdir()
    (store.root / "figures" / "fig-example.json").write_text(json.dumps(data))
    return store.root


@pytest.fixture
def small_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two folds, one system that needs no training, toy texts."""
    system = SystemSpec("adasent", "AdaSent", variants=({"rate": 2},), space={"rate": [1, 2, 3]})
    plan = Experiments(Protocol(n_folds=2, n_settings=2, n_draws=2), {"adasent": system})
    monkeypatch.setattr(specs, "experiments", lambda: plan)

    def make(system: str, network: str | None, **settings: Any) -> EarlyRule:
        return EarlyRule(**settings)

    defaults = (None, toy_corpus, lambda _: {}, make, None)
    monkeypatch.setattr(jobs.Jobs.__init__, "__defaults__", defaults)


def test_prints_a_table(run: Run, results: Path) -> None:
    result = run("show", "table2", "--records", results, "--sets", "MR", "--systems", "NB-SVM")
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "Table 2. Classification accuracy, random folds"
    assert "NB-SVM 79.4 87.5 ± 17.7" in lines
    assert result.stderr == ""


@pytest.mark.parametrize(
    ("form", "expected"),
    [("markdown", "| NB-SVM | 79.4 |"), ("latex", "NB-SVM & 79.4 &"), ("html", "NB-SVM</th>")],
)
def test_forms(run: Run, results: Path, form: str, expected: str) -> None:
    result = run("show", "table2", "--records", results, "--format", form)
    assert expected in result.stdout


def test_everything_into_a_folder(run: Run, results: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run("show", "all", "--records", results, "--out", out)
    assert result.exit_code == 0
    files = {path.name for path in out.iterdir()}
    for name in ("table1", "table1-traps", "table2", "table2-grouped", "table2-tests", "table3"):
        assert {f"{name}.{suffix}" for suffix in ("txt", "md", "tex", "html")} <= files
    assert {"fig-example.svg", "fig-example.png", "fig-example.txt"} <= files
    assert "fig-pca\tnot computed yet" in result.stdout
    # 5 sets, 65 cells (the one there has its folds), 39 grouped cells, 35 cells.
    assert "143 cells have no or not all records" in result.stderr
    assert len(NAMES) == 13


def test_a_figure_in_words(run: Run, results: Path) -> None:
    assert "Sentence: a b" in run("show", "fig-example", "--records", results).stdout
    result = run("show", "fig-pca", "--records", results)
    assert result.stdout == "fig-pca: not computed yet; see run\n\n"


def test_the_report(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    readme = tmp_path / "README.md"
    readme.write_text(f"{BEGIN}\n{END}\n")
    out = tmp_path / "docs"
    command = ["report", "--records", results, "--out", out, "--readme", readme]
    refused = run(*command)
    assert refused.exit_code == 1
    assert "the report is about all records" in refused.stderr
    assert not out.exists()
    monkeypatch.setattr(report, "write_report", lambda catalog, folder: folder.mkdir())
    result = run(*command)
    assert result.exit_code == 0
    assert out.exists()
    assert "| NB-SVM | **87.5** |" in readme.read_text("utf-8")
    assert str(readme) in result.stdout


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["table2", "--phrase", "a"], "--phrase goes with fig-composition"),
        (["ablations", "--systems", "defalt"], "did you mean 'default'"),
        (["table2", "--systems", "adasend"], "did you mean 'adasent'"),
    ],
)
def test_options_that_do_not_go_together(
    run: Run, results: Path, arguments: list[str], expected: str
) -> None:
    result = run("run", *arguments, "--records", results)
    assert result.exit_code == 1
    assert expected in result.stderr


def test_trees_are_looked_for_again(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Bank:
        def heights(self, text: str, tokens: list[str]) -> Any:
            return None if tokens[0] == "bad" else [0]

    monkeypatch.setattr(catalog, "treebank", Bank)
    monkeypatch.setattr(catalog.Jobs, "corpus", lambda self, name: toy_corpus(name))
    monkeypatch.setattr(catalog.Jobs, "vector_size", lambda self, run: 5)
    command = ["run", "trees", "--records", results]
    assert run(*command, "--sets", "MR").exit_code == 0
    assert json.loads((results / "trees.json").read_text()) == {"MR": {"pos": 30, "neg": 0}}
    assert run(*command, "--sets", "CR").exit_code == 0
    assert sorted(json.loads((results / "trees.json").read_text())) == ["CR", "MR"]


def test_networks_are_counted_again(
    run: Run, results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog.Jobs, "corpus", lambda self, name: toy_corpus(name))
    monkeypatch.setattr(catalog.Jobs, "vector_size", lambda self, run: 5)
    before = {"rnn": {"word": 1, "network": {"2": 1, "6": 7}}, "gone": {"word": 1, "network": {}}}
    (results / "sizes.json").write_text(json.dumps(before))
    command = ["run", "sizes", "--records", results, "--sets", "MR"]
    assert run(*command).exit_code == 0
    found = json.loads((results / "sizes.json").read_text())
    assert "gone" not in found
    assert found["rnn"]["word"] == 5
    assert found["rnn"]["network"]["2"] > 1000
    assert found["rnn"]["network"]["6"] == 7  # no set of six classes was asked for


def test_no_records(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("show", "table2")
    assert result.exit_code == 1
    assert "no records in results" in result.stderr
    assert "did you mean" in run("run", "table2", "--systems", "adasend").stderr


def test_damaged_figure(run: Run, results: Path) -> None:
    (results / "figures" / "fig-example.json").write_text("{")
    result = run("show", "fig-example", "--records", results)
    assert "not valid JSON" in result.stderr


@pytest.mark.usefixtures("small_plan")
def test_rerun_of_a_cell(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("run", "table2", "--sets", "MR,CR")
    assert result.stderr.count("accuracy") == 4
    assert "table2 2/4  adasent on MR, random, fold 2/2, seed 0  accuracy" in result.stderr
    assert "±" in result.stdout
    again = run("run", "table2", "--sets", "MR,CR")
    assert again.stderr.count("recorded before") == 4
    assert again.stdout == result.stdout
    assert run("run", "table3", "--sets", "CR").stderr.count("accuracy") == 2
    rerun = run("run", "table1", "--sets", "CR")
    assert "ours" in rerun.stdout
    assert (tmp_path / "rerun" / "table1" / "CR.json").exists()


def test_rerun_of_a_figure(
    run: Run, tmp_path: Path, results: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data: dict[str, Any] = json.loads((results / "figures" / "fig-example.json").read_text())
    monkeypatch.setattr(figure_runs, "compute_figure", lambda name, models, phrases: data)
    result = run("run", "fig-example", "--records", tmp_path / "new")
    assert "Sentence: a b" in result.stdout
    assert (tmp_path / "new" / "figures" / "fig-example.json").exists()

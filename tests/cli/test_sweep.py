"""Sweeps from the command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from adasent.estimators.registry import load_estimator

pytest.importorskip("optuna")

Run = Callable[..., Result]
MNB = ["--system", "mnb"]


def test_a_sweep_is_shown_drawn_and_gone_on_with(
    run: Run, reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "sweep"
    search = ["--search", "alpha=0.01:10:log", "--search", "max_ngram=1,2"]
    args = ["sweep", reviews_csv, "--out", out, *MNB, *search]
    first = run(*args, "--trials", 7)
    assert first.exit_code == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0] == "reviews.csv: 60 texts, 12 texts kept for the test, held-out, mnb"
    assert lines[1] == "searched: alpha, max_ngram"
    shown = [line for line in lines if line.startswith("trial ")]
    assert len(shown) == 7
    assert shown[0].startswith("trial   0  accuracy ")
    assert "alpha=1  max_ngram=2" in shown[0]  # the system's own
    assert sum(line.startswith("test, held-out  accuracy ") for line in lines) == 1
    assert any(line.startswith("training texts ") for line in lines)
    assert (out / "sweep.png").read_bytes().startswith(b"\x89PNG")

    best = json.loads((out / "best.json").read_text())
    assert best["settings"] == {"tokenizer": "words"} | best["searched"]
    assert best["searches"][0]["test"].keys() >= {"accuracy", "macro_f1"}

    # The line that trains with what was found is one that works.
    (line,) = (line for line in lines if line.startswith("train "))
    words = shlex.split(line.removeprefix("train "))
    assert words[:2] == ["adasent", "train"]
    words[words.index("--out") + 1] = str(tmp_path / "model")
    trained = run(*words[1:])
    assert trained.exit_code == 0, trained.stderr
    model = load_estimator(tmp_path / "model")
    assert best["searched"].items() <= model.get_params(deep=False).items()

    again = run(*args, "--trials", 9)
    assert again.stdout.count("\ntrial ") == 2


def test_folds_are_searched_and_tested_one_by_one(
    run: Run, reviews_csv: Path, tmp_path: Path
) -> None:
    result = run("sweep", reviews_csv, "--out", tmp_path / "s", *MNB, "--folds", 2, "--trials", 2)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == "reviews.csv: 60 texts, 2 random folds, mnb"
    for name in ("fold 1", "fold 2", "all texts"):
        assert sum(line.startswith(f"{name}  trial ") for line in lines) == 2
    assert sum(line.startswith("test, fold ") for line in lines) == 2
    assert any(line.endswith("(sd of 2 folds)") for line in lines)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--search", "alhpa=1:2"], r"--search: mnb has no setting 'alhpa'; did you mean 'alpha'?"),
        (["--search", "alpha"], "expected key=low:high, key=low:high:log or key=a,b,c"),
        (["--search", "alpha=1:2:3"], "expected low:high or low:high:log, got '1:2:3'"),
        (["--search", "alpha=a:b"], "--search alpha: expected a number, got 'a'"),
        (["--search", "alpha=2:1"], "--search alpha: expected low < high"),
        (["--search", "random_state=1,2"], "--search random_state: it cannot be searched"),
        (["--search", "alpha=1:2", "--search", "alpha=1:3"], "it is given twice"),
        (["--search", "alpha=1:2", "--set", "alpha=1"], "given as 1.0 too"),
        (["--set", "random_state=1"], "use --seed"),
        (["--metric", "f1"], "metric must be one of accuracy, macro_f1"),
        (["--address", "here:1"], "add --engine ray"),
        (["--trials", "0"], "trials must be a whole number of at least 1"),
        (["--workers", "0"], "workers must be a whole number of at least 1"),
    ],
)
def test_what_is_refused(
    run: Run, reviews_csv: Path, tmp_path: Path, given: list[str], message: str
) -> None:
    result = run("sweep", reviews_csv, "--out", tmp_path / "s", *MNB, *given)
    assert result.exit_code == 1
    assert message in result.stderr.replace("\n", " ")
    assert not (tmp_path / "s" / "trials.jsonl").exists()


def test_a_setting_of_a_network_has_its_range(run: Run, reviews_csv: Path, tmp_path: Path) -> None:
    result = run("sweep", reviews_csv, "--out", tmp_path / "s", "--search", "dropout=0:2")
    assert "dropout must be a number from 0 to 0.95; got 2" in result.stderr


def test_ctrl_c_says_what_is_kept(
    run: Run, reviews_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adasent.evaluation.sweep import Sweep

    make = Sweep.run

    def pressed(self: Any, *args: Any) -> Iterator[Any]:
        trials = make(self, *args)
        yield next(trials)
        raise KeyboardInterrupt

    monkeypatch.setattr(Sweep, "run", pressed)
    result = run("sweep", reviews_csv, "--out", tmp_path / "s", *MNB)
    assert result.exit_code == 130
    assert f"stopped; 1 trial is in {tmp_path / 's'}; the same command" in result.stderr


def test_the_metric_is_that_of_the_training(
    run: Run, settings: Callable[..., list[str]], reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "s"
    small = settings("epochs=1")
    args = ["sweep", reviews_csv, "--out", out, "--trials", 1, "--search", "dropout=0:0.5", *small]
    result = run(*args, "--metric", "macro_f1")
    assert result.exit_code == 0, result.stderr
    assert "trial   0  macro_f1 " in result.stdout
    assert "--set metric=macro_f1" in result.stdout.splitlines()[-1]
    assert json.loads((out / "best.json").read_text())["settings"]["metric"] == "macro_f1"
    of_counts = run("sweep", reviews_csv, "--out", tmp_path / "m", *MNB, "--trials", 1, "--metric",
                    "macro_f1")  # fmt: skip
    assert "metric=" not in of_counts.stdout.splitlines()[-1]  # which they do not have
    refused = run(*args, "--metric", "loss", "--set", "metric=accuracy")
    assert "contradict each other" in refused.stderr

"""What ``adasent data audit`` prints."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from typer.testing import Result

Run = Callable[..., Result]


def test_a_file(run: Run, tmp_path: Path, write_csv: Callable[..., Path]) -> None:
    texts = [f"text {'x' * (i + 1)}" for i in range(20)] + ["same"] * 4 + ["od\x01d"] * 2
    labels = ["a", "b"] * 13
    path = write_csv(tmp_path / "mine.csv", texts, labels, ("text", "label"))
    result = run("data", "audit", path, "--folds", 2)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0] == "mine.csv: 26 texts; words by the tokenizer words"
    assert "a 13 50.0%" in lines
    assert "different texts 22 22" in lines
    assert "texts with more than one label 2 2" in lines
    assert "best reachable accuracy 88.5% 88.5%" in lines
    assert "texts with odd characters 2 (U+0001 x 2)" in lines
    assert not any("official" in line for line in lines)


def test_json(run: Run, reviews_csv: Path) -> None:
    result = run("data", "audit", reviews_csv, "--json", "--folds", 3, "--seed", 1)
    values = json.loads(result.stdout)
    assert (values["n"], values["n_folds"], values["seed"]) == (60, 3, 1)


def test_official_split_and_few_examples(run: Run, toy: Path) -> None:
    result = run("data", "audit", "TOY", "--folds", 4)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert lines[0].startswith("TOY: 24 texts, 8 of them for testing;")
    assert "official test part 0 0" in lines


def test_many_classes_and_kinds_of_characters(
    run: Run, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    labels = [f"c{i // 2}" for i in range(24)]
    texts = [f"t{i} {chr(1 + i % 7)}" for i in range(24)]
    path = write_csv(tmp_path / "many.csv", texts, labels, ("text", "label"))
    result = run("data", "audit", path, "--folds", 2)
    assert "and 2 more\n" in result.stdout
    assert ", 2 more kinds)" in result.stdout


def test_too_many_folds(run: Run, reviews_csv: Path) -> None:
    result = run("data", "audit", reviews_csv, "--folds", 40)
    assert result.exit_code == 1
    assert "use fewer folds" in result.stderr

"""Lists, files and counts of the registered sets."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]


def test_list_says_what_is_here(run: Run, toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = run("data", "list").stdout.splitlines()
    assert lines[2].split() == ["TOY", "texts", "mirror", "toy", "questions"]
    assert "  TOY: public domain" in lines
    (toy / "toy.test").unlink()
    assert "TOY texts only in a mirror toy" in " ".join(run("data", "list").stdout.split())
    with monkeypatch.context() as patch:
        patch.setenv("ADASENT_DATA", "http://mirror.example")
        assert run("data", "list").stdout.splitlines()[2].split()[2] == "missing"
    cache = toy.parent / "cache"
    (toy / "toy.train").rename(cache.mkdir() or cache / "toy.train")
    (cache / "toy.test").write_bytes(b"not it")
    assert run("data", "list").stdout.splitlines()[2].split()[2] == "missing"


def test_list_tells_vectors_from_models(run: Run) -> None:
    kinds = {
        row[0]: row[1]
        for line in run("data", "list").stdout.splitlines()
        if (row := line.split())[1:]
    }
    assert (kinds["MR"], kinds["minilm"], kinds["wiki-50d"]) == ("texts", "model", "vectors")


def test_get_prints_the_files(run: Run, toy: Path) -> None:
    result = run("data", "get", "toy")
    assert result.stdout == f"TOY\t{toy / 'toy.train'}\nTOY\t{toy / 'toy.test'}\n"


def test_get_checks_all_names_first(run: Run, toy: Path) -> None:
    result = run("data", "get", "TOY", "TOI")
    assert result.exit_code == 1
    assert result.stdout == ""


def test_stats_shows_the_paper_and_why_counts_differ(run: Run, toy: Path) -> None:
    result = run("data", "stats", "TOY")
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[2] == ["TOY", "paper", "25", "2", "4", "8", "0.5", "0.5"]
    assert rows[3] == ["ours", "16+8", "2", "4.0", "8", "0.50", "0.50"]
    assert "  TOY: AB, CD; the paper counts 25 and cannot count\n" in result.stdout


def test_stats_of_a_file(run: Run, reviews_csv: Path) -> None:
    result = run("data", "stats", reviews_csv)
    row = next(line.split() for line in result.stdout.splitlines() if "ours" in line)
    assert row[:4] == ["reviews.csv", "ours", "60", "2"]
    assert row[5:] == ["CV", "0.50", "0.50"]


@pytest.mark.mirror
def test_stats_of_the_benchmarks(run: Run, mirror: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run("data", "stats")
    ours = re.findall(r"ours +(\d\S*)", result.stdout)
    assert ours == ["10662", "3771", "10000", "10603", "5452+500"]
    assert "3,788; no public copy has that count" in " ".join(result.stdout.split())
    assert "…" not in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


def test_stats_of_several_labels_count_each(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text(
        '{"text": "a b", "label": ["x", "y"]}\n{"text": "c", "label": []}\n'
        '{"text": "d", "label": ["y"]}\n{"text": "e", "label": ["y"]}\n'
    )
    result = run("data", "stats", path)
    assert result.exit_code == 0, result.output
    assert result.stdout.splitlines()[2].split() == [
        "lists.jsonl",
        "ours",
        "4",
        "2",
        "1.2",
        "CV",
        "0.25",
        "0.75",
    ]
    assert "lists.jsonl: x, y" in result.stdout

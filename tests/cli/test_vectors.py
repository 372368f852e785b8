"""Making word vectors and looking at them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import Result

from adasent.vectors.words import WordVectors, read_vectors, write_vectors

Run = Callable[..., Result]


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    words = ["the", "film", "plot", "good", "gr\udce9at"]
    matrix = np.array([[1, 0], [0, 1], [0.1, 1], [-1, 0], [-1, 0.5]], dtype=np.float32)
    path = tmp_path / "toy.bin"
    write_vectors(path, WordVectors(words, matrix))
    return path


def test_train_then_info(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("the film was good\nthe plot was bad\n" * 20, encoding="utf-8")
    out = tmp_path / "new" / "v.bin.gz"
    result = run("vectors", "train", corpus, "--out", out, "--size", 4, "--epochs", 2)
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith(f"{out}: 6 words x 4 out of 160 running words\n")
    assert f"--vectors {out}" in result.stdout
    assert read_vectors(out).dim == 4

    again = run("vectors", "train", corpus, "--out", out)
    assert again.exit_code == 1
    assert "--force" in again.stderr
    quiet = run("vectors", "train", corpus, "--out", out, "--force", "--quiet", "--epochs", 1)
    assert (quiet.exit_code, quiet.output) == (0, "")
    assert read_vectors(out).dim == 50


def test_info(run: Run, vectors: Path, reviews_csv: Path) -> None:
    result = run(
        "vectors", "info", vectors, "--coverage", reviews_csv, "--near", "film", "--near", "zebra"
    )
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0] == f"{vectors}: 5 words x 2"
    assert lines[1] == "norms: 5 % below 1, median 1, 5 % above 1.1"
    assert lines[2] == r"first words: the film plot good gr\udce9at"
    assert lines[3].startswith("near film: plot 1.00, gr")
    assert lines[4] == "near zebra: no vector"
    assert "tokens" in lines[5]
    assert "most frequent missing: a " in lines[5]


def test_info_of_a_registered_set_reads_its_texts(run: Run, vectors: Path, toy: Path) -> None:
    result = run("vectors", "info", vectors, "--coverage", "TOY")
    assert "0.0% of 96 tokens" in result.stdout


def test_distill_takes_the_words_in_turns(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = tmp_path / "texts.txt"
    texts.write_text("good good film\n", encoding="utf-8")
    seen: dict[str, Any] = {}

    def distill(wheel: str, words: Sequence[str], *, size: int, progress: Any) -> WordVectors:
        progress(1, 2)
        seen.update(wheel=wheel, words=list(words), size=size)
        return WordVectors(["good", "the"], np.ones((2, size)))

    monkeypatch.setattr("adasent.data.fetch_file", lambda name, progress: f"wheel of {name}")
    monkeypatch.setattr("adasent.vectors.distill.distill_words", distill)
    monkeypatch.setattr("adasent.vectors.distill.vocabulary_words", lambda _: ["the", "of", "to"])
    out = tmp_path / "v.bin"
    result = run("vectors", "distill", texts, "--out", out, "--size", 3)
    assert result.exit_code == 0, result.stderr
    assert seen == {
        "wheel": "wheel of minilm",
        "words": ["good", "the", "film", "of", "to"],
        "size": 3,
    }
    assert "1 of the 2 words" in result.stdout
    assert read_vectors(out).words == ["good", "the"]
    quiet = run("vectors", "distill", texts, "--out", out, "--quiet", "--force")
    assert (quiet.exit_code, quiet.output) == (0, "")

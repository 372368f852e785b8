"""Vectors by name: registered, made once from registered files, or a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from adasent.data import derived
from adasent.data.derived import MADE, open_vectors, vector_digest, vector_file, vector_names
from adasent.data.registry import describe
from adasent.errors import VectorsError
from adasent.vectors.minilm import MiniLMWords
from adasent.vectors.words import WordVectors, read_vectors, write_vectors


def test_names() -> None:
    assert {"wiki-50d", "glove-100d", "minilm-256d"} <= set(vector_names())
    assert vector_names()[0] == "minilm"


def test_digest_names_the_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    assert vector_digest("wiki-50d") == describe("wiki-50d").files[0].sha256
    assert vector_digest("my.bin") is None
    assert vector_digest("minilm") == MiniLMWords.digest(describe("minilm").files[0].sha256)
    before = vector_digest("minilm-256d")
    monkeypatch.setitem(MADE, "minilm-256d", (("minilm",), "another way"))
    assert vector_digest("minilm-256d") != before


def test_path_is_itself_and_a_wrong_name_gets_a_hint_of_what_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ADASENT_DATA", raising=False)
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "cache"))
    (tmp_path / "v.bin").touch()
    assert vector_file(str(tmp_path / "v.bin")) == tmp_path / "v.bin"
    # That and wiki-50d are only in a mirror, or made of what is.
    with pytest.raises(VectorsError, match="did you mean 'minilm'"):
        vector_file("minilm256d")
    with pytest.raises(VectorsError, match=r"called 'wiki50d'; choose one of minilm$"):
        vector_file("wiki50d")
    monkeypatch.setenv("ADASENT_DATA", "http://mirror.example")
    with pytest.raises(VectorsError, match="did you mean 'wiki-50d'"):
        vector_file("wiki50d")


def test_made_once_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def distill(wheel: Path, words: list[str], *, size: int) -> WordVectors:
        made.append(words)
        return WordVectors(["a", "b"], np.ones((2, size)))

    write_vectors(tmp_path / "glove-100d", WordVectors(["b"], np.ones((1, 2))))
    monkeypatch.setattr(derived, "cache_dir", lambda: tmp_path)
    monkeypatch.setattr(derived, "fetch_file", lambda name: tmp_path / name)
    monkeypatch.setattr("adasent.vectors.distill.distill_words", distill)
    monkeypatch.setattr("adasent.vectors.distill.vocabulary_words", lambda wheel: ["a"])
    first = vector_file("minilm-256d")
    assert read_vectors(first).dim == 256
    assert vector_file("minilm-256d") == first
    assert made == [["a", "b"]]
    assert {path.suffix for path in first.parent.iterdir()} <= {".bin", ".lock"}


def test_open_a_file_a_name_and_a_wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_vectors(tmp_path / "v.bin", WordVectors(["a", "b"], np.eye(2)))
    monkeypatch.setattr(derived, "fetch_file", lambda name: tmp_path / "v.bin")
    mine = open_vectors(tmp_path / "v.bin")
    assert (mine.name, mine.sha256) == ("v.bin", WordVectors(["a", "b"], np.eye(2)).sha256)
    assert mine.sha256 != WordVectors(["a", "c"], np.eye(2)).sha256
    named = open_vectors("wiki-50d")
    assert (named.name, named.sha256) == ("wiki-50d", vector_digest("wiki-50d"))
    first = open_vectors("wiki-50d", limit=1)
    assert isinstance(first, WordVectors)
    assert first.words == ["a"]
    assert isinstance(open_vectors(tmp_path / "some.whl"), MiniLMWords)

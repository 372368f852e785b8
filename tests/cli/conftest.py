"""Runs commands in this process, on made-up reviews, a toy registry and one small model."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from typer.testing import CliRunner, Result

from adasent.cli.app import app
from adasent.data import registry
from adasent.data.registry import Entry, PaperRow, RemoteFile

#: Settings under which training takes a moment.
TINY = ["hidden_size=8", "classifier_size=8", "vector_size=8", "epochs=2", "batch_size=20"]


def tiny(*more: str) -> list[str]:
    """Arguments for a quick training; later settings win."""
    return [word for setting in (*TINY, *more) for word in ("--set", setting)]


@pytest.fixture(scope="package", autouse=True)
def one_thread() -> Iterator[None]:
    """Small models are faster on one thread, and a run resumes on as many as it began with."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def settings() -> Callable[..., list[str]]:
    return tiny


@pytest.fixture(scope="session")
def run() -> Callable[..., Result]:
    """Run a command; anything but a clean exit through an exit code is raised here."""

    def _run(*args: object, stdin: str | bytes | None = None) -> Result:
        result = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return _run


@pytest.fixture(scope="session")
def write_csv() -> Callable[..., Path]:
    def _write(path: Path, texts: list[str], labels: list[Any], names: tuple[str, str]) -> Path:
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([names, *zip(texts, labels, strict=True)])
        return path

    return _write


@pytest.fixture(scope="session")
def reviews_csv(
    tmp_path_factory: pytest.TempPathFactory,
    reviews: tuple[list[str], list[str]],
    write_csv: Callable[..., Path],
) -> Path:
    """60 reviews in the columns text and label."""
    texts, labels = reviews
    path = tmp_path_factory.mktemp("data") / "reviews.csv"
    return write_csv(path, texts[:60], labels[:60], ("text", "label"))


@pytest.fixture(scope="session")
def model(
    tmp_path_factory: pytest.TempPathFactory, run: Callable[..., Result], reviews_csv: Path
) -> Path:
    """A model trained on the reviews, 10 epochs at a high rate so that it separates them."""
    folder = tmp_path_factory.mktemp("models") / "reviews"
    args = tiny("epochs=10", "learning_rate=0.02", "max_words=30")
    result = run("train", reviews_csv, "--out", folder, "--quiet", *args)
    assert result.exit_code == 0, result.stderr
    return folder


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A registry of one set with an official split, in a mirror folder."""
    lines = [f"{kind}:x {kind.lower()} thing {i} ?" for i in range(12) for kind in ("AB", "CD")]
    files = []
    for name, part in {"toy.train": lines[:16], "toy.test": lines[16:]}.items():
        body = "".join(line + "\n" for line in part).encode()
        (tmp_path / "mirror").mkdir(exist_ok=True)
        (tmp_path / "mirror" / name).write_bytes(body)
        files.append(RemoteFile(name, hashlib.sha256(body).hexdigest(), len(body)))
    entry = Entry(
        "TOY",
        "toy questions",
        "nowhere",
        "none",
        "public domain",
        tuple(files),
        reader="trec",
        split="official",
        paper=PaperRow(25, (0.5, 0.5), 2, 4, "8"),
        remark="the paper counts 25 and cannot count",
    )
    monkeypatch.setattr(registry, "_entries", lambda: {"TOY": entry})
    monkeypatch.setenv("ADASENT_DATA", str(tmp_path / "mirror"))
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "mirror"

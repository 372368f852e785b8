"""A file is written whole or not at all, by every command that draws or writes one."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from adasent import AdaSentClassifier
from adasent.saving.whole import whole_file


def test_a_file_that_is_written(tmp_path: Path) -> None:
    path = tmp_path / "a"
    for body in (b"first", b"second"):
        with whole_file(path) as stream:
            stream.write(body)
            assert path.exists() == (body == b"second")
        assert path.read_bytes() == body
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError, OSError(errno.ENOSPC, "full")])
def test_an_error_leaves_what_was_there(tmp_path: Path, error: Any) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def write() -> None:
        with whole_file(path) as stream:
            stream.write(b"new")
            raise error

    with pytest.raises((KeyboardInterrupt, ValueError, OSError)) as caught:
        write()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
    if isinstance(caught.value, OSError):
        assert caught.value.filename == str(path)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("whole") / "m"
    texts = ["good film", "bad film"] * 4
    sizes = {"hidden_size": 4, "vector_size": 4, "classifier_size": 4, "epochs": 1}
    AdaSentClassifier(**sizes).fit(texts, ["a", "b"] * 4).save(folder)
    return folder


@pytest.mark.parametrize(
    ("command", "option", "name"),
    [
        (["explain", "MODEL", "a film"], "--html", "a.html"),
        (["explain", "MODEL", "a film"], "--png", "a.png"),
        (["explain", "MODEL", "a film"], "--svg", "a.svg"),
        (["evaluate", "MODEL", "DATA"], "--reliability", "a.svg"),
        (["profile", "MODEL", "DATA"], "--out", "profile.html"),
        (["predict", "MODEL", "DATA"], "--out", "a.csv"),
    ],
)
def test_a_full_disk(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: list[str],
    option: str,
    name: str,
) -> None:
    """All go through the one way to write; the disk is found to be full at its end."""
    from typer.testing import CliRunner

    from adasent.cli.app import app

    if option in ("--png", "--svg", "--reliability"):
        pytest.importorskip("matplotlib")
    data, path = tmp_path / "data.csv", tmp_path / "out" / name
    data.write_text("text,label\n" + "good film,a\nbad film,b\n" * 4)
    path.parent.mkdir()
    path.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    stand_for = {"MODEL": str(model), "DATA": str(data)}
    words = [stand_for.get(word, word) for word in command]
    target = path.parent if option == "--out" and name == "profile.html" else path
    result = CliRunner().invoke(app, [*words, option, str(target), "--force"])
    assert result.exit_code == 1
    assert f"error: {path}: No space left on device" in result.stderr
    assert path.read_bytes() == b"old"
    assert list(path.parent.iterdir()) == [path]

import hashlib
import sys
import zipfile
from pathlib import Path

import pytest

from adasent.data import fetch, packages, pip_download
from adasent.errors import FetchError


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder of distributions that pip takes in place of any index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null" if sys.platform != "win32" else "nul")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(folder: Path) -> tuple[str, str]:
    """A minimal wheel; returns its name and digest."""
    name = "adasent_toy-1.0-py3-none-any.whl"
    info = "adasent_toy-1.0.dist-info"
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: adasent-toy\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return name, hashlib.sha256((folder / name).read_bytes()).hexdigest()


def test_wheel_is_downloaded_and_not_installed(tmp_path, index):
    name, digest = wheel(index)
    path = pip_download("adasent-toy", "1.0", name, digest, tmp_path)
    assert path.read_bytes() == (index / name).read_bytes()


def test_other_digest_is_refused_by_pip(tmp_path, index):
    name, _ = wheel(index)
    with pytest.raises(FetchError, match=r"pip download adasent-toy==1\.0: .*HASHES"):
        pip_download("adasent-toy", "1.0", name, "0" * 64, tmp_path)


def test_unknown_package(tmp_path, index):
    with pytest.raises(FetchError, match="No matching distribution found"):
        pip_download("adasent-toy", "1.0", "adasent-toy-1.0.tar.gz", "0" * 64, tmp_path)


def test_python_without_pip(tmp_path, monkeypatch):
    class Done:
        returncode = 1
        stderr = "/usr/bin/python: No module named pip\n"

    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: Done)
    with pytest.raises(FetchError, match="No module named pip"):
        pip_download("toy", "1.0", "toy-1.0.tar.gz", "0" * 64, tmp_path)


def test_source_archives_and_wheels_are_asked_for_as_such(tmp_path, monkeypatch):
    commands = []

    def run(command, **_):
        commands.append(command)
        (tmp_path / "download").mkdir(exist_ok=True)
        (tmp_path / "download/x").write_bytes(b"")
        return type("Done", (), {"returncode": 0, "stderr": ""})

    monkeypatch.setattr(packages.subprocess, "run", run)
    pip_download("toy", "1.0", "toy-1.0.tar.gz", "0" * 64, tmp_path)
    pip_download("toy", "1.0", "toy-1.0-py3-none-any.whl", "0" * 64, tmp_path)
    assert commands[0][commands[0].index("--no-binary") + 1] == "toy"
    assert commands[1][commands[1].index("--only-binary") + 1] == "toy"
    assert all("--require-hashes" in command for command in commands)


@pytest.mark.network
def test_snippets_come_from_the_package_index(cache):
    assert fetch("snippets") == [cache / "packages/vaderSentiment-3.3.2.tar.gz"]

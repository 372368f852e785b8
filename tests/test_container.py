"""The image: what its description promises, and its steps done in a clean environment."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import urllib.request
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCKERFILE = ROOT / "Dockerfile"
if not DOCKERFILE.is_file():
    pytest.skip("not a checkout", allow_module_level=True)

#: MB of the base image, python:3.12-slim, unpacked; and of the whole, at most.
BASE, MOST = 130, 250


def instructions() -> list[tuple[str, str]]:
    """Names and arguments, lines that go on joined, without comments."""
    lines = DOCKERFILE.read_text(encoding="utf-8").splitlines()
    text = "\n".join(line for line in lines if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", "", text)
    return [
        (name, rest)
        for name, _, rest in (line.partition(" ") for line in joined.split("\n"))
        if name
    ]


def last(name: str) -> str:
    return [rest for found, rest in instructions() if found == name][-1]


def test_bases_have_a_tag() -> None:
    bases = [rest.split()[0] for name, rest in instructions() if name == "FROM"]
    assert len(bases) == 2
    for base in bases:
        _, colon, tag = base.rpartition(":")
        assert colon
        assert tag not in ("", "latest")


def test_it_does_not_run_as_root() -> None:
    stage = [name for name, _ in instructions()]
    assert len(stage) - 1 - stage[::-1].index("USER") > len(stage) - 1 - stage[::-1].index("FROM")
    user = int(last("USER").partition(":")[0])
    assert user > 0
    assert not any(
        name in ("ENTRYPOINT", "CMD") and "sudo" in rest for name, rest in instructions()
    )


def test_it_needs_no_shell_to_run() -> None:
    for name in ("ENTRYPOINT", "CMD"):
        assert all(isinstance(word, str) for word in json.loads(last(name)))


def test_its_health_is_checked() -> None:
    check = last("HEALTHCHECK")
    assert "/healthz" in check
    assert json.loads(check.partition("CMD ")[2])[0] == "python"


def test_nothing_is_copied_that_the_engine_is_not_given() -> None:
    given = (ROOT / ".dockerignore").read_text(encoding="utf-8").split("\n")
    for name, rest in instructions():
        if name == "COPY" and not rest.startswith("--from"):
            *sources, _ = rest.split()
            for source in sources:
                assert f"!{source}" in given
                assert (ROOT / source).exists()
    assert "*" in given


def test_what_compose_allows() -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with mkdocs")
    service = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"][
        "adasent"
    ]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all(volume["read_only"] for volume in service["volumes"])
    assert {"mem_limit", "cpus", "pids_limit", "tmpfs"} <= service.keys()
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["healthcheck"]["test"] == [
        "CMD",
        *json.loads(last("HEALTHCHECK").partition("CMD ")[2]),
    ]


@pytest.mark.slow
@pytest.mark.network
def test_its_steps(tmp_path: Path) -> None:
    """Install as the image does, run what it runs, ask as its health check does."""
    (install,) = (rest for name, rest in instructions() if name == "RUN" and "venv" in rest)
    assert '".[serve]"' in install
    assert "uninstall --yes pip" in install
    assert "-name tests" in install
    home = tmp_path / "adasent"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    constraint = ["--constraint", ROOT / "constraints.txt"]
    subprocess.run([*pip, "install", "--quiet", *constraint, f"{ROOT}[serve]"], check=True)
    # Up to Python 3.11 an environment has setuptools too; the image's is newer.
    subprocess.run([*pip, "uninstall", "--quiet", "--yes", "pip", "setuptools"], check=True)
    for folder in [path for path in home.rglob("tests") if path.is_dir()]:
        shutil.rmtree(folder, ignore_errors=True)  # it may stand in one that is gone
    size = sum(path.lstat().st_size for path in home.rglob("*") if not path.is_dir()) / 1e6
    print(f"{size:.0f} MB beside the base image")
    assert size < MOST - BASE
    command = [home / "bin" / "adasent", "serve", "starter", "--port", "0"]
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "ADASENT_TOKEN": 16 * "x"}
    environment.pop("PYTHONPATH", None)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, cwd=tmp_path
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().split()[1]
            check = json.loads(last("HEALTHCHECK").partition("CMD ")[2])
            code = check[2].replace("http://127.0.0.1:8000", url)
            assert subprocess.run([python, *check[1:2], code], check=False).returncode == 0
            request = urllib.request.Request(
                f"{url}/v1/predict",
                b'{"texts": ["a lovely film"]}',
                {"Content-Type": "application/json", "Authorization": f"Bearer {16 * 'x'}"},
            )
            with urllib.request.urlopen(request, timeout=20) as answer:
                assert json.load(answer)["predictions"][0]["label"] == "positive"
        finally:
            process.terminate()

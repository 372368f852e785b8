"""Importing the package: light, complete, and clear about what is missing."""

from __future__ import annotations

import importlib
import pkgutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import adasent
from adasent.estimators.starter import starter_folder


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("module", ["adasent", "adasent.text", "adasent.data", "adasent.cli"])
def test_import_is_light(module: str) -> None:
    heavy = {"torch", "sklearn", "gensim", "pandas", "pyarrow", "tokenizers", "scipy", "numba"}
    code = f"import sys, {module}; print(*(set(sys.modules) & {heavy!r}))"
    assert run(code) == ""


def test_predicting_imports_nothing_heavy() -> None:
    heavy = {"torch", "sklearn", "scipy", "numba"}
    code = f"import sys, adasent; adasent.load; print(*(set(sys.modules) & {heavy!r}))"
    assert run(code) == ""


def test_every_module_imports() -> None:
    names = [m.name for m in pkgutil.walk_packages(adasent.__path__, "adasent.")]
    assert "adasent.training.loop" in names
    for name in names:
        if not name.endswith("__main__"):
            importlib.import_module(name)


@pytest.mark.parametrize("package", ["torch", "sklearn"])
def test_missing_dependency_names_the_command(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "try:\n    from adasent import AdaSentClassifier\n"
        "except ImportError as error:\n    print(error)"
    )
    assert run(code) == (
        f"AdaSentClassifier needs {package}, which is not installed; "
        "run: pip install 'adasent[train]'"
    )


def test_public_names() -> None:
    assert dir(adasent) == ["AdaSentClassifier", "Predictor", "__version__", "load"]
    for name in dir(adasent):
        assert getattr(adasent, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'AdaSent'"):
        adasent.AdaSent  # noqa: B018


def test_the_wheel_has_the_starter_model(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    root = Path(__file__).parents[1]
    if not (root / "pyproject.toml").is_file():
        pytest.skip("not a checkout")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        sizes = {one.filename: one.file_size for one in archive.infolist()}
    inside = {name: size for name, size in sizes.items() if name.startswith("adasent/starter/")}
    here = {
        f"adasent/starter/{path.name}": path.stat().st_size for path in starter_folder().iterdir()
    }
    assert inside == here
    assert "adasent/serve/static/index.html" in sizes

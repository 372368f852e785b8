"""Folders saved by version 0.1.0 (November 2026), one of each system, say what they said then."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from typer.testing import CliRunner

import adasent
from adasent.cli.app import app
from adasent.errors import AdaSentWarning, ModelFormatError
from adasent.estimators.registry import SYSTEMS, load_estimator

FOLDERS = Path(__file__).parent / "folders"
SAID = json.loads((FOLDERS / "expected.json").read_text("utf-8"))
NAMES = sorted(SAID["probabilities"])


def copy(name: str, target: Path) -> Path:
    """A folder as it was saved: the parser of one, a megabyte of zeros but for 400, is put back."""
    folder = Path(shutil.copytree(FOLDERS / name, target))
    sparse = folder / "parser.json"
    if sparse.exists():
        weights = json.loads(sparse.read_text())
        parser = np.zeros(weights["rows"], dtype=np.float32)
        parser[weights["at"]] = weights["values"]
        tensors = folder / "model.safetensors"
        save_file(load_file(tensors) | {"parser": parser}, tensors)
        sparse.unlink()
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_an_older_folder_predicts_as_it_did(tmp_path: Path, name: str) -> None:
    folder = copy(name, tmp_path / "m")
    for load in (load_estimator, adasent.load):
        model = load(folder)
        assert model.classes_.tolist() == SAID["classes"]
        with pytest.warns(AdaSentWarning, match="of 9 texts: 1 without a word"):
            found = model.predict_proba(SAID["texts"])
        np.testing.assert_allclose(found, SAID["probabilities"][name], rtol=0, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_any_folder_is_opened_by_one_function(tmp_path: Path, name: str) -> None:
    model = adasent.load(copy(name, tmp_path / "m"))
    texts = [text for text in SAID["texts"] if text.strip()]
    labels = model.predict(texts)
    assert set(labels) <= set(model.classes_)
    assert model.score(texts, labels) == 1.0
    wrong = [model.classes_[1] if one == model.classes_[0] else model.classes_[0] for one in labels]
    assert model.score(texts, wrong) == 0.0
    assert "Classifier(" in repr(model) or "adasent, 2 classes: neg, pos; " in repr(model)


def test_every_folder_is_of_a_system_that_there_is() -> None:
    saved = {json.loads((FOLDERS / n / "config.json").read_text())["system"] for n in NAMES}
    assert saved <= set(SYSTEMS)


def edit(folder: Path, name: str, change: Any) -> None:
    value = json.loads((folder / name).read_text())
    change(value)
    (folder / name).write_text(json.dumps(value))


@pytest.mark.parametrize("value", [10**6, 10**12, 10**400, 4.5, -1, "8", None, [8], True])
@pytest.mark.parametrize("key", ["vector_size", "n_trained", "n_classes"])
@pytest.mark.parametrize("name", ["cnn", "mv-recnn", "rae", "adasent"])
def test_sizes_are_checked_before_anything_is_built(
    tmp_path: Path, name: str, key: str, value: Any
) -> None:
    folder = copy(name, tmp_path / "m")
    entry = "network" if name == "adasent" else "settings"
    edit(folder, "config.json", lambda header: header[entry].update({key: value}))
    tracemalloc.start()
    try:
        with pytest.raises(ModelFormatError) as caught:
            adasent.load(folder)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100e6
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_a_small_folder_that_claims_to_be_large_takes_no_memory(tmp_path: Path) -> None:
    """In a process that may not have 2 GB; torch's memory is not Python's."""
    resource = pytest.importorskip("resource")
    del resource
    folder = copy("cnn", tmp_path / "m")
    edit(folder, "config.json", lambda header: header["settings"].update(vector_size=10**6))
    code = (
        "import sys, resource, torch, adasent\nfrom adasent.errors import ModelFormatError\n"
        "import adasent.estimators.rivals\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try:\n    adasent.load(sys.argv[1])\nexcept ModelFormatError:\n"
        "    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)"
    )
    words = [sys.executable, "-c", code, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert int(done.stdout) < 300_000, done.stderr  # kilobytes


@pytest.mark.parametrize("name", ["cnn", "mnb", "adasent"])
@pytest.mark.parametrize(
    "training",
    [
        {"seed": {}},
        {"seed": 10**400},
        {"seed": True},
        {"seed": "0"},
        {"seed": -1},
    ],
)
def test_odd_seeds(tmp_path: Path, name: str, training: dict[str, Any]) -> None:
    folder = copy(name, tmp_path / "m")
    edit(folder, "training.json", lambda values: values.update(training))
    with pytest.raises(ModelFormatError, match=r"training\.json: seed must be") as caught:
        load_estimator(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["cnn", "adasent"])
@pytest.mark.parametrize(
    "training",
    [
        {"settings": []},
        {"settings": {"epochs": 10**400}},
        {"settings": {"fine_tune": []}},
        {"settings": {"optimizer": {}}},
        {"history": 3},
        {"history": {"epochs": {}, "best_epoch": 0, "interrupted": False}},
        {"history": {"epochs": [], "best_epoch": 0, "interrupted": False}},
        {"history": {"epochs": [{}], "best_epoch": "0", "interrupted": False}},
        {"history": {"epochs": [{}], "best_epoch": 0, "interrupted": "no"}},
    ],
)
def test_odd_training_summaries(tmp_path: Path, name: str, training: dict[str, Any]) -> None:
    folder = copy(name, tmp_path / "m")
    edit(folder, "training.json", lambda values: values.update(training))
    with pytest.raises(ModelFormatError, match=r"training\.json: ") as caught:
        load_estimator(folder)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("data", [3, [], {"sha256": []}, None])
def test_odd_names_of_the_data_do_not_matter(tmp_path: Path, data: Any) -> None:
    folder = copy("mnb", tmp_path / "m")
    edit(folder, "training.json", lambda values: values.update(data=data))
    texts = tmp_path / "texts.csv"
    texts.write_text("text,label\na good film,pos\na bad film,neg\n")
    result = CliRunner().invoke(app, ["evaluate", str(folder), str(texts)])
    assert result.exit_code == 0, result.output

"""The model that comes with the package: what it promises, it keeps; its card says what is so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

import adasent
from adasent.estimators import starter
from adasent.estimators.predictor import Predictor
from adasent.saving.folder import FILES

#: Bytes of the model in the wheel, at most.
MOST = 6_000_000


@pytest.fixture(scope="module")
def model() -> Predictor:
    found: Predictor = adasent.load("starter")
    return found


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("not a bad film", "positive"),
        ("not bad at all", "positive"),
        ("never boring", "positive"),
        ("i did not like it", "negative"),
        ("nothing here is funny", "negative"),
        ("lacks wit", "negative"),
    ],
)
def test_phrases_that_it_gets_right(model: Predictor, text: str, label: str) -> None:
    assert model.predict([text]).tolist() == [label]


def test_it_fits_the_wheel() -> None:
    folder = starter.starter_folder()
    assert sum(path.stat().st_size for path in folder.iterdir()) <= MOST
    assert {path.name for path in folder.iterdir()} == {*FILES, starter.CARD}


def test_it_needs_numpy_alone() -> None:
    heavy = {"torch", "sklearn", "scipy", "numba", "transformers"}
    code = (
        f"import sys\nfor name in {heavy!r}: sys.modules[name] = None\n"
        "import adasent\nwhy = adasent.load('starter').explain('not a bad film')\n"
        "print(why.predicted)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout) == (0, "positive\n"), done.stderr


def test_the_record_is_of_this_model(model: Predictor) -> None:
    record = model.training_["starter"]
    said = model.predict_proba([one["text"] for one in record["probes"]])
    assert said[:, 1] == pytest.approx([one["positive"] for one in record["probes"]], abs=0.006)
    assert record["n_words"] == model.encoder.n_words
    assert record["size"] == model.network.config.vector_size
    size = sum((starter.starter_folder() / name).stat().st_size for name in FILES)
    assert record["megabytes"] == pytest.approx(size / 1e6, abs=0.06)
    report = model.training_["teaching"]["report"]
    assert record["n_extra"] == report["n_extra"]
    of_all = {one["model"]: one for one in record["figures"] if one["part"] == "all"}
    assert of_all["starter"]["n"] == report["n_held"]
    assert of_all["starter"]["accuracy"] == pytest.approx(100 * report["student_accuracy"], abs=0.1)
    assert of_all["teacher"]["accuracy"] == pytest.approx(100 * report["teacher_accuracy"], abs=0.1)


def test_it_holds_no_texts_of_others(model: Predictor) -> None:
    probes = {one["text"] for one in model.training_["starter"]["probes"]}
    examples = model.training_["examples"]
    assert examples
    assert {one["text"] for one in examples} <= probes
    raw = (starter.starter_folder() / "training.json").read_text(encoding="utf-8")
    assert "/" not in json.dumps({k: v for k, v in json.loads(raw).items() if k != "versions"})


def test_a_folder_of_that_name_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert starter.find_model("starter") == starter.starter_folder()
    assert starter.find_model("other") == Path("other")
    (tmp_path / "starter").mkdir()
    assert starter.find_model("starter") == Path("starter")
    assert starter.find_model(Path("starter")) == Path("starter")
    with pytest.raises(adasent.errors.ModelFormatError, match="is not a whole model"):
        adasent.load("starter")

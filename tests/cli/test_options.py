"""Strings of the command line as typed values."""

from __future__ import annotations

from pathlib import Path

import pytest

from adasent.cli import options
from adasent.errors import ConfigError, VectorsError


def test_settings_take_the_type_of_the_default() -> None:
    assignments = "epochs=5 dropout=0 fine_tune=FALSE pooling=mean class_weight=balanced n_jobs=2"
    settings = options.parse_settings(assignments.split())
    assert settings == {
        "epochs": 5,
        "dropout": 0.0,
        "fine_tune": False,
        "pooling": "mean",
        "class_weight": "balanced",
        "n_jobs": 2,
    }
    assert type(settings["dropout"]) is float


def test_none_and_later_values() -> None:
    assert options.parse_settings(["class_weight=none", "epochs=1", "epochs=3"]) == {
        "class_weight": None,
        "epochs": 3,
    }


@pytest.mark.parametrize(
    ("assignment", "message"),
    [
        (
            "epoch=5",
            "has no setting 'epoch'; did you mean 'epochs'? adasent systems adasent lists all",
        ),
        ("n_jobs=all", "n_jobs: expected a whole number, got 'all'"),
        ("epochs", "expected KEY=VALUE"),
        ("epochs=1.5", "epochs: expected a whole number, got '1.5'"),
        ("dropout=much", "dropout: expected a number, got 'much'"),
        ("fine_tune=1", "fine_tune: expected true or false, got '1'"),
        ("class_weight=heavy", "class_weight: expected balanced or none, got 'heavy'"),
        ("checkpoint=x", "--resume/--restart"),
    ],
)
def test_bad_settings_say_why(assignment: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        options.parse_settings([assignment])
    assert message in str(error.value)


def test_settings_of_other_systems() -> None:
    assert options.parse_settings(["windows=2,7", "multichannel=true"], "cnn") == {
        "windows": (2, 7),
        "multichannel": True,
    }
    assert options.parse_settings(["C=3"], "nbsvm") == {"C": 3.0}


@pytest.mark.parametrize(
    ("text", "seeds"), [("0", [0]), ("0-3", [0, 1, 2, 3]), ("7, 1-2,7", [7, 1, 2])]
)
def test_seeds(text: str, seeds: list[int]) -> None:
    assert options.parse_seeds(text) == seeds


@pytest.mark.parametrize("text", ["", "3-1", "a", "-1", "1,,2"])
def test_bad_seeds(text: str) -> None:
    with pytest.raises(ConfigError, match="--seeds"):
        options.parse_seeds(text)


def test_vector_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "mine.bin"
    path.write_bytes(b"")
    fetched = tmp_path / "fetched"
    monkeypatch.setattr("adasent.data.derived.fetch_file", lambda name: fetched / name)
    names = ["wiki-50d", str(path)]
    assert options.vector_files(names) == {"wiki-50d": fetched / "wiki-50d", str(path): path}
    with pytest.raises(VectorsError, match="did you mean 'minilm'"):
        options.vector_files(["minlm"])
    with pytest.raises(VectorsError, match=r"called 'no/where.bin'$"):
        options.vector_files(["no/where.bin"])


def test_option_vectors_win_over_the_setting(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.touch()
    second.touch()
    settings = {"vectors": str(first), "epochs": 2}
    assert options.take_vectors(None, settings) == [str(first)]
    assert settings == {"epochs": 2}
    assert options.take_vectors([str(second)], {"vectors": str(first)}) == [str(second)]


def test_vectors_are_auto_unless_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    assert options.take_vectors(None, {}) == "auto"
    assert options.take_vectors(["auto"], {}) == "auto"
    assert options.take_vectors(["none"], {}) is None
    assert options.take_vectors(None, {"vectors": "none"}) is None
    with pytest.raises(ConfigError, match="--vectors none: expected it alone, got none and minilm"):
        options.take_vectors(["none", "minilm"], {})
    monkeypatch.setenv("ADASENT_VECTORS", "none")
    assert options.files_of("auto", "adasent", {}) == {}
    monkeypatch.setenv("ADASENT_VECTORS", "no-such-set")
    with pytest.raises(VectorsError, match="no-such-set"):
        options.files_of("auto", "adasent", {})
    assert options.files_of("auto", "mnb", {}) == {}
    assert options.files_of("auto", "adasent", {"encoder": "some"}) == {}


def test_new_file(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    options.new_file(path, force=False)
    assert path.parent.is_dir()
    path.touch()
    options.new_file(path, force=True)
    with pytest.raises(ConfigError, match="--force"):
        options.new_file(path, force=False)
    with pytest.raises(ConfigError, match="is a folder"):
        options.new_file(tmp_path, force=True)

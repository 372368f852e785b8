"""Teaching from the command line: the report, what is refused, kills and interrupts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

from adasent.errors import ConfigError
from adasent.teaching import labels, teacher

Run = Callable[..., Result]
Settings = Callable[..., list[str]]
FILES = {"config.json", "model.safetensors", "training.json", "vocabulary.json"}
NOUNS = ("film", "plot", "cast", "story", "scene", "music", "sound", "end", "start", "joke")


@pytest.fixture
def more(tmp_path: Path) -> Path:
    """200 sentences without labels, two of them twice, and an empty line."""
    words = ("good", "bad", "lovely", "dull", "fine")
    lines = [
        f"the {a} of this {b} was {word}" for a in NOUNS[:8] for b in NOUNS[5:] for word in words
    ]
    path = tmp_path / "more.txt"
    path.write_text("\n".join([*lines, *lines[:2], "", ""]))
    return path


def test_report(
    run: Run, settings: Settings, model: Path, reviews_csv: Path, more: Path, tmp_path: Path
) -> None:
    out = tmp_path / "small"
    options = ["--unlabelled", more, "--sentences", 50, "--words", 15, *settings()]
    result = run("teach", reviews_csv, "--teacher", model, "--out", out, *options)
    assert result.exit_code == 0, result.stderr
    report = result.stdout
    assert report.startswith("reviews.csv: 60 texts, 2 classes\n")
    assert "labelled texts      49 to learn from, 5 chose the epoch" in report
    assert "from the teacher    50 of 203 texts that were read" in report
    assert "dropped: 1 without a word, 2 repeated" in report
    assert "accuracy on 6 held-back texts" in report
    assert "student - teacher   " in report
    assert "17 words" in report  # the specials among them
    assert f"adasent predict {out} 'a text of yours'" in report
    assert "warning: the teacher" in result.stderr
    assert "was trained on these texts" in result.stderr
    assert result.stderr.count("epoch ") == 2
    assert {path.name for path in out.iterdir()} == FILES
    told = json.loads((out / "training.json").read_text())
    assert told["teaching"]["report"]["n_extra"] == 50
    assert told["data"]["part"] == "all"
    assert run("predict", out, "--proba", stdin="a good film\n").exit_code == 0
    refused = run("teach", reviews_csv, "--teacher", model, "--out", out, *options)
    assert "holds a model already; add --force" in refused.stderr


def test_texts_are_made_and_a_system_is_trained(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    args = ["--teacher", "mnb", "--teacher", "nbsvm", "--folds", 3, "--sentences", 20, *settings()]
    result = run("teach", reviews_csv, "--out", tmp_path / "m", "--quiet", *args)
    assert (result.exit_code, result.output) == (0, "")


def test_the_official_test_part_is_held_back(
    run: Run, settings: Settings, toy: Path, tmp_path: Path
) -> None:
    args = ["--teacher", "mnb", "--sentences", 5, *settings()]
    result = run("teach", "TOY", "--out", tmp_path / "m", *args)
    assert result.exit_code == 0, result.stderr
    assert "only its official training part is used" in result.stdout
    assert "on 8 held-back texts" in result.stdout
    assert "adasent evaluate" in result.stdout


def test_texts_to_compare_on(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    held = tmp_path / "held.csv"
    held.write_text("text,label\na good thing,pos\na bad thing,neg\n")
    args = ["--teacher", "mnb", "--sentences", 5, *settings()]
    result = run("teach", reviews_csv, "--out", tmp_path / "m", "--held-out", held, *args)
    assert "on 2 held-back texts" in result.stdout
    none = run("teach", reviews_csv, "--out", tmp_path / "n", "--held-out", "0", *args)
    assert none.exit_code == 0
    assert "held-back" not in none.stdout


def test_threads_and_device_are_the_teachers_too(
    run: Run, reviews_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: dict[str, object] = {}

    def note(name: str, **settings: object) -> None:
        given.update(settings)
        raise ConfigError("seen")

    monkeypatch.setattr(teacher, "find_teacher", note)
    chosen = ["--set", "n_jobs=2", "--set", "device=cpu", "--set", "hidden_size=7"]
    run("teach", reviews_csv, "--teacher", "cnn", "--out", tmp_path / "m", *chosen)
    assert (given["n_jobs"], given["device"]) == (2, "cpu")
    assert "hidden_size" not in given


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--teacher", "nowhere"], "expected the folder of a saved model, the name of a system"),
        (["--teacher", "mnb", "--hard", "2"], "hard must be a number from 0 to 1"),
        (
            ["--teacher", "mnb", "--unlabelled", "no.txt"],
            "--unlabelled no.txt: there is no such file",
        ),
        (["--teacher", "mnb", "--held-out", "no.csv"], "no file and no registered set"),
        (["--teacher", "mnb", "--set", "epochz=3"], "did you mean 'epochs'"),
        (["--teacher", "mnb", "--words", "0"], "n_words must be"),
    ],
)
def test_refused(run: Run, reviews_csv: Path, tmp_path: Path, args: list[str], words: str) -> None:
    result = run("teach", reviews_csv, "--out", tmp_path / "m", *args)
    assert result.exit_code == 1
    assert result.stderr.count("error: ") == 1
    assert words in result.stderr
    assert not (tmp_path / "m" / "config.json").exists()


def start(*args: object) -> subprocess.Popen[str]:
    """The command in a process of its own, with small shards."""
    code = "from adasent.teaching import labels; labels.SHARD = 20\n"
    code += "from adasent.cli import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_killed_command_goes_on_to_the_same_model(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    more: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(labels, "SHARD", 20)
    args = ["--teacher", "cbow", "--unlabelled", more, "--sentences", 60, *settings("epochs=20")]
    out = tmp_path / "m"
    process = start("teach", reviews_csv, "--out", out, *args)
    while not (out / ".checkpoint" / "checkpoint.safetensors").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not (out / "config.json").exists()
    kept = {path.name for path in (out / ".checkpoint").iterdir()}
    assert "labels" in kept
    went_on = run("teach", reviews_csv, "--out", out, *args)
    assert went_on.exit_code == 0, went_on.stderr
    assert "going on with the unfinished run" in went_on.stdout
    assert {path.name for path in out.iterdir()} == FILES
    told = json.loads((out / "training.json").read_text())
    assert told["teaching"]["report"]["n_asked"] == 0
    whole = run("teach", reviews_csv, "--out", tmp_path / "n", *args)
    assert whole.exit_code == 0, whole.stderr
    assert (out / "model.safetensors").read_bytes() == (
        tmp_path / "n" / "model.safetensors"
    ).read_bytes()


def test_another_run_is_not_gone_on_with(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    place = tmp_path / "m" / ".checkpoint" / "labels" / "x"
    place.mkdir(parents=True)
    (place / "y.safetensors").write_bytes(b"damaged")
    args = ["--teacher", "mnb", "--sentences", 5, "--restart", *settings()]
    result = run("teach", reviews_csv, "--out", tmp_path / "m", *args)
    assert result.exit_code == 0, result.stderr
    assert "going on" not in result.stdout
    assert {path.name for path in (tmp_path / "m").iterdir()} == FILES


def test_labels_are_kept_for_other_runs(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    args = ["--teacher", "mnb", "--sentences", 5, "--cache", tmp_path / "kept", *settings()]
    for name, temperature, n_asked in (("a", 1, 5), ("b", 2, 0)):
        more = ["--out", tmp_path / name, "--temperature", temperature]
        result = run("teach", reviews_csv, *args, *more)
        assert result.exit_code == 0, result.stderr
        told = json.loads((tmp_path / name / "training.json").read_text())
        assert told["teaching"]["report"]["n_asked"] == n_asked


def test_ctrl_c_before_there_is_a_model(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(labels, "_write", interrupt)
    args = ["--teacher", "mnb", "--sentences", 5, *settings()]
    result = run("teach", reviews_csv, "--out", tmp_path / "m", *args)
    assert result.exit_code == 130
    assert "the same command goes on from here" in result.stderr


def test_a_missing_extra_is_named(reviews_csv: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['sklearn'] = None\nfrom adasent.cli import main; main()"
    words = ["teach", str(reviews_csv), "--teacher", "mnb", "--out", str(tmp_path / "m")]
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "pip install 'adasent[train]'" in done.stderr
    assert done.stderr.count("\n") == 1

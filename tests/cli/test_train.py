"""Training from the command line: reports, refusals, kills and interrupts."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

import adasent
from adasent import AdaSentClassifier, cli
from adasent.vectors.words import WordVectors, write_vectors

Run = Callable[..., Result]
Settings = Callable[..., list[str]]
FILES = {"config.json", "model.safetensors", "training.json", "vocabulary.json"}


def start(*args: object) -> subprocess.Popen[str]:
    """The command in a process of its own."""
    code = "from adasent.cli import main; main()"
    words = [sys.executable, "-c", code, *map(str, args)]
    return subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    """Until the file is there; fails if the process ends first."""
    while not path.exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.005)


def test_report(run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "v.bin"
    write_vectors(vectors, WordVectors(["film", "good"], np.eye(2)))
    out = tmp_path / "model folder"
    result = run("train", reviews_csv, "--out", out, "--vectors", vectors, *settings())
    assert result.exit_code == 0, result.stderr
    report = result.stdout
    assert report.startswith("reviews.csv: 60 texts, 2 classes\n")
    assert "epochs              2, best " in report
    assert "on 6 texts" in report
    assert "\nmacro F1            " in report
    assert "\nbalanced accuracy   " in report
    assert "\ncalibration         temperature " in report
    assert report.index("validation part\nclass  ") > report.index("model    ")
    assert "few texts           6 texts in the validation part" in report
    assert "of 20 distinct words" in report
    assert "gradient flow       healthy" in report
    assert f"'{out}'" in report  # quoted for the shell
    assert "adasent crossval" in report
    assert "\x1b" not in result.output
    assert result.stderr.count("epoch") == 2  # the lines of the epochs
    assert {path.name for path in out.iterdir()} == {
        "config.json",
        "model.safetensors",
        "training.json",
        "vocabulary.json",
    }


def test_words_left_out_of_the_model_are_told(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    vectors = tmp_path / "v.bin"
    write_vectors(vectors, WordVectors(["film", "unheard"], np.eye(2)))
    held = tmp_path / "held.csv"
    held.write_text("text,label\na film unheard of,pos\na film,neg\n")
    options = ["--vectors", vectors, "--validation", held, *settings()]
    few = run("train", reviews_csv, "--out", tmp_path / "few", *options, "--set", "extra_words=0")
    assert few.exit_code == 0, few.stderr
    assert "unseen words        33.3% of the words of the held-out texts" in few.stdout
    assert "                    16.7% have a vector: --set extra_words=20000 keeps" in few.stdout
    all_ = run("train", reviews_csv, "--out", tmp_path / "all", *options)
    assert "unseen words        16.7% of the words" in all_.stdout
    assert "have a vector" not in all_.stdout


def test_what_was_cut_is_told(
    run: Run, settings: Settings, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    texts = ["good film", "bad film"] * 30 + ["good " * 300, "bad " * 400]
    data = write_csv(tmp_path / "t.csv", texts, ["a", "b"] * 31, ("text", "label"))
    cut = run("train", data, "--out", tmp_path / "cut", *settings())
    assert cut.exit_code == 0, cut.stderr
    assert "unequal" not in cut.stdout
    line = "long texts          2 of 62 cut after 200 words, 36.6% of all words not read; --set max"
    assert line in cut.stdout
    assert "the longest 5% take 100% of the work" in cut.stdout  # 200 words are the least
    assert cut.stderr.count("warning: of 62 texts: 2 longer than max_words=200, cut there") == 1
    assert json.loads((tmp_path / "cut" / "config.json").read_text())["max_words"] == 200
    counts = run("train", data, "--out", tmp_path / "c", "--system", "mnb", "--set", "max_words=9")
    assert "2 of 62 cut after 9 words, 83.2% of all words not read" in counts.stdout
    whole = run("train", data, "--out", tmp_path / "whole", *settings("max_words=2000"))
    assert "cut after" not in whole.output
    flat = settings("max_height=1", "max_words=none")
    done = run("train", data, "--out", tmp_path / "flat", *flat)
    assert done.exit_code == 0, done.stderr
    assert AdaSentClassifier.load(tmp_path / "flat").max_height == 1


def test_unequal_classes_are_told_with_what_helps(
    run: Run, settings: Settings, tmp_path: Path, write_csv: Callable[..., Path]
) -> None:
    texts = [f"a good film {i}" for i in range(60)] + [f"a bad film {i}" for i in range(5)]
    data = write_csv(tmp_path / "t.csv", texts, ["a"] * 60 + ["b"] * 5, ("text", "label"))
    plain = run("train", data, "--out", tmp_path / "p", *settings())
    assert plain.exit_code == 0, plain.stderr
    assert "unequal classes     60 texts of a, 5 of b; accuracy says little" in plain.stdout
    assert "--set class_weight=balanced" in plain.stdout
    chosen = settings("class_weight=balanced", "metric=macro_f1", "calibrate=false")
    weighed = run("train", data, "--out", tmp_path / "w", *chosen)
    assert weighed.exit_code == 0, weighed.stderr
    assert "unequal classes" not in weighed.stdout
    assert "calibration  " not in weighed.stdout
    assert "macro F1" in weighed.stderr  # in the lines of the epochs
    clf = AdaSentClassifier.load(tmp_path / "w")
    assert (clf.metric, clf.calibrate) == ("macro_f1", False)


def test_settings_reach_the_model(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    args = settings("pooling=mean", "random_state=7")
    result = run(
        "train", reviews_csv, "--out", tmp_path / "m", "--quiet", "--tokenizer", "kim", *args
    )
    assert (result.exit_code, result.output) == (0, "")
    clf = AdaSentClassifier.load(tmp_path / "m")
    assert (clf.pooling, clf.random_state, clf.tokenizer) == ("mean", 7, "kim")


def test_validation_file_and_none(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    for value, words in {str(reviews_csv): "on 60 texts", "0": "the last epoch was kept"}.items():
        out = tmp_path / words[:4]
        result = run("train", reviews_csv, "--out", out, "--validation", value, *settings())
        assert result.exit_code == 0, result.stderr
        assert words in result.stdout


def test_official_training_part(run: Run, settings: Settings, toy: Path, tmp_path: Path) -> None:
    result = run("train", "toy", "--out", tmp_path / "m", *settings())
    assert result.exit_code == 0, result.stderr
    assert "TOY-train: 16 texts" in result.stdout
    assert "official training part" in result.stdout
    assert f"adasent evaluate {tmp_path / 'm'} toy" in result.stdout


def test_notes_of_the_reader_are_shown(run: Run, settings: Settings, tmp_path: Path) -> None:
    data = tmp_path / "d.csv"
    data.write_text("text,label\n\na b,1\nc d,2\n" * 1 + "e f,1\ng h,2\n", encoding="utf-8")
    result = run("train", data, "--out", tmp_path / "m", *settings())
    assert "note: 1 blank line skipped" in result.stdout


@pytest.mark.parametrize(
    ("prepare", "message"),
    [
        (lambda out: out.write_text("x"), "is a file"),
        (lambda out: (out.mkdir(), (out / "thesis.tex").write_text("x")), "holds other files"),
    ],
)
def test_out_that_is_no_model_is_refused(
    run: Run, tmp_path: Path, prepare: Callable[[Path], object], message: str
) -> None:
    out = tmp_path / "out"
    prepare(out)
    result = run("train", "no-such-data", "--out", out, "--force")
    assert result.exit_code == 1
    assert message in result.stderr  # told before the data are looked for


def test_a_finished_model_needs_force(
    run: Run, settings: Settings, reviews_csv: Path, model: Path
) -> None:
    before = (model / "model.safetensors").read_bytes()
    args = ("train", reviews_csv, "--out", model, "--quiet")
    result = run(*args, *settings("epochs=1"))
    assert result.exit_code == 1
    assert "--force" in result.stderr
    same = settings("epochs=10", "learning_rate=0.02", "max_words=30")
    assert run(*args, "--force", *same).exit_code == 0
    assert (model / "model.safetensors").read_bytes() == before


def test_killed_run_goes_on_to_the_same_model(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    def args(name: str) -> list[object]:
        more = settings("epochs=12", "patience=12")
        return ["train", reviews_csv, "--out", tmp_path / name, *more]

    with start(*args("killed"), "--quiet") as process:
        checkpoint = tmp_path / "killed" / ".checkpoint" / "checkpoint.safetensors"
        wait_for(checkpoint, process)
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "killed" / "model.safetensors").exists()

    other = run(*args("killed"), "--seed", 5)
    assert other.exit_code == 1
    assert "--restart" in other.stderr
    resumed = run(*args("killed"))
    assert resumed.exit_code == 0, resumed.stderr
    assert "going on with the unfinished run" in resumed.stdout
    assert "epoch   1 " not in resumed.stderr
    assert "epoch  12 " in resumed.stderr
    assert run(*args("whole"), "--quiet").exit_code == 0
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("killed", "whole")]
    assert models[0] == models[1]
    assert not checkpoint.parent.exists()


def test_ctrl_c_keeps_the_best_so_far_and_restart_discards(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    args = ["train", reviews_csv, "--out", out]
    with start(*args, *settings("epochs=100000", "patience=100000")) as process:
        wait_for(out / ".checkpoint" / "checkpoint.safetensors", process)
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate()
    assert process.returncode == 130, stderr
    assert "warning: training was interrupted" in stderr
    assert "the same command goes on" in " ".join(stderr.split())  # lines are wrapped
    assert "Traceback" not in stderr
    assert len(AdaSentClassifier.load(out).predict(["a good film"])) == 1
    assert (out / ".checkpoint").exists()

    anew = run(*args, "--restart", "--quiet", *settings())
    assert anew.exit_code == 0, anew.stderr
    assert len(AdaSentClassifier.load(out).history_) == 2
    assert not (out / ".checkpoint").exists()


def test_ctrl_c_before_the_first_epoch_saves_nothing(
    run: Run, reviews_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(AdaSentClassifier, "fit", interrupt)
    result = run("train", reviews_csv, "--out", tmp_path / "m")
    assert result.exit_code == 130
    assert "nothing was saved" in result.stderr
    assert not os.path.lexists(tmp_path / "m")


def test_the_data_are_named_in_the_model(model: Path, reviews_csv: Path) -> None:
    training = json.loads((model / "training.json").read_text(encoding="ascii"))
    assert training["data"]["part"] == "all"
    assert len(training["data"]["sha256"]) == 64


# -- saves that fail -----------------------------------------------------------------------------


def test_ctrl_c_between_training_and_saving_loses_nothing(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    same = settings("epochs=10", "learning_rate=0.02", "max_words=30")
    args = ["train", reviews_csv, "--out", tmp_path / "m", *same]
    with monkeypatch.context() as patch:
        patch.setattr(AdaSentClassifier, "save", interrupt)
        stopped = run(*args)
    assert stopped.exit_code == 130
    assert "the training is kept" in " ".join(stopped.stderr.split())
    again = run(*args)
    assert again.exit_code == 0, again.stderr
    assert "epoch " not in again.stderr  # not one is trained again
    assert {path.name for path in (tmp_path / "m").iterdir()} == FILES
    name = "model.safetensors"
    assert (tmp_path / "m" / name).read_bytes() == (model / name).read_bytes()


@pytest.mark.parametrize("system", ["adasent", "mnb"])
def test_a_full_disk_keeps_the_old_model(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    system: str,
) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    out = tmp_path / "m"
    assert run("train", reviews_csv, "--out", out, "--system", "nbsvm").exit_code == 0
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    options = settings("epochs=1") if system == "adasent" else ["--system", system]
    args = ["train", reviews_csv, "--out", out, "--quiet", "--force", *options]
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        failed = run(*args)
    assert failed.exit_code == 1
    assert failed.stderr.count("\n") == 1
    kept = "the training is kept" if system == "adasent" else "the same command starts anew"
    assert f"{out}: No space left on device; {kept}" in failed.stderr
    assert {path.name: path.read_bytes() for path in out.glob("*.*") if path.is_file()} == before
    assert run(*args).exit_code == 0
    assert adasent.load(out).predict(["a good film"]).shape == (1,)
    assert {path.name for path in out.iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"m"}


@pytest.mark.parametrize("left", ["model.safetensors.part", "vocabulary.json"])
def test_parts_of_a_save_by_an_older_version_are_not_in_the_way(
    run: Run, reviews_csv: Path, tmp_path: Path, left: str
) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m" / left).write_text("torn")
    result = run("train", reviews_csv, "--out", tmp_path / "m", "--quiet", "--system", "mnb")
    assert result.exit_code == 0, result.stderr
    assert {path.name for path in (tmp_path / "m").iterdir()} == FILES


def test_a_folder_in_use_is_refused_in_one_line(
    run: Run, settings: Settings, reviews_csv: Path, tmp_path: Path
) -> None:
    args = ["train", reviews_csv, "--out", tmp_path / "m"]
    with start(*args, *settings("epochs=100000", "patience=100000")) as process:
        wait_for(tmp_path / "m" / ".checkpoint" / "checkpoint.safetensors", process)
        second = run(*args, "--force", "--restart", *settings())
        process.kill()
    assert second.exit_code == 1
    assert "is being written by another process" in second.stderr
    assert second.stderr.count("\n") == 1
    assert run(*args, "--restart", "--quiet", *settings()).exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} == {"m"}


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no place that nobody may write to")
def test_a_place_that_cannot_be_written_is_noticed_before_any_work(run: Run) -> None:
    result = run("train", "no-such-data", "--out", "/proc/adasent-model")
    assert result.exit_code == 1
    assert "--out /proc/adasent-model cannot be written" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_noticed_before_any_work(run: Run, tmp_path: Path) -> None:
    for out in (tmp_path / "m", tmp_path / "m" / "new"):
        (tmp_path / "m").mkdir(exist_ok=True)
        (tmp_path / "m").chmod(0o555)
        result = run("train", "no-such-data", "--out", out)
        assert result.exit_code == 1
        assert "cannot be written" in result.stderr
    (tmp_path / "m").chmod(0o755)


def test_ctrl_c_before_the_command_begins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupt(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("adasent.cli.app.app", interrupt)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"


def test_a_refused_command_discards_no_unfinished_run(
    run: Run, reviews_csv: Path, settings: Settings, tmp_path: Path
) -> None:
    out = tmp_path / "model"
    (out / ".checkpoint").mkdir(parents=True)
    kept = out / ".checkpoint" / "checkpoint.safetensors"
    kept.write_bytes(b"of an unfinished run")
    args = ("--out", out, "--restart", *settings())
    assert run("train", tmp_path / "no.csv", *args).exit_code == 1
    assert run("train", reviews_csv, "--label", "nowhere", *args).exit_code == 1
    assert kept.exists()
    assert run("train", reviews_csv, "--quiet", *args).exit_code == 0
    assert not kept.exists()


def test_vectors_are_auto_by_default_and_none_refuses_them(
    run: Run,
    settings: Settings,
    reviews_csv: Path,
    tmp_path: Path,
    minilm_wheel: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ADASENT_VECTORS", str(minilm_wheel))
    result = run("train", reviews_csv, "--out", tmp_path / "a", *settings())
    assert result.exit_code == 0, result.stderr
    assert "vectors             minilm (auto): " in result.stdout
    record = json.loads((tmp_path / "a" / "training.json").read_text())["vectors"]
    assert (record["auto"], record["sets"][0]["name"]) == (True, "minilm")
    result = run("train", reviews_csv, "--out", tmp_path / "b", "--vectors", "none", *settings())
    assert "vectors             none, random start" in result.stdout
    # Nothing can be had: training goes on, and one line says what that costs.
    monkeypatch.delenv("ADASENT_VECTORS")
    monkeypatch.delenv("ADASENT_DATA", raising=False)
    monkeypatch.setenv("ADASENT_OFFLINE", "1")
    monkeypatch.setenv("ADASENT_CACHE", str(tmp_path / "cache"))
    result = run("train", reviews_csv, "--out", tmp_path / "c", *settings())
    assert result.exit_code == 0, result.stderr
    assert result.stderr.count("random ones: expect some points of accuracy less") == 1

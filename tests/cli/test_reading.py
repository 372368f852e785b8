"""Files of real life through the commands: what is said of them, skipped and refused."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

import adasent

Run = Callable[..., Result]
Settings = Callable[..., list[str]]

COLUMNS = "columns: text from 'Review', label from 'Stars' (by name; --text and --label can say "
SKIPPED = "note: 2 of 60 rows skipped: 1 without a text in 'Review', 1 without a label in 'Stars'"


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, reviews: tuple[list[str], list[str]]) -> Path:
    """Semicolons, a mark, Windows line ends, weights, a missing label and a missing text."""
    texts, labels = (list(values[:60]) for values in reviews)
    texts[3], labels[7] = "", ""
    rows = [
        f'{i};"{t}, they said";{y};{1 + i % 2}'
        for i, (t, y) in enumerate(zip(texts, labels, strict=False))
    ]
    rows[3] = "3;;pos;1"
    path = tmp_path_factory.mktemp("real") / "my reviews.csv"
    path.write_bytes(("\ufeff" + "\r\n".join(["No;Review;Stars;w", *rows, ""])).encode())
    return path


def test_training_counts_what_is_missing_and_needs_a_flag(
    run: Run, settings: Settings, real: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    refused = run("train", real, "--out", out, *settings())
    assert refused.exit_code == 1
    assert "2 of 60 rows cannot be used" in refused.stderr
    assert refused.stderr.endswith("or skip them with --skip-missing\n")
    assert not out.exists()
    args = ["--skip-missing", "--epochs", 1, "--hidden-size", 8, "--weight", "w"]
    done = run("train", real, "--out", out, *args)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith(
        COLUMNS.replace("'Stars'", "'Stars', weight from 'w'") + "otherwise); semicolon between"
    )
    assert SKIPPED in done.stdout
    assert "58 texts, 2 classes" in done.stdout
    hint = re.search(r"^  (adasent crossval .*?)  accuracy", done.stdout, re.M)
    assert hint is not None
    assert hint[1] == (f"adasent crossval '{real}' --skip-missing --epochs 1 --hidden-size 8")
    assert f"  adasent predict {out} 'a text of yours'" in done.stdout
    assert f"  adasent explain {out} 'a text of yours'" in done.stdout
    model = adasent.load(out)
    assert model.network.config.hidden_size == 8


def test_weights_reach_the_fit(run: Run, settings: Settings, tmp_path: Path) -> None:
    """A text of weight 0 is as one that is not there."""
    rows = [f"good film {i},a,1" for i in range(9)] + [f"bad film {i},b,1" for i in range(9)]
    for name, more in {"without": [], "zero": ["good film,b,0", "great film,b,0"]}.items():
        body = "\n".join(["text,label,w", *rows, *more, ""])
        (tmp_path / f"{name}.csv").write_text(body, encoding="utf-8")
        args = ["--weight", "w", "--system", "nbsvm", "--quiet"]
        result = run("train", tmp_path / f"{name}.csv", "--out", tmp_path / name, *args)
        assert result.exit_code == 0, result.stderr
    models = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("without", "zero")]
    assert models[0] == models[1]


@pytest.mark.parametrize("command", ["evaluate", "crossval", "profile", "audit"])
def test_the_other_commands(
    run: Run, settings: Settings, model: Path, real: Path, command: str
) -> None:
    args = {
        "evaluate": ["evaluate", model, real],
        "profile": ["profile", model, real],
        "crossval": ["crossval", real, "--folds", 2, "--system", "mnb"],
        "audit": ["data", "audit", real, "--folds", 2],
    }[command]
    result = run(*args)
    if command == "audit":  # where it is one of the findings
        assert result.exit_code == 0, result.stderr
        assert SKIPPED in result.stdout
        assert result.stderr.startswith(COLUMNS)
        return
    assert result.exit_code == 1
    assert "skip them with --skip-missing" in result.stderr
    done = run(*args, "--skip-missing")
    assert done.exit_code == 0, done.stderr
    assert done.stderr.startswith(COLUMNS)
    assert SKIPPED in done.stderr


def test_teach(run: Run, settings: Settings, real: Path, tmp_path: Path) -> None:
    args = ["teach", real, "--teacher", "nbsvm", "--out", tmp_path / "m", "--sentences", 5]
    result = run(*args, *settings("epochs=1"))
    assert "skip them with --skip-missing" in result.stderr
    done = run(*args, "--skip-missing", *settings("epochs=1"))
    assert done.exit_code == 0, done.stderr
    assert SKIPPED in done.stdout


def test_errors_speak_the_language_of_the_command_line(
    run: Run, model: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.csv"
    path.write_text("words,title,body\na,b,c\n", encoding="utf-8")
    for args, message in {
        ("--text", "word"): "--text word: there is no such column; did you mean 'words'?",
        (): "no column looks like the label (such as 'label' or 'class'); name it with --label COL",
    }.items():
        result = run("evaluate", model, path, *args)
        assert message in result.stderr
    path.write_bytes("text,label\ncafé,x\n".encode("cp1252"))
    assert "if that is right, add --encoding cp1252" in run("evaluate", model, path).stderr
    assert "leave --text out" in run("evaluate", model, "TREC", "--text", "x").stderr


REFUSED = {
    "no file": ["train", "gone.csv", "--out", "m"],
    "no column": ["train", "{data}", "--out", "m", "--text", "x"],
    "missing label": ["train", "{data}", "--out", "m"],
    "no setting": ["train", "{data}", "--out", "m", "--set", "epoch=3"],
    "out of range": ["train", "{data}", "--out", "m", "--epochs", "0"],
    "network out of range": ["train", "{data}", "--out", "m", "--set", "pooling=sum"],
    "contradiction": ["train", "{data}", "--out", "m", "--epochs", "3", "--set", "epochs=4"],
    "another system's": ["train", "{data}", "--out", "m", "--system", "mnb", "--epochs", "3"],
    "no system": ["train", "{data}", "--out", "m", "--system", "adasnet"],
    "no tokenizer": ["train", "{data}", "--out", "m", "--tokenizer", "wrods"],
    "no vectors": ["train", "{ok}", "--out", "m", "--vectors", "gone.bin"],
    "no validation file": ["train", "{ok}", "--out", "m", "--validation", "gone.csv"],
    "folds of nothing": ["crossval", "gone.csv"],
    "no seeds": ["crossval", "{ok}", "--seeds", "x"],
    "nothing to teach": ["teach", "gone.csv", "--teacher", "nbsvm", "--out", "m"],
    "no unlabelled": ["teach", "{ok}", "--teacher", "mnb", "--out", "m", "--unlabelled", "gone"],
    "no model": ["evaluate", "gone", "{ok}"],
    "no texts": ["predict", "gone", "gone.csv"],
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_is_refused_before_torch_is_imported(
    name: str, real: Path, reviews_csv: Path, tmp_path: Path
) -> None:
    words = [word.format(data=real, ok=reviews_csv) for word in REFUSED[name]]
    code = (
        "import sys\n"
        f"sys.argv = ['adasent', *{words!r}]\n"
        "from adasent.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert end.code == 1, end.code\n"
        "heavy = {'torch', 'sklearn', 'scipy', 'gensim', 'numba'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    *found, last = done.stderr.splitlines()
    assert last.startswith("error: ")
    assert all(line.startswith("columns: ") for line in found)


def test_options_and_set_say_the_same(run: Run, reviews_csv: Path, tmp_path: Path) -> None:
    args = ["--epochs", 1, "--batch-size", 20, "--learning-rate", 0.02, "--hidden-size", 8]
    args += ["--dropout", 0.1, "--patience", 3, "--max-words", 30, "--class-weight", "balanced"]
    out = tmp_path / "a"
    result = run("train", reviews_csv, "--out", out, "--quiet", *args, "--device", "cpu")
    assert (result.exit_code, result.output) == (0, "")
    names = [word[2:].replace("-", "_") for word in args[::2]]
    assigned = [
        word for n, v in zip(names, args[1::2], strict=False) for word in ("--set", f"{n}={v}")
    ]
    other = tmp_path / "b"
    assert run("train", reviews_csv, "--out", other, "--quiet", *assigned).exit_code == 0
    name = "model.safetensors"
    assert (out / name).read_bytes() == (other / name).read_bytes()


def test_settings_of_a_system_have_a_line_each(run: Run) -> None:
    lines = run("systems", "nbsvm").stdout.splitlines()
    row = next(line for line in lines if line.startswith("beta"))
    assert row.split()[:2] == ["beta", "0.25"]
    assert "Share of the SVM in the interpolation with MNB" in row
    assert "adasent train DATA --out DIR --system nbsvm --set setting=value" in lines


def test_help_shows_what_a_user_types(run: Run) -> None:
    commands = [
        "train",
        "teach",
        "evaluate",
        "crossval",
        "predict",
        "systems",
        "explain",
        "profile",
        "serve",
    ]
    groups = [["data", name] for name in ("list", "get", "stats", "audit")]
    groups += [["vectors", name] for name in ("train", "distill", "info")]
    for words in [[], *([name] for name in commands), *groups]:
        shown = run(*words, "--help").stdout
        assert not re.search(r"<\w|\{\w", shown)
        assert "......" not in shown
        assert "(of the setting)" not in shown
    assert "Epochs, at most" in " ".join(run("train", "--help").stdout.split())


def test_completion(tmp_path: Path) -> None:
    code = "from adasent.cli import main; main()"
    script = subprocess.run(
        [sys.executable, "-c", code, "--show-completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
        # The shell is looked for among this process's parents, and there may be none.
        env=os.environ | {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"},
    ).stdout
    assert "_ADASENT_COMPLETE=complete_bash" in script
    env = {
        "_ADASENT_COMPLETE": "complete_bash",
        "COMP_WORDS": "adasent train --ep",
        "COMP_CWORD": "2",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=env | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.split() == ["--epochs"]
    env |= {"COMP_WORDS": "adasent train --system nb", "COMP_CWORD": "3"}
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=env | {"PYTHONPATH": ":".join(sys.path)},
    )
    assert done.stdout.split() == ["nbsvm"]


def test_json_of_a_report(run: Run, model: Path, reviews_csv: Path) -> None:
    values = json.loads(run("evaluate", model, reviews_csv, "--json").stdout)
    assert values["n"] == 60

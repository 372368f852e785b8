"""Every system through train, predict, evaluate and crossval, and options that do not suit one."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import Result

from adasent.data import span_parser
from adasent.data.span_parser import N_ROWS, SpanParser
from adasent.data.trees import Treebank, parse_trees
from adasent.estimators import rivals
from adasent.estimators.counts import MNBClassifier
from adasent.estimators.registry import SYSTEMS, load_estimator
from adasent.evaluation.records import read_records
from adasent.training.callbacks import ProgressBar

Run = Callable[..., Result]

NETWORK = ("vector_size=8", "epochs=2", "learning_rate=0.02", "batch_size=20")
#: Settings under which training takes a moment.
SMALL = {
    "adasent": (*NETWORK, "hidden_size=8", "classifier_size=8"),
    "mnb": ("max_ngram=1", "alpha=0.5"),
    "nbsvm": ("beta=0.5",),
    "paragraph-vector": ("vector_size=6", "epochs=3"),
    "cbow": (*NETWORK, "pooling=max"),
    "rnn": (*NETWORK, "hidden_size=6"),
    "brnn": (*NETWORK, "hidden_size=6"),
    "grconv": (*NETWORK, "hidden_size=6"),
    "cnn": (*NETWORK, "windows=2,3", "n_maps=4"),
    "dcnn": (*NETWORK, "row_size=8", "n_maps=2,3"),
    "rae": (*NETWORK, "hidden_size=6"),
    "mv-recnn": (*NETWORK, "hidden_size=4", "rank=2"),
}
IN_ONE_GO = [name for name, entry in SYSTEMS.items() if not entry.by_epochs]
TEXTS = ["a good film", "", "the plot was awful", "never seen words"]


def chosen(system: str, *more: str) -> list[str]:
    settings = (*SMALL.get(system, NETWORK), *more)
    return ["--system", system, *(word for one in settings for word in ("--set", one))]


@pytest.fixture
def no_treebank(monkeypatch: pytest.MonkeyPatch) -> None:
    """The registered treebanks are large and not here."""
    monkeypatch.setattr(rivals, "treebank_parser", lambda _: SpanParser(np.zeros(N_ROWS)))
    bank = Treebank(parse_trees("(S (A (X a) (X good)) (X film)) (S (X so) (A (X very) (X dull)))"))
    monkeypatch.setattr(span_parser, "treebank", lambda: bank)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.usefixtures("no_treebank")
def test_train_predict_evaluate(run: Run, reviews_csv: Path, tmp_path: Path, system: str) -> None:
    out = tmp_path / "model"
    result = run("train", reviews_csv, "--out", out, *chosen(system))
    assert result.exit_code == 0, result.stderr
    assert ("validation accuracy" in result.stdout) == (system not in IN_ONE_GO)
    assert ("gradient flow" in result.stdout) == (system == "adasent")
    assert ("--system" in result.stdout) == (system != "adasent")
    assert {path.name for path in out.iterdir()} == {
        "config.json",
        "model.safetensors",
        "training.json",
        "vocabulary.json",
    }

    labelled = run("predict", out, "--proba", stdin="\n".join(TEXTS))
    assert labelled.exit_code == 0, labelled.stderr
    assert labelled.stderr == ("warning: of 4 texts: 1 without a word, read as one unknown word\n")
    rows = [json.loads(line) for line in labelled.stdout.splitlines()]
    model = load_estimator(out)
    with pytest.warns(UserWarning, match="1 without a word"):
        expected = model.predict_proba(TEXTS)
    assert [row["predicted"] for row in rows] == model.classes_[expected.argmax(axis=1)].tolist()
    found = [list(row["probabilities"].values()) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)

    scores = run("evaluate", out, reviews_csv, "--json")
    assert "the model was trained on these texts" in scores.stderr
    lines = reviews_csv.read_text(encoding="utf-8").splitlines()[1:]
    texts, labels = zip(*(line.rsplit(",", 1) for line in lines), strict=True)
    hits = model.predict(list(texts)) == np.array(labels)
    assert json.loads(scores.stdout)["accuracy"] == hits.mean()


@pytest.mark.parametrize("system", ["mnb", "paragraph-vector", "cnn", "mv-recnn"])
@pytest.mark.usefixtures("no_treebank")
def test_crossval(run: Run, reviews_csv: Path, tmp_path: Path, system: str) -> None:
    out = tmp_path / "folds.jsonl"
    args = ["crossval", reviews_csv, "--folds", 2, "--out", out, *chosen(system)]
    first = run(*args)
    assert first.exit_code == 0, first.stderr
    lines = first.stdout.splitlines()
    assert lines[0] == f"reviews.csv: 60 texts, 2 random folds, {system}"
    assert ("epoch" in lines[1]) == (system not in IN_ONE_GO)
    records = read_records(out)
    assert {record.spec["system"] for record in records} == {system}
    assert run(*args).stdout.count("recorded before") == 2
    assert read_records(out) == records


def test_list_of_systems(run: Run) -> None:
    rows = {line.split()[0]: line for line in run("systems").stdout.splitlines() if line}
    for name, entry in SYSTEMS.items():
        assert entry.summary.split()[0] in rows[name]
        assert rows[name].split()[-2:] == ["yes" if entry.vectors else "no", entry.extras]


def test_settings_of_a_system(run: Run) -> None:
    lines = run("systems", "cnn").stdout.splitlines()[2:-2]
    rows = dict(line.split(maxsplit=2)[:2] for line in lines)
    assert rows["windows"] == "3,4,5"
    assert rows["multichannel"] == "false"
    assert rows["class_weight"] == "none"
    assert "checkpoint" not in rows
    unknown = run("systems", "cnm")
    assert unknown.exit_code == 1
    assert "unknown system 'cnm'; did you mean 'cnn'?" in unknown.stderr


@pytest.mark.parametrize("command", ["train", "crossval"])
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--system", "bnn"], "unknown system 'bnn'; did you mean"),
        (["--system", "mnb", "--vectors", "x"], "--vectors: the system mnb reads no word vectors"),
        (["--system", "mnb", "--set", "epochs=3"], "mnb has no setting 'epochs'; choose one of"),
        (
            ["--system", "mnb", "--set", "alfa=3"],
            "mnb has no setting 'alfa'; did you mean 'alpha'? adasent systems mnb lists all",
        ),
        (["--system", "cbow", "--preset", "paper"], "presets are settings of adasent; cbow has"),
        (["--preset", "papper"], "unknown preset 'papper'; did you mean 'paper'?"),
        (["--system", "mv-recnn", "--set", "parser=x"], "parser: it holds objects"),
        (["--system", "cnn", "--set", "windows=3-5"], "whole numbers with commas between"),
    ],
)
def test_what_does_not_suit_a_system_is_refused_before_any_work(
    run: Run, tmp_path: Path, command: str, args: list[str], message: str
) -> None:
    out = ["--out", tmp_path / "m"] if command == "train" else []
    result = run(command, "no-such-data", *out, *args)
    assert result.exit_code == 1
    assert message in result.stderr
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--validation", "0.2"], "--validation: the system nbsvm holds no texts back"),
        (["--resume"], "--resume/--restart: the system nbsvm trains in one go"),
        (["--restart"], "--resume/--restart: the system nbsvm trains in one go"),
        (["--set", "checkpoint=x"], "nbsvm has no setting 'checkpoint'"),
    ],
)
def test_training_in_one_go_has_no_epochs(
    run: Run, tmp_path: Path, args: list[str], message: str
) -> None:
    result = run("train", "no-such-data", "--out", tmp_path / "m", "--system", "nbsvm", *args)
    assert result.exit_code == 1
    assert message in result.stderr


def test_an_unfinished_run_is_not_thrown_away_silently(
    run: Run, reviews_csv: Path, tmp_path: Path
) -> None:
    unfinished = tmp_path / "m" / ".checkpoint" / "checkpoint.safetensors"
    unfinished.parent.mkdir(parents=True)
    unfinished.touch()
    args = ["train", reviews_csv, "--out", tmp_path / "m", "--quiet", "--system", "mnb"]
    result = run(*args)
    assert result.exit_code == 1
    assert "holds the unfinished run of a network, with which mnb cannot go on" in result.stderr
    assert unfinished.exists()
    assert run(*args, "--force").exit_code == 0
    assert not unfinished.exists()


def test_a_network_that_was_stopped_goes_on(
    run: Run, reviews_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    def args(name: str) -> list[object]:
        return ["train", reviews_csv, "--out", tmp_path / name, *chosen("cbow", "epochs=4")]

    with monkeypatch.context() as patch:
        patch.setattr(ProgressBar, "on_epoch_end", stop)
        stopped = run(*args("stopped"))
    assert stopped.exit_code == 130
    assert "the same command goes on" in " ".join(stopped.stderr.split())
    assert len(load_estimator(tmp_path / "stopped").history_) == 1
    assert "going on with the unfinished run" in run(*args("stopped")).stdout
    assert run(*args("whole")).exit_code == 0
    models = [(tmp_path / name / "model.safetensors") for name in ("stopped", "whole")]
    assert models[0].read_bytes() == models[1].read_bytes()


def test_ctrl_c_in_one_go_saves_nothing(
    run: Run, reviews_csv: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MNBClassifier, "_train", interrupt)
    result = run("train", reviews_csv, "--out", tmp_path / "m", "--system", "mnb")
    assert result.exit_code == 130
    assert "nothing was saved" in result.stderr
    out = tmp_path / "folds.jsonl"
    result = run("crossval", reviews_csv, "--folds", 2, "--system", "mnb", "--out", out)
    assert result.exit_code == 130
    assert "0 of 2 folds are done" in result.stderr
    assert read_records(out) == []


def test_a_model_of_another_system_replaces_one(
    run: Run, reviews_csv: Path, tmp_path: Path
) -> None:
    args = ["train", reviews_csv, "--out", tmp_path / "m", "--quiet"]
    assert run(*args, "--system", "mnb").exit_code == 0
    refused = run(*args, *chosen("cbow"))
    assert "add --force" in refused.stderr
    assert run(*args, *chosen("cbow"), "--force").exit_code == 0
    assert load_estimator(tmp_path / "m").system == "cbow"


#: Runs a command in which the package named last cannot be imported.
HIDE = """
import sys

class Hide:
    hidden = sys.argv.pop()

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == self.hidden:
            raise ImportError(name + " is hidden")

sys.meta_path.insert(0, Hide())
from adasent.cli import main
main()
"""


def without(hidden: str, *args: object) -> subprocess.CompletedProcess[str]:
    """A command where a package is not installed."""
    words = [sys.executable, "-c", HIDE, *map(str, args), hidden]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("system", "hidden", "extra"),
    [
        ("mnb", "sklearn", "train"),
        ("cbow", "torch", "train"),
        ("paragraph-vector", "gensim", "vectors"),
    ],
)
def test_a_missing_extra_is_named(
    run: Run, reviews_csv: Path, tmp_path: Path, system: str, hidden: str, extra: str
) -> None:
    out = tmp_path / "m"
    assert run("train", reviews_csv, "--out", out, "--quiet", *chosen(system)).exit_code == 0
    new = tmp_path / "new"
    for args in (
        ["predict", out, reviews_csv],
        ["train", reviews_csv, "--out", new, "--system", system],
    ):
        done = without(hidden, *args)
        assert done.returncode == 1
        assert done.stderr.endswith(
            f" needs {hidden}, which is not installed; run: pip install 'adasent[{extra}]'\n"
        )
        assert done.stderr.count("\n") == 1
        assert not new.exists()


def test_counting_words_needs_no_torch(reviews_csv: Path, tmp_path: Path) -> None:
    for args in (
        ["train", reviews_csv, "--out", tmp_path / "m", "--system", "nbsvm"],
        ["evaluate", tmp_path / "m", reviews_csv],
        ["crossval", reviews_csv, "--folds", 2, "--system", "mnb"],
    ):
        done = without("torch", *args)
        assert done.returncode == 0, done.stderr


def test_preset_and_what_wins_over_it(
    run: Run, settings: Callable[..., list[str]], reviews_csv: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    args = settings("dropout=0.25", "epochs=1")
    result = run("train", reviews_csv, "--out", out, "--quiet", *args, "--preset", "paper")
    assert result.exit_code == 0, result.stderr
    model = load_estimator(out)
    assert (model.optimizer, model.copy_bias, model.vector_dropout) == ("adagrad", 0.0, 0.0)
    assert (model.dropout, model.epochs) == (0.25, 1)
    folds = tmp_path / "f.jsonl"
    run("crossval", reviews_csv, "--folds", 2, "--out", folds, "--preset", "paper", *args)
    assert {record.spec["optimizer"] for record in read_records(folds)} == {"adagrad"}


@pytest.mark.parametrize("command", ["explain", "profile", "serve"])
def test_what_shows_a_pyramid_needs_adasent(
    run: Run, tmp_path: Path, reviews_csv: Path, command: str
) -> None:
    folder = tmp_path / "rival"
    assert run("train", reviews_csv, "--out", folder, "--system", "mnb").exit_code == 0
    more = {"explain": ["a text"], "profile": [reviews_csv], "serve": []}[command]
    result = run(command, folder, *more)
    assert result.exit_code == 1
    assert f"adasent {command} needs a model of AdaSent" in result.stderr
    assert "mnb" in result.stderr

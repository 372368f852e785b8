"""Sweeps: what is tried, what is stopped, what no trial sees, and what a kill leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("optuna")

from adasent.data import Corpus
from adasent.errors import (
    AdaSentError,
    ConfigError,
    DataError,
    FolderInUseError,
    MissingDependencyError,
)
from adasent.estimators.counts import MNBClassifier
from adasent.estimators.neural import NeuralClassifier
from adasent.estimators.registry import make
from adasent.evaluation import trials as trials_module
from adasent.evaluation.crossval import cross_validate, prepare
from adasent.evaluation.executors import ThisProcess
from adasent.evaluation.jobs import EncodedOnce
from adasent.evaluation.records import FoldRecord
from adasent.evaluation.search_space import Choice, Range
from adasent.evaluation.study import Study
from adasent.evaluation.sweep import Sweep
from adasent.evaluation.sweep_parts import SweepConfig
from adasent.evaluation.trials import Trial, read_trials
from adasent.saving.folder import hold
from adasent.text.tokenize import tokenizer_name

#: 60 texts; the second word tells the label of most of them, and every text is another.
CORPUS = Corpus(
    "toy",
    [f"a {'good' if i % 2 else 'bad'} film{i}" for i in range(60)],
    ["pos" if i % 2 or i % 12 == 0 else "neg" for i in range(60)],
    "ab" * 32,
)
SMALL = {"vectors": None, "vector_size": 8, "classifier_size": 0, "epochs": 6, "batch_size": 20}


def mnb(out: Path, **config: Any) -> Sweep:
    return Sweep(CORPUS, out, system="mnb", config=SweepConfig(**config))


def tried(sweep: Sweep) -> dict[str, list[Trial]]:
    """The trials of each search, but for their times."""
    return {
        search: [replace(one, seconds=0.0) for one in trials]
        for search, trials in sweep.trials().items()
    }


def test_one_seed_one_result_and_another_another(tmp_path: Path) -> None:
    sweeps = [mnb(tmp_path / name, seed=seed) for name, seed in (("a", 0), ("b", 0), ("c", 1))]
    for sweep in sweeps:
        list(sweep.run(12))
    one, same, other = map(tried, sweeps)
    assert one == same
    assert one != other
    assert [trial.number for trial in one["training texts"]] == list(range(12))
    assert one["training texts"][0].settings == {"alpha": 1.0, "max_ngram": 2}  # its own
    assert sweeps[0].best_file.read_bytes() == sweeps[1].best_file.read_bytes()


def test_the_best_is_tested_as_a_cross_validation_tests_it(tmp_path: Path) -> None:
    sweep = mnb(tmp_path, n_folds=3)
    events = list(sweep.run(4))
    assert sum(isinstance(one, FoldRecord) for one in events) == 3
    *folds, whole = sweep.found()
    assert [one.search for one in folds] == ["fold 1", "fold 2", "fold 3"]
    assert (whole.search, whole.record) == ("all texts", None)
    for i, one in enumerate(folds):
        runs = cross_validate(CORPUS, one.settings, system="mnb", n_folds=3)
        expected = [record for record, _ in runs][i]
        assert one.record is not None
        assert one.record.key == expected.key
        assert one.record.predicted == expected.predicted


def spy(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """What the trials of each search see; what is seen beside them is seen by "test"."""
    seen: dict[str, set[str]] = {}
    now = ["test"]

    def watch(function: Callable[..., Any]) -> Callable[..., Any]:
        def watched(self: Any, X: Any, *others: Any, **more: Any) -> Any:
            seen.setdefault(now[0], set()).update(X)
            return function(self, X, *others, **more)

        return watched

    def run_trial(searches: Any, task: Any, run: Any = trials_module.run_trial) -> Trial:
        now[0] = searches.searches[task.search].name
        try:
            trial: Trial = run(searches, task)
            return trial
        finally:
            now[0] = "test"

    for name in ("fit", "predict_proba"):
        monkeypatch.setattr(MNBClassifier, name, watch(getattr(MNBClassifier, name)))
    monkeypatch.setattr("adasent.evaluation.sweep.run_trial", run_trial)
    return seen


@pytest.mark.parametrize("rule", ["folds", "held-out", "official"])
def test_no_trial_sees_a_text_of_its_test_part(
    rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = spy(monkeypatch)
    corpus = replace(CORPUS, test=np.arange(50, 60)) if rule == "official" else CORPUS
    config = SweepConfig(n_folds=3 if rule == "folds" else 0)
    sweep = Sweep(corpus, tmp_path, system="mnb", config=config)
    list(sweep.run(3))
    assert len(sweep.folds) == (3 if rule == "folds" else 1)
    for search, fold in zip(sweep.searches, sweep.folds, strict=False):
        test = {corpus.texts[i] for i in fold.test}
        others = {corpus.texts[i] for i in fold.train}
        assert seen[search.name] == others  # all of them, and no other
        assert test <= seen["test"]
    if rule == "official":
        assert sweep.folds[0].test.tolist() == list(range(50, 60))
        assert sweep.rule == "official"


def test_bad_trials_are_stopped(tmp_path: Path) -> None:
    space = {"learning_rate": Range(1e-6, 0.1, log=True)}
    config = SweepConfig(metric="loss", dev_fraction=0.3)
    sweep = Sweep(CORPUS, tmp_path, SMALL, space, system="cbow", config=config)
    list(sweep.run(12))
    trials = sweep.trials()["training texts"]
    stopped = [one for one in trials if one.state == "pruned"]
    done = [one for one in trials if one.state == "complete"]
    assert stopped
    assert all(3 <= len(one.epochs) < 6 for one in stopped)
    assert not any(one.state == "pruned" for one in trials[:4])
    (found,) = sweep.found()
    assert found.trial.value == min(one.value for one in done if one.value is not None)
    assert all(one.value == one.epochs[-1] for one in stopped)


def test_one_that_was_stopped_goes_on_as_it_would_have(tmp_path: Path) -> None:
    space = {"learning_rate": Range(1e-4, 0.1, log=True), "pooling": Choice(("mean", "max"))}
    whole = Sweep(CORPUS, tmp_path / "whole", SMALL, space, system="cbow")
    list(whole.run(10))
    for _ in range(2):  # stopped twice, once in the middle of a line
        broken = Sweep(CORPUS, tmp_path / "broken", SMALL, space, system="cbow")
        running = broken.run(10)
        for _ in range(4):
            next(running)
        running.close()  # type: ignore[attr-defined]
        with broken.trials_file.open("ab") as file:
            file.write(b'{"search": "training te')
    list(broken.run(10))
    assert tried(broken) == tried(whole)
    assert broken.best_file.read_bytes() == whole.best_file.read_bytes()
    assert list(broken.run(10)) == []  # nothing is left to do
    more = list(broken.run(12))
    assert [one.number for one in more if isinstance(one, Trial)] == [10, 11]


CHILD = """
import os, signal, sys
from pathlib import Path
from adasent.evaluation import records
from adasent.evaluation.study import Study
from adasent.evaluation.sweep import Sweep
from experiment_cases import toy_corpus
n_written = 0

def fsync(number, fsync=os.fsync):
    global n_written
    n_written += 1
    if n_written == 3:
        os.ftruncate(number, os.fstat(number).st_size - 10)
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(number)

records.os.fsync = fsync
list(Sweep(toy_corpus("MR"), Path(sys.argv[1]), system="mnb").run(5))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_kill_loses_the_trial_it_was_at(tmp_path: Path) -> None:
    from experiment_cases import toy_corpus

    code = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n{CHILD}"
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / "killed")])
    assert done.returncode == -signal.SIGKILL
    killed, whole = (
        Sweep(toy_corpus("MR"), tmp_path / name, system="mnb") for name in ("killed", "whole")
    )
    assert len(killed.trials()["training texts"]) == 2
    list(killed.run(5))
    list(whole.run(5))
    assert tried(killed) == tried(whole)


def test_ctrl_c_keeps_what_is_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = MNBClassifier.fit
    n_fits = []

    def pressed(self: Any, *args: Any, **more: Any) -> Any:
        n_fits.append(1)
        if len(n_fits) == 3:
            raise KeyboardInterrupt
        return fit(self, *args, **more)

    monkeypatch.setattr(MNBClassifier, "fit", pressed)
    sweep = mnb(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        list(sweep.run(5))
    assert len(sweep.trials()["training texts"]) == 2
    list(sweep.run(5))
    assert len(sweep.trials()["training texts"]) == 5


def test_a_network_interrupted_in_a_trial_is_no_result(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from adasent.estimators import neural

    fit = neural.fit_encoded

    def cut_short(estimators: Any, texts: Any, callbacks: Any = ()) -> None:
        fit(estimators, texts, callbacks)
        estimators[0].history_.interrupted = True

    monkeypatch.setattr(neural, "fit_encoded", cut_short)
    sweep = Sweep(CORPUS, tmp_path, SMALL | {"epochs": 1}, system="cbow")
    with pytest.raises(KeyboardInterrupt):
        list(sweep.run(2))
    assert sweep.trials() == {"training texts": []}


def test_a_training_that_diverges_is_a_failed_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = trials_module._dev_figure
    n_tried = []

    def diverge(*args: Any) -> float:
        n_tried.append(1)
        if len(n_tried) == 1:
            raise AdaSentError("training diverged in epoch 3")
        return float("nan") if len(n_tried) == 2 else find(*args)

    monkeypatch.setattr(trials_module, "_dev_figure", diverge)
    sweep = mnb(tmp_path)
    list(sweep.run(4))
    trials = sweep.trials()["training texts"]
    assert [one.state for one in trials] == ["failed", "failed", "complete", "complete"]
    assert trials[0].error == "training diverged in epoch 3"
    assert sweep.found()[0].trial.number in (2, 3)


def test_a_sweep_of_failures_alone_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def diverge(*_: Any) -> float:
        raise AdaSentError("training diverged in epoch 3")

    monkeypatch.setattr(trials_module, "_dev_figure", diverge)
    with pytest.raises(AdaSentError, match=r"no trial of training texts.*diverged in epoch 3"):
        list(mnb(tmp_path).run(2))


def test_a_setting_that_is_refused_ends_the_sweep(tmp_path: Path) -> None:
    small = {"vectors": None, "vector_size": 8, "epochs": 1}
    sweep = Sweep(CORPUS, tmp_path, small, {"n_maps": Choice((0, 5))}, system="cnn")
    with pytest.raises(ConfigError, match="n_maps must be"):
        list(sweep.run(3))


def test_the_record_says_what_a_cross_validation_with_these_settings_says(tmp_path: Path) -> None:
    small = {"vectors": None, "epochs": 1}
    sweep = Sweep(CORPUS, tmp_path, small, {"vector_size": Choice((8, 160))}, system="cbow")
    # With 160 dimensions other settings are left open to others: those of many dimensions.
    for found in ({"vector_size": 160}, {"vector_size": 8}, {"dropout": 0.1}):
        expected = prepare(CORPUS, sweep.settings | found, system="cbow").spec
        assert sweep._spec(found) == expected


def test_settings_that_json_does_not_know_are_named(tmp_path: Path) -> None:
    sweep = Sweep(CORPUS, tmp_path, {"tokenizer": str.split}, system="mnb")
    list(sweep.run(1))
    assert json.loads(sweep.best_file.read_text())["settings"]["tokenizer"] == tokenizer_name(
        str.split
    )


def test_texts_are_read_once_and_no_reading_piles_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    encode = NeuralClassifier.encode
    read: list[int] = []

    def counted(self: Any, *args: Any, **more: Any) -> Any:
        read.append(self.min_count)
        return encode(self, *args, **more)

    monkeypatch.setattr(NeuralClassifier, "encode", counted)
    small = {"vectors": None, "vector_size": 8, "epochs": 1}
    by_dropout = Sweep(CORPUS, tmp_path / "a", small, {"dropout": Range(0.0, 0.5)}, system="cbow")
    by_dropout.out.mkdir()
    list(by_dropout._run_trials(4, None, ThisProcess()))
    assert read == [1]
    texts = EncodedOnce(most=1)
    for min_count in (1, 2, 2, 1):
        made = make("cbow", **small, min_count=min_count)
        texts(CORPUS, made, (CORPUS.texts, CORPUS.labels), None)
        assert len(texts._kept) == 1
    assert read == [1, 1, 2, 1]


def test_time_is_shared_out_and_every_search_makes_one_trial(tmp_path: Path) -> None:
    sweep = mnb(tmp_path, n_folds=2)
    list(sweep.run(minutes=0))
    assert [len(trials) for trials in sweep.trials().values()] == [1, 1, 1]


def test_a_folder_is_of_one_sweep(tmp_path: Path) -> None:
    sweep = mnb(tmp_path / "s")
    list(sweep.run(1))
    with pytest.raises(ConfigError, match=r"holds another sweep \(other metric\)"):
        mnb(tmp_path / "s", metric="macro_f1")
    with pytest.raises(ConfigError, match=r"other system, settings, space"):
        Sweep(CORPUS, tmp_path / "s", system="nbsvm")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(ConfigError, match="holds something else than a sweep"):
        mnb(tmp_path / "other")
    sweep.trials_file.write_text('{"number": 1}\n')
    with pytest.raises(DataError, match=r"trials.jsonl, line 1: expected a trial"):
        read_trials(sweep.trials_file)


def test_nobody_else_writes_meanwhile(tmp_path: Path) -> None:
    import threading

    sweep = mnb(tmp_path / "s")
    running = sweep.run(2)
    next(running)
    refused = []

    def other() -> None:
        try:
            with hold(tmp_path / "s", patience=0):
                pass
        except FolderInUseError:
            refused.append(True)

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert refused == [True]
    running.close()  # type: ignore[attr-defined]


def test_lists_of_labels_and_an_official_part_in_folds_are_refused(tmp_path: Path) -> None:
    several = replace(CORPUS, labels=[(label,) for label in CORPUS.labels])
    with pytest.raises(DataError, match="a sweep takes one label a text"):
        Sweep(several, tmp_path, system="mnb")
    official = replace(CORPUS, test=np.arange(50, 60))
    with pytest.raises(ConfigError, match="official test part"):
        Sweep(official, tmp_path, system="mnb", config=SweepConfig(n_folds=3))


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"metric": "f1"}, "metric must be one of"),
        ({"n_folds": 1}, "2 or more"),
        ({"dev_fraction": 1.0}, "dev_fraction must be"),
    ],
)
def test_a_config_out_of_range(config: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SweepConfig(**config)


def test_missing_optuna_names_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'adasent\[sweep\]'"):
        mnb(tmp_path)


def test_what_mattered_is_what_the_figure_follows() -> None:
    space = {"alpha": Range(0.0, 1.0), "beta": Range(0.0, 1.0)}
    study = Study(space, "accuracy", 0)
    assert study.importances() == {}
    for number in range(20):
        settings = study.ask(number)
        study.tell(Trial("s", number, settings, "complete", settings["beta"]))
    shares = study.importances()
    assert shares["beta"] > 0.8
    assert sum(shares.values()) == pytest.approx(1)
    assert study.best is not None
    assert study.best.value == max(one.value for one in study.trials if one.value is not None)

"""The whole way: what a student learns, what nobody sees, and what a kill costs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import adasent
from adasent import AdaSentClassifier
from adasent.errors import ConfigError, DataError
from adasent.estimators.registry import make
from adasent.teaching import labels as labelling
from adasent.teaching.student import TeachingConfig
from adasent.teaching.teach import ExtraConfig, longest_of, teach
from adasent.vectors.words import WordVectors
from teaching_cases import SMALL, Rule, is_positive

Labelled = tuple[list[str], list[str]]
FEW = ExtraConfig(n_extra=20)


def small(**settings: Any) -> AdaSentClassifier:
    return AdaSentClassifier(**SMALL | settings)


def named(texts: list[str]) -> Labelled:
    return texts, ["pos" if is_positive(text) else "neg" for text in texts]


def test_a_student_learns_what_its_labels_cannot_tell(
    labelled: Labelled, negated: list[str], rule: Rule, tmp_path: Path
) -> None:
    held = named(negated[90:])
    alone = small().fit(*labelled)
    assert alone.score(*held) < 0.2  # nobody told it what "not" does
    # No labelled text can tell which epoch has learnt the rule: a part of all chooses it.
    settings = {"unlabelled": negated, "student": small(), "held_out": held, "dev_fraction": 0}
    taught = teach(*labelled, rule, **settings)
    report = taught.report
    assert report.student_accuracy == taught.student.score(*held) > 0.9
    assert report.teacher_accuracy == 1
    assert (report.n_labelled, report.n_dev, report.n_extra) == (60, 0, 90)
    assert (report.extra["held_back"], report.extra["kept"], report.n_asked) == (38, 90, 90)
    assert report.comparison is not None
    assert report.comparison.mcnemar.n_first == 0
    assert taught.teachers == [rule]
    taught.student.save(tmp_path / "m")
    loaded = adasent.load(tmp_path / "m")
    assert np.array_equal(loaded.predict_proba(held[0]), taught.student.predict_proba(held[0]))
    kept = json.loads((tmp_path / "m" / "training.json").read_text())["teaching"]
    assert kept["report"] == report.to_dict()
    assert kept["config"] == TeachingConfig().to_dict()


def test_nobody_sees_the_held_back_texts(labelled: Labelled, negated: list[str]) -> None:
    """But the comparison, at the end; whoever has their words in other letters is dropped too."""
    texts, labels = labelled

    class Watched(Rule):
        is_over = False

        def predict_proba(self, texts: Any) -> np.ndarray:
            before = list(self.asked)
            said = super().predict_proba(texts)
            self.asked = before if self.is_over else self.asked
            return said

    class End:
        def on_stage(self, name: str, total: int | None) -> None:
            rule.is_over = name == "comparing"

        def on_progress(self, n_done: int, n_asked: int) -> None:
            pass

    rule = Watched()
    shouted = [f"{text.upper()} ." for text in texts[:59]]
    taught = teach(
        texts, labels, rule, unlabelled=[*negated, *shouted], student=small(epochs=1),
        extra=FEW, observer=End(),
    )  # fmt: skip
    assert taught.report.n_held == 6
    asked = {text.lower().removesuffix(" .") for text in rule.asked}
    unseen = [text for text in texts if text not in asked]
    assert len(unseen) == 6
    assert taught.report.extra["held_back"] == len(set(unseen) & set(texts[:59])) > 0
    assert taught.report.extra["held_back"] + taught.report.extra["labelled"] == 59
    words = set(taught.student.vocabulary_.words)
    assert words <= {"<pad>", "<unk>", *" ".join(rule.asked).lower().split()}


def test_texts_are_made_where_none_are_given(labelled: Labelled, rule: Rule) -> None:
    taught = teach(*labelled, rule, student=small(epochs=1), extra=FEW, held_out=0)
    assert taught.report.n_extra == 20
    assert (taught.report.n_held, taught.report.comparison) == (0, None)
    known = set(labelled[0])
    made = [text for text in rule.asked if text not in known]
    assert len(set(made)) == 20


def test_of_a_surplus_the_surest_are_kept_in_balance(
    labelled: Labelled, negated: list[str]
) -> None:
    class Surer(Rule):
        def predict_proba(self, texts: Any) -> np.ndarray:
            said = super().predict_proba(texts)
            unsure = np.array(["plot" in text for text in texts])
            return np.where(unsure[:, None], 0.5, said)

    rule = Surer()
    extra = ExtraConfig(n_extra=30, surplus=4)
    settings = {"student": small(epochs=1), "extra": extra, "held_out": 0}
    taught = teach(*labelled, rule, unlabelled=negated, **settings)
    assert (taught.report.n_extra, taught.report.n_asked) == (30, 120)
    words = taught.student.vocabulary_.words
    assert "not" in words
    assert taught.student.training_["n_texts"] == taught.report.n_labelled + 30


def test_odd_texts(labelled: Labelled, rule: Rule) -> None:
    odd = ["", "  ", "\x00", "good", "a\x00b", "🎉", "word " * 2000, "\ud83d", "Ünï çødé"]
    settings = {"student": small(epochs=1), "held_out": 0, "extra": ExtraConfig(phrases=False)}
    taught = teach(*labelled, rule, unlabelled=odd, **settings)
    counts = taught.report.extra
    assert (counts["empty"], counts["long"], counts["kept"]) == (3, 1, 5)
    assert rule.asked[-5:] == ["good", "a b", "🎉", "\ufffd", "Ünï çødé"]


def test_one_class_of_texts_is_enough_for_no_harm(rule: Rule) -> None:
    with pytest.raises(DataError, match="the teacher's labels"):
        teach(["a good film"] * 3, ["pos"] * 3, rule, student=small(epochs=1))


def test_a_teacher_that_is_not_fitted_is(labelled: Labelled, negated: list[str]) -> None:
    model = make("mnb")
    taught = teach(*labelled, model, unlabelled=negated, student=small(epochs=1), extra=FEW)
    assert not hasattr(model, "classes_")
    assert taught.report.teacher_accuracy is not None
    assert taught.teachers[0].training_["n_texts"] == 54


def test_folds_and_several_teachers_vote(labelled: Labelled, negated: list[str]) -> None:
    taught = teach(
        *labelled, [make("mnb"), Rule()], folds=3, unlabelled=negated, student=small(epochs=1),
        extra=FEW,
    )  # fmt: skip
    folds, rule = taught.teachers
    assert len(folds.members) == 3
    assert {text for text in rule.asked if "not" in text.split()} > set()


def test_hard_labels_alone_ask_of_no_labelled_text(labelled: Labelled, rule: Rule) -> None:
    config = TeachingConfig(hard=1)
    teach(
        *labelled, rule, student=small(epochs=1), config=config, extra=ExtraConfig(n_extra=0),
        held_out=0,
    )  # fmt: skip
    assert rule.asked == []


def test_the_seed_decides(labelled: Labelled, rule: Rule) -> None:
    def made(seed: int) -> torch.Tensor:
        taught = teach(*labelled, rule, student=small(epochs=1), extra=FEW, seed=seed)
        return taught.student.model_.projection.weight

    assert torch.equal(made(1), made(1))
    assert not torch.equal(made(1), made(2))


def test_the_words_are_pruned_and_in_bytes(labelled: Labelled, negated: list[str]) -> None:
    vectors = WordVectors(["film", "good", "zebra"], np.eye(3, 20))
    taught = teach(
        *labelled,
        Rule(),
        unlabelled=negated,
        student=small(vectors=vectors, epochs=1, extra_words=9),
        n_words=12,
        size=5,
    )
    student = taught.student
    assert len(student.vocabulary_) == 2 + 12
    assert student.vocabulary_.n_training == 2
    assert student.model_.config.vector_size == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"held_out": 1.0}, "held_out must be"),
        ({"dev_fraction": -1}, "dev_fraction must be"),
        ({"folds": 0}, "folds must be"),
        ({"n_words": 0}, "n_words must be"),
        ({"extra": ExtraConfig(ways="spam")}, "unknown way"),
    ],
)
def test_refused(labelled: Labelled, rule: Rule, settings: Any, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        teach(*labelled, rule, **settings)


def test_choices_are_checked() -> None:
    with pytest.raises(ConfigError, match="choose must be one of near, first"):
        ExtraConfig(choose="best")


def test_longest() -> None:
    assert longest_of([3] * 99 + [1000]) <= 13
    assert longest_of([1]) == 1


# Teaches, and kills itself: while the teacher is at the second shard, or in the student's training.
CHILD = """
import os, signal, sys
from adasent import AdaSentClassifier
from adasent.estimators.registry import make
from adasent.teaching import labels
from adasent.teaching.teach import ExtraConfig, teach
from adasent.training import checkpoint
from teaching_cases import SMALL, Rule, sentences

labels.SHARD = 50
cache, moment = sys.argv[1:]

def die():
    os.kill(os.getpid(), signal.SIGKILL)

class Fatal(Rule):
    def predict_proba(self, texts):
        if moment == "labelling" and self.n_calls == 5:
            die()
        return super().predict_proba(texts)

n_written = 0

def write(self, state, write=checkpoint.Checkpoint.write):
    global n_written
    write(self, state)
    n_written += 1
    if moment == "training" and n_written == 2:
        die()

checkpoint.Checkpoint.write = write
teach(*LABELLED, Fatal(), unlabelled=sentences(negated=True), cache=cache,
      student=AdaSentClassifier(**SMALL | {"epochs": 4}))
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
@pytest.mark.parametrize("moment", ["labelling", "training"])
def test_after_a_kill_the_rest_is_done_and_nothing_twice(
    moment: str,
    labelled: Labelled,
    negated: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code = CHILD.replace("LABELLED", repr(labelled))
    monkeypatch.setattr(labelling, "SHARD", 50)
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "cache"), moment],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert child.returncode == -signal.SIGKILL, child.stderr
    student = small(epochs=4)
    whole = teach(*labelled, Rule(), unlabelled=negated, student=student)
    rule = Rule()
    went_on = teach(*labelled, rule, unlabelled=negated, student=student, cache=tmp_path / "cache")
    assert went_on.report.n_asked == (0 if moment == "training" else 128 - 100)
    for name, tensor in whole.student.model_.state_dict().items():
        assert torch.equal(tensor, went_on.student.model_.state_dict()[name]), name
    assert len(went_on.student.history_) == 4
    went_on.student.save(tmp_path / "m")
    assert not list((tmp_path / "cache").glob("*.safetensors"))  # the state of the training

"""Labels in shards: asked once, rounded the same, not believed when damaged, voted on."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from adasent.errors import AdaSentWarning, DataError
from adasent.teaching import labels
from adasent.teaching.labels import label
from adasent.teaching.teacher import Teacher
from teaching_cases import Rule, sentences

CLASSES = np.array(["neg", "pos"])
TEXTS = [*sentences(negated=True), "", "x " * 2000, "\ud83d", "a\x00b", "🎉"]


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "SHARD", 50)


def test_labels_come_in_the_order_of_the_texts(tmp_path: Path, rule: Rule) -> None:
    found = label(iter(TEXTS), [Teacher(rule, CLASSES)], folder=tmp_path, probes=TEXTS)
    expected = Rule().predict_proba(TEXTS)
    assert found.probabilities == pytest.approx(expected, abs=1e-3)
    assert found.probabilities.dtype == np.float32
    assert found.probabilities.sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert found.n_asked == len(TEXTS) == len(rule.asked) - len(TEXTS)  # the probes
    assert len(list(tmp_path.glob("*/*.safetensors"))) == 3
    assert not list(tmp_path.glob("*/*.part"))


def test_finished_shards_are_not_asked_again(tmp_path: Path, rule: Rule) -> None:
    teacher, probes = Teacher(rule, CLASSES), ["a film is good"]
    first = label(TEXTS, [teacher], folder=tmp_path, probes=probes)
    rule.asked.clear()
    seen: list[tuple[int, int]] = []
    again = label(
        TEXTS, [teacher], folder=tmp_path, probes=probes, progress=lambda *done: seen.append(done)
    )
    assert rule.asked == []
    assert seen == [(50, 0), (100, 0), (len(TEXTS), 0)]
    assert again.n_asked == 0
    assert np.array_equal(first.probabilities, again.probabilities)
    without = label(TEXTS, [teacher])  # rounded as what was kept
    assert np.array_equal(first.probabilities, without.probabilities)
    rule.asked.clear()
    again = label(
        [*TEXTS[:100], "another"], [Teacher(rule, CLASSES)], folder=tmp_path, probes=probes
    )
    assert again.n_asked == 1
    assert rule.asked == [*probes, "another"]


@pytest.mark.parametrize("damage", ["cut", "empty", "other", "shape"])
def test_a_damaged_shard_is_asked_again(tmp_path: Path, rule: Rule, damage: str) -> None:
    teacher = Teacher(rule, CLASSES)
    first = label(TEXTS[:60], [teacher], folder=tmp_path, probes=["x"])
    paths = sorted(tmp_path.glob("*/*.safetensors"), key=lambda path: path.stat().st_size)
    body = paths[1].read_bytes()
    bodies = {"cut": body[:-3], "empty": b"", "other": body[:-8] + b"\xff" * 8}
    paths[1].write_bytes(bodies.get(damage, paths[0].read_bytes()))
    again = label(TEXTS[:60], [teacher], folder=tmp_path, probes=["x"])
    assert again.n_asked == 50
    assert np.array_equal(first.probabilities, again.probabilities)


def test_another_teacher_is_asked_itself(tmp_path: Path) -> None:
    probes = ["a film is good"]
    label(TEXTS, [Teacher(Rule(0.9), CLASSES)], folder=tmp_path, probes=probes)
    other = Rule(0.8)
    found = label(TEXTS, [Teacher(other, CLASSES)], folder=tmp_path, probes=probes)
    assert found.n_asked == len(TEXTS)
    assert found.probabilities.max() == pytest.approx(0.8, abs=1e-3)


def test_teachers_vote(tmp_path: Path) -> None:
    teachers = [Teacher(Rule(certainty), CLASSES) for certainty in (0.9, 0.6, 0.3)]
    found = label(TEXTS[:3], teachers, folder=tmp_path, probes=TEXTS)
    assert found.probabilities.max(axis=1) == pytest.approx(0.6, abs=1e-3)


def test_no_texts_and_no_teachers(rule: Rule) -> None:
    assert label([], [Teacher(rule, CLASSES)]).probabilities.shape == (0, 2)
    with pytest.raises(DataError, match="at least one teacher"):
        label(TEXTS, [])


class Grumbling(Rule):
    def predict_proba(self, texts: Sequence[str]) -> np.ndarray:
        warnings.warn(f"of {len(texts)} texts: 1 odd", AdaSentWarning, stacklevel=2)
        return super().predict_proba(texts)


def test_warnings_of_shards_are_one() -> None:
    with pytest.warns(AdaSentWarning, match="warned 3 times; first: of 50 texts: 1 odd") as caught:
        label(TEXTS, [Teacher(Grumbling(), CLASSES)])
    assert len(caught) == 1


# Labels three shards and kills itself while the teacher is at the third.
CHILD = """
import os, signal, sys
import numpy as np
from adasent.teaching import labels
from adasent.teaching.teacher import Teacher
from teaching_cases import Rule, sentences

labels.SHARD = 50

class Fatal(Rule):
    def predict_proba(self, texts):
        if self.n_calls == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().predict_proba(texts)

texts = sentences(negated=True)
labels.label(texts, [Teacher(Fatal(), np.array(["neg", "pos"]))], folder=sys.argv[1], probes=["x"])
"""


@pytest.mark.skipif(os.name == "nt", reason="needs SIGKILL")
def test_a_kill_loses_one_shard(tmp_path: Path, rule: Rule) -> None:
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": path},
        check=False,
    )
    assert child.returncode == -signal.SIGKILL
    texts = sentences(negated=True)
    found = label(texts, [Teacher(rule, CLASSES)], folder=tmp_path, probes=["x"])
    assert rule.asked == ["x", *texts[100:]]
    assert found.n_asked == len(texts) - 100

"""The whole way: labelled texts, a teacher, any text -> a small model, compared with its teacher.

Held-back texts are set aside before anything else. Neither teacher nor student, vocabulary nor the
choice of sentences sees them: they are asked about once, at the end.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone

from adasent.checks import JsonConfig, check_choice, check_optional, check_range
from adasent.data.corpus import take
from adasent.estimators.thresholds import HALF
from adasent.evaluation.significance import Comparison, compare
from adasent.teaching.augment import augment, cut_phrases
from adasent.teaching.compact import compact
from adasent.teaching.kinds import (
    all_known,
    are_several,
    check_labelled,
    classes_of,
    micro_f1,
    set_aside,
    targets_of,
)
from adasent.teaching.labels import label
from adasent.teaching.select import highest, in_balance, nearness
from adasent.teaching.sentences import Sieve, split_long
from adasent.teaching.student import TeachingConfig, fit_student
from adasent.teaching.teacher import FoldTeacher, Teacher, fit_folds, fit_or_load, is_fitted
from adasent.teaching.vectors import WordReader, word_settings
from adasent.text.tokenize import Tokenizer, get_tokenizer, run_tokenizer
from adasent.vectors.words import WordVectors

#: Texts of fewer words on average are phrases, and of sentences only phrases are taken.
PHRASE_WORDS = 6.0
#: Tries to make one more text that is not there yet, for each that is wanted.
_TRIES = 5
#: Settings of a teacher that do not change what it becomes.
_NO_MATTER = ("checkpoint", "verbose", "keep_examples")


@dataclass(frozen=True)
class ExtraConfig(JsonConfig):
    """Which texts the teacher labels beside the labelled ones.

    Attributes
    ----------
    n_extra
        So many, at most.
    choose
        ``near``: of all sentences that were read, those most like the training texts; ``first``:
        in the order of the files.
    surplus
        So many times as many texts are labelled, and those are kept that the teacher is surest of,
        of each class as large a share as among the labelled texts. 1 keeps all.
    n_read
        Sentences that are read to choose from, at most.
    ways
        How texts are made of the training texts where no others are given; see
        :data:`adasent.teaching.augment.WAYS`. Several with commas between.
    phrases
        Whether to take a phrase of a sentence that is longer than nearly all training texts, which
        else is left out. None does where the training texts are phrases: of fewer than six words
        on average.
    """

    n_extra: int = 20_000
    choose: str = "near"
    surplus: float = 1.0
    n_read: int = 1_000_000
    ways: str = "span,join"
    phrases: bool | None = None

    def __post_init__(self) -> None:
        check_range("n_extra", self.n_extra, 0, whole=True)
        check_range("surplus", self.surplus, 1, 1000)
        check_range("n_read", self.n_read, 1, whole=True)
        check_choice("choose", self.choose, ("near", "first"))

    @property
    def n_labelled(self) -> int:
        """Texts that the teacher is to label."""
        return round(self.surplus * self.n_extra)


class Observer(Protocol):
    """Sees how the work goes on, and changes nothing."""

    def on_stage(self, name: str, total: int | None) -> None:
        """A stage begins: ``reading``, ``teacher``, ``labelling``, ``student`` or ``comparing``."""

    def on_progress(self, n_done: int, n_asked: int) -> None:
        """Texts of the stage that are done; ``n_asked`` of them were not known before."""


class _Nobody:
    def on_stage(self, name: str, total: int | None) -> None:
        pass

    def on_progress(self, n_done: int, n_asked: int) -> None:
        pass


@dataclass(frozen=True)
class Report:
    """What was used, and how good teacher and student are on the held-back texts."""

    n_labelled: int  # texts that the student learnt from, with the label they came with
    n_dev: int  # that chose the epoch
    n_extra: int  # that only the teacher labelled
    n_asked: int  # of these, that it had not labelled before
    extra: dict[str, int]  # what became of the sentences that were read: :class:`Counts`
    n_held: int
    # None without held-back texts. Where a text may have several labels, a text is right that has
    # all of them and no other.
    teacher_accuracy: float | None
    student_accuracy: float | None
    comparison: Comparison | None  # of the student with the teacher, on the same texts
    teacher_micro_f1: float | None = None  # where a text may have several labels
    student_micro_f1: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return asdict(self)


@dataclass(frozen=True)
class Taught:
    """A fitted student and what there is to say of it."""

    student: Any
    teachers: list[Any]
    report: Report


@dataclass(frozen=True)
class _Part:
    """Some of the labelled texts."""

    texts: list[str]
    labels: list[Any]

    def __len__(self) -> int:
        return len(self.texts)

    def take(self, rows: np.ndarray) -> _Part:
        return _Part(take(self.texts, rows), take(self.labels, rows))


def teach(
    texts: Any,
    labels: Any,
    teacher: Any,
    *,
    unlabelled: Iterable[str] | None = None,
    student: Any = None,
    held_out: float | tuple[Any, Any] = 0.1,
    dev_fraction: float = 0.1,
    folds: int = 1,
    config: TeachingConfig | None = None,
    extra: ExtraConfig | None = None,
    n_words: int | None = 30_000,
    size: int | None = 256,
    read_words: WordReader | None = None,
    cache: str | os.PathLike[str] | None = None,
    seed: int = 0,
    observer: Observer | None = None,
) -> Taught:
    """Train a small model on labelled texts and on what a large one says of these and others.

    Parameters
    ----------
    texts, labels
        As for ``fit``: one label a text, or a list of labels of each.
    teacher
        Anything with ``predict_proba`` over texts, or several, which vote. One with ``fit`` that is
        not fitted yet is fitted. One that is must not have seen the held-back texts, or the
        comparison flatters it, and the student.
    unlabelled
        Texts for the teacher to label, such as :func:`adasent.teaching.sentences.read_texts` gives;
        read once, one at a time. Those that are longer than the training texts are taken apart
        into sentences. None: texts are made of the training texts, see :class:`ExtraConfig`.
    student
        Not fitted; any of our networks. None is ``AdaSentClassifier``.
    held_out
        Share of the texts to compare on, equal texts on one side; or texts and labels. 0 compares
        nothing.
    dev_fraction
        Share of the others that chooses the student's epoch, by the labels they came with; the
        teacher sees them if it is fitted here. 0: a part of all that the student has, the texts
        that the teacher has labelled among them.
    folds
        A teacher that is fitted here is fitted so many times, each time without a part of the
        texts, and labels the texts of that part; on all others the fits vote. 1 fits it once.
    n_words
        Words that the student keeps, in a byte a number; see :mod:`adasent.teaching.compact`. None
        leaves it as it was trained.
    size
        Dimensions of the student's word vectors at most: principal components of the sets that it
        names. With 30,000 words, 256 make a model of less than 10 MB. None leaves them as they are.
    read_words
        A model that gives each word of a text a vector; its mean vectors over all texts are put
        beside those that the student names. See :mod:`adasent.teaching.vectors`.
    cache
        Folder for labels, fitted teachers and the state of the student's training: called again
        with the same arguments after a kill, this goes on where it was. It is the caller's to
        delete.
    seed
        Of everything random but what student and teacher have seeds of their own for.
    """
    config, extra = config or TeachingConfig(), extra or ExtraConfig()
    observer = observer or _Nobody()
    check_range("dev_fraction", dev_fraction, 0, 0.9)
    check_range("folds", folds, 1, whole=True)
    check_optional("n_words", n_words, 1)
    if student is None:
        from adasent.estimators.adasent import AdaSentClassifier

        student = AdaSentClassifier(random_state=seed)
    place = None if cache is None else Path(cache)
    if place is not None and student.get_params(deep=False).get("checkpoint", "") is None:
        student = clone(student).set_params(checkpoint=place)
    tokenizer = get_tokenizer(student.tokenizer)

    known, held = _parts(texts, labels, held_out, seed)
    classes, several = classes_of(known.labels), are_several(known.labels)
    learn_rows, dev_rows = set_aside(known.labels, dev_fraction, seed + 1, known.texts)
    learn, dev = known.take(learn_rows), known.take(dev_rows)

    observer.on_stage("reading", None)
    sieve = Sieve(tokenizer, held_back=held.texts, labelled=known.texts)
    more = _extra_texts(unlabelled, learn.texts, sieve, extra, tokenizer, seed, observer)

    observer.on_stage("teacher", None)
    models = _fitted(teacher, known, folds, seed, place)
    teachers = [Teacher(model, classes, several=several) for model in models]

    observer.on_stage("labelling", len(more))
    store = None if place is None else place / "labels"
    said = np.zeros((len(known), len(classes)), dtype=np.float32)
    if config.hard < 1:
        pairs = zip(models, teachers, strict=True)
        said = np.mean([_of_known(*pair, known.texts, store) for pair in pairs], axis=0)
    found = label(more, teachers, probes=known.texts, folder=store, progress=observer.on_progress)

    more, said_of_more = _surest(more, found.probabilities, extra.n_extra, learn, classes)

    observer.on_stage("student", None)
    words = word_settings(student, learn.texts, more, n_words=n_words, size=size, read=read_words)
    fitted = fit_student(
        clone(student).set_params(**words),
        learn.texts,
        learn.labels,
        said[learn_rows],
        more,
        said_of_more,
        classes=classes,
        validation=(dev.texts, dev.labels) if len(dev) else None,
        config=config,
    )
    if n_words is not None:
        own_words = {token for text in learn.texts for token in run_tokenizer(tokenizer, text)}
        compact(fitted, n_words, keep=own_words)

    observer.on_stage("comparing", len(held))
    held_figures = _compare(Teacher(fitted, classes, several=several), teachers, held)
    report = Report(
        n_labelled=len(learn),
        n_dev=len(dev),
        n_extra=len(more),
        n_asked=found.n_asked,
        extra=sieve.counts.to_dict(),
        n_held=len(held),
        **held_figures,
    )
    fitted.training_["teaching"] = {
        "config": config.to_dict(),
        "extra": extra.to_dict(),
        "folds": folds,
        "report": report.to_dict(),
    }
    return Taught(fitted, models, report)


def _parts(texts: Any, labels: Any, held_out: Any, seed: int) -> tuple[_Part, _Part]:
    """What may be learnt from, and what is held back."""
    everything = _Part(*check_labelled(texts, labels))
    if not isinstance(held_out, tuple):
        check_range("held_out", held_out, 0, 0.9)
        rest, aside = set_aside(everything.labels, held_out, seed, everything.texts)
        return everything.take(rest), everything.take(aside)
    return everything, _Part(*check_labelled(*held_out))


def _extra_texts(
    unlabelled: Iterable[str] | None,
    texts: list[str],
    sieve: Sieve,
    config: ExtraConfig,
    tokenizer: Tokenizer,
    seed: int,
    observer: Observer,
) -> list[str]:
    """Texts for the teacher to label; the seed decides which phrases are cut and texts made."""
    if not config.n_labelled:
        return []
    if unlabelled is None:
        made = augment(texts, config.ways.split(","), seed=seed)
        return list(islice(sieve(islice(made, _TRIES * config.n_labelled)), config.n_labelled))
    lengths = [len(run_tokenizer(tokenizer, text)) for text in texts]
    longest = longest_of(lengths)
    stream = split_long(unlabelled, tokenizer=tokenizer, max_words=longest)
    phrases = config.phrases
    if phrases is None:
        phrases = float(np.mean(lengths)) < PHRASE_WORDS
    if phrases:
        stream = cut_phrases(stream, texts, longest=longest, seed=seed)
    else:
        sieve.max_words = longest
    n_read = config.n_labelled if config.choose == "first" else config.n_read
    pool = []
    for sentence in islice(sieve(stream), n_read):
        pool.append(sentence)
        if len(pool) % 10_000 == 0:
            observer.on_progress(len(pool), 0)
    if len(pool) <= config.n_labelled:
        return pool
    scores = nearness(pool, texts, tokenizer=tokenizer)
    return [pool[i] for i in highest(scores, config.n_labelled).tolist()]


def longest_of(lengths: Sequence[int]) -> int:
    """Words that a sentence may have beside texts of these lengths: nearly all of them have fewer.

    A hundredth of texts that are far longer than the others must not open the door to paragraphs.
    """
    return max(1, math.ceil(float(np.quantile(np.asarray(lengths), 0.99))))


def _fitted(teacher: Any, known: _Part, folds: int, seed: int, place: Path | None) -> list[Any]:
    """The teachers as fitted models; those that are not are fitted on the known texts."""
    fitted = []
    for model in teacher if isinstance(teacher, list | tuple) else [teacher]:
        if is_fitted(model):
            fitted.append(model)
            continue
        folder = None if place is None else place / f"teacher-{_digest(model, known, folds, seed)}"
        if folds > 1:
            fitted.append(
                fit_folds(model, known.texts, known.labels, n_folds=folds, seed=seed, folder=folder)
            )
        else:
            fitted.append(fit_or_load(model, known.texts, known.labels, folder=folder))
    return fitted


def _of_known(model: Any, teacher: Teacher, texts: list[str], store: Path | None) -> np.ndarray:
    """What a teacher says of the labelled texts: where it can, without having seen them."""
    if isinstance(model, FoldTeacher) and len(model.training_proba_) == len(texts):
        return model.training_proba_
    return label(texts, [teacher], probes=texts, folder=store).probabilities


def _surest(
    texts: list[str], said: np.ndarray, n: int, learn: _Part, classes: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """Of a surplus of texts those that the teacher is surest of, in the balance of the classes."""
    if len(texts) <= n:
        return texts, said
    if are_several(learn.labels):  # no text belongs to one class
        rows = highest(np.abs(said - HALF).mean(axis=1), n)
        return take(texts, rows), said[rows]
    numbers = np.searchsorted(classes, np.asarray(learn.labels))
    rows = in_balance(said, np.bincount(numbers, minlength=len(classes)), n)
    return take(texts, rows), said[rows]


def _compare(student: Teacher, teachers: list[Teacher], held: _Part) -> dict[str, Any]:
    """How good the student and the vote are on the held-back texts, and the paired tests."""
    names = ("student", "teacher")
    if not len(held):
        return dict.fromkeys([f"{name}_accuracy" for name in names]) | {"comparison": None}
    classes = student.classes_
    truth, known = targets_of(held.labels, classes), all_known(held.labels, classes)
    right, figures = [], {}
    for name, voters in zip(names, ([student], teachers), strict=True):
        said = np.mean([one.predict_proba(held.texts) for one in voters], axis=0)
        if student.several:
            answers = said >= np.mean([one.thresholds for one in voters], axis=0)
            n_labels = sum(map(len, held.labels))
            figures[f"{name}_micro_f1"] = micro_f1(answers, truth, n_labels)
        else:
            answers = np.eye(len(classes), dtype=bool)[said.argmax(axis=1)]
        right.append((answers == (truth > 0)).all(axis=1) & known)
        figures[f"{name}_accuracy"] = float(right[-1].mean())
    return figures | {"comparison": compare(*right)}


def _digest(model: Any, known: _Part, folds: int, seed: int) -> str:
    """Names the fit of a model: its settings, what it is fitted on, and how."""
    digest = hashlib.sha256()
    settings = {k: v for k, v in model.get_params(deep=False).items() if k not in _NO_MATTER}
    for source in _vectors(settings.pop("vectors", None)):
        named = not isinstance(source, WordVectors)
        digest.update(repr(source).encode() if named else source.matrix.tobytes())
    said = [type(model).__name__, settings, known.texts, known.labels, folds, seed]
    digest.update(json.dumps(said, default=repr).encode())
    return digest.hexdigest()[:16]


def _vectors(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]

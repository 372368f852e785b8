"""Lessons of planned runs: made when a teacher's model has been tested, given to its students.

The folder has ``texts`` (:mod:`reproduction.texts`), ``encoder`` (:mod:`reproduction.encoder`),
``vectors`` of students as files of their words and numbers, and ``lessons``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from adasent.data.corpus import Indices, take
from adasent.encoders.folder import EncoderFolder
from adasent.encoders.transformer import TransformerEncoder
from adasent.errors import DataError
from adasent.teaching.vectors import contextual_vectors, side_by_side
from adasent.text.passage import read_passages
from adasent.text.tokenize import get_tokenizer
from adasent.vectors.words import WordVectors, frequent_words
from reproduction.jobs import STUDENT_SIZE
from reproduction.lessons import Lesson, Reader, lesson_file, read_lesson, write_lesson
from reproduction.specs import PlannedRun
from reproduction.students import make_student
from reproduction.texts import Texts
from reproduction.trimmed import read_trimmed, write_trimmed

if TYPE_CHECKING:
    from reproduction.jobs import Jobs

#: Words that students have vectors of: the most frequent of the protocol's files.
N_FREQUENT = 100_000
#: Words that get mean vectors of the encoder.
N_READ = 40_000
READ = "read"


class Lessons:
    """Lessons below a folder."""

    def __init__(self, jobs: Jobs, folder: Path) -> None:
        self.jobs, self.folder = jobs, folder
        self.tokenizer = get_tokenizer(jobs.plan.protocol.tokenizer)
        self.texts = Texts(folder / "texts")
        self.read = cache(self._read)
        self._reader = Reader(self.tokenizer)

    def write(self, run: PlannedRun, train: Indices, clf: Any) -> None:
        """Ask the teacher that a run has made; its dev and test part are not asked about."""
        texts = self._texts(run, train)
        known = take(self.jobs.corpus(run.data).texts, train)
        said = {
            kind: self._reader.probabilities(clf, part, None if kind == "made" else kind)
            for kind, part in texts.items()
        }
        write_lesson(self._file(run), self._reader.probabilities(clf, known), said)

    def student(self, run: PlannedRun, **settings: Any) -> Any:
        """An estimator that learns from the lesson of a run's teacher."""
        registered = self.jobs.plan.row(run).registered
        return make_student(registered, self.read(run), self.vectors, **settings)

    def _read(self, run: PlannedRun) -> Lesson:
        teacher = self.jobs.teacher(run)
        train = teacher.train
        classes = np.unique(np.asarray(teacher.corpus.labels)).tolist()
        texts = self._texts(run, train)
        return read_lesson(self._file(run, teacher.key), classes, len(train), texts)

    def _file(self, run: PlannedRun, key: str | None = None) -> Path:
        sizes = self.jobs.plan.texts[run.data]
        return lesson_file(self.folder / "lessons", key or self.jobs.job(run).key, sizes)

    def _texts(self, run: PlannedRun, train: Indices) -> dict[str, list[str]]:
        corpus = self.jobs.corpus(run.data)
        sizes, known = self.jobs.plan.texts[run.data], take(corpus.texts, train)
        return self.texts.of_fold(sizes, known, corpus.texts, self.tokenizer, run.seed)

    # -- vectors -------------------------------------------------------------------------------

    @cached_property
    def vectors(self) -> dict[str, WordVectors]:
        """Those of students, by the setting ``words``; ``both`` where the encoder's are there."""
        folder = self.folder / "vectors"
        if not (folder / "static.npy").is_file():
            write_trimmed(folder, "static", self.static(), None)
        found = {"static": read_trimmed(folder, "static")}
        if (folder / f"{READ}.npy").is_file():
            own = read_trimmed(folder, READ)
            words = list(dict.fromkeys([*own.words, *found["static"].words]))
            found["both"] = side_by_side([found["static"], own], words, STUDENT_SIZE)
        return found

    def static(self) -> WordVectors:
        """Principal components of the protocol's vectors, of their most frequent words."""
        sources = [self.jobs.source(name) for name in self.jobs.plan.protocol.vectors]
        return side_by_side(sources, frequent_words(sources, N_FREQUENT), STUDENT_SIZE)

    def read_words(self, encoder: str, n_texts: int, device: str) -> None:
        """Write the encoder's mean vectors of words over texts without labels.

        The encoder is as it was before any of our sets; so all folds share these vectors.
        """
        texts = [text for kind in ("film", "wiki") for text in self.texts.read(kind)[:n_texts]]
        folder = self.jobs.encoder(encoder)
        opened = TransformerEncoder.open(EncoderFolder(encoder, folder), str.split, 2000)
        opened.place(device)
        read = word_reader(opened)
        found = contextual_vectors(texts, read, tokenizer=self.tokenizer, n_words=N_READ)
        write_trimmed(self.folder / "vectors", READ, found, None, small=True)


def word_reader(encoder: TransformerEncoder) -> Callable[[list[list[str]]], list[np.ndarray]]:
    """Tokens of texts -> the encoder's vectors of each."""

    def read(tokens: list[list[str]]) -> list[np.ndarray]:
        passages = read_passages([" ".join(row) for row in tokens], str.split, 2000)
        vectors = encoder.features(list(encoder.reader(passages)))
        stops = np.cumsum([len(one) for one in passages])
        found = np.split(vectors, stops[:-1])
        if [len(part) for part in found] != [len(row) for row in tokens]:
            raise DataError("expected a vector for each word; a word has white space in it")
        return found

    return read

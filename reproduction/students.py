"""A student as an estimator: a network of ours that learns from labels and from a lesson.

It is what ``adasent teach`` trains, in the runner's hands: ``encode`` puts the lesson beside the
labelled texts, so that students of many folds and settings are trained as one stack; when training
ends, its words are cut to as many as a small model keeps, in a byte a number.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from adasent.checks import JsonConfig, check_choice, check_optional, check_range
from adasent.errors import ConfigError, nearest
from adasent.estimators import registry
from adasent.estimators.encoding import TableWords
from adasent.teaching.compact import compact
from adasent.teaching.select import highest, in_balance, nearness
from adasent.teaching.student import TeachingConfig, material, rhythm
from adasent.teaching.vectors import word_settings
from adasent.text.tokenize import get_tokenizer, run_tokenizer
from adasent.vectors.words import WordVectors
from reproduction.lessons import Lesson

#: Words that a student keeps.
N_WORDS = 30_000


@dataclass(frozen=True)
class Choice(JsonConfig):
    """Which texts of a lesson a student reads.

    Attributes
    ----------
    kinds
        Names of kinds with commas between; None takes all.
    n_extra
        So many, at most; None takes all.
    choose
        Which: ``first`` of each kind, in equal shares of what there is, or those ``near`` to the
        training texts.
    surplus
        Of so many times as many those that the teacher is surest of, in the classes' balance.
    words
        Its vectors: ``static``, or ``both`` with the encoder's mean vectors of words.
    """

    kinds: str | None = None
    n_extra: int | None = None
    choose: str = "first"
    surplus: float = 1.0
    words: str = "static"

    def __post_init__(self) -> None:
        check_optional("n_extra", self.n_extra, 0)
        check_choice("choose", self.choose, ("first", "near"))
        check_choice("words", self.words, ("static", "both"))
        check_range("surplus", self.surplus, 1, 1000)

    def take(
        self, lesson: Lesson, texts: list[str], labels: list[Any], tokenizer: Any
    ) -> tuple[list[str], np.ndarray]:
        """Texts of the lesson and what was said of them."""
        kinds = list(lesson.texts) if self.kinds is None else self.kinds.split(",")
        for kind in kinds:
            if kind not in lesson.texts:
                raise ConfigError(f"the lesson has no {kind!r}{nearest(kind, lesson.texts)}")
        parts = {kind: (lesson.texts[kind], lesson.said[kind]) for kind in kinds}
        n_all = sum(len(part) for part, _ in parts.values())
        n_extra = n_all if self.n_extra is None else self.n_extra
        n_first = min(n_all, round(self.surplus * n_extra))
        if self.choose == "first":
            share = n_first / max(1, n_all)
            parts = {
                kind: (part[: round(share * len(part))], rows[: round(share * len(part))])
                for kind, (part, rows) in parts.items()
            }
        more = [text for part, _ in parts.values() for text in part]
        width = len(lesson.classes)
        said = np.concatenate([rows for _, rows in parts.values()] or [np.empty((0, width))])
        if self.choose == "near" and len(more) > n_first:
            rows = highest(nearness(more, texts, tokenizer=tokenizer), n_first)
            more, said = [more[i] for i in rows.tolist()], said[rows]
        if len(more) > n_extra:
            numbers = np.searchsorted(lesson.classes, np.asarray(labels))
            rows = in_balance(said, np.bincount(numbers, minlength=width), n_extra)
            more, said = [more[i] for i in rows.tolist()], said[rows]
        return more, said


_CHOICE = [one.name for one in fields(Choice)]
_TEACHING = [one.name for one in fields(TeachingConfig)]


def teaching_defaults() -> dict[str, Any]:
    """What a record of a student says beside the defaults of its network."""
    return {"n_words": N_WORDS, **Choice().to_dict(), **TeachingConfig().to_dict()}


class _Student:
    """Mixed into the estimator of a network."""

    lesson: Lesson
    choice: Choice
    config: TeachingConfig
    _counts: tuple[int, int] | None = None  # labelled texts and others
    _rarest: int = 1  # how often a word must come to be trained

    def encode(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        validation: tuple[Any, Any] | None = None,
        classes: Any = None,
    ) -> Any:
        """The labelled texts and those of the lesson, as numbers."""
        this: Any = self
        tokenizer = get_tokenizer(this.tokenizer)
        more, said = self.choice.take(self.lesson, X, y, tokenizer)
        found = word_settings(self, X, more, n_words=N_WORDS, size=None)
        self._rarest = found.get("min_count", 1)
        epochs = this.epochs
        every, targets, weights = material(
            X, y, self.lesson.known, more, said,
            classes=self.lesson.classes, epochs=epochs, config=self.config,
        )  # fmt: skip
        encoded = super().encode(  # type: ignore[misc]
            every, targets, weights, validation, self.lesson.classes.tolist()
        )
        own = {token for text in X for token in run_tokenizer(tokenizer, text)}
        # Passages of a hundred thousand texts are memory that a table of words has no use for.
        training = replace(encoded.training, passages=None)
        notes = Notes(encoded.source, (len(X), len(more)), own)
        return encoded._replace(training=training, source=notes)

    def reading_settings(self) -> dict[str, Any]:
        """What ``encode`` depends on."""
        own = json.dumps([self.choice.to_dict(), self.config.to_dict()])
        found: dict[str, Any] = super().reading_settings()  # type: ignore[misc]
        return found | {"lesson": self.lesson, "teaching": own}

    def _source(self) -> TableWords:
        this: Any = self
        return TableWords(this.vectors, this.vector_size, this.extra_words, self._rarest)

    def _build(self, encoded: Any) -> Any:
        """Its epochs are parts of a pass over all texts."""
        run = super()._build(encoded)  # type: ignore[misc]
        n_labelled, n_extra = encoded.source.counts
        _, size = rhythm(n_labelled, n_extra, run.config.epochs, self.config)
        return replace(run, config=replace(run.config, epoch_size=size))

    def _finish(self, run: Any, encoded: Any, history: Any, device: Any) -> None:
        super()._finish(run, encoded, history, device)  # type: ignore[misc]
        compact(self, N_WORDS, keep=encoded.source.own_words)


class Notes:
    """The word source of a student's texts, and what its training must know of them."""

    def __init__(self, source: Any, counts: tuple[int, int], own_words: set[str]) -> None:
        self.source, self.counts, self.own_words = source, counts, own_words

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)


def make_student(
    system: str, lesson: Lesson, vectors: Mapping[str, WordVectors], **settings: Any
) -> Any:
    """An estimator of a network that learns from a lesson.

    Parameters
    ----------
    vectors
        Those of the words, by the setting ``words`` of :class:`Choice`.
    settings
        Of the estimator, of :class:`Choice` and of :class:`TeachingConfig`.
    """
    choice = Choice(**{k: settings.pop(k) for k in _CHOICE if k in settings})
    config = TeachingConfig(**{k: settings.pop(k) for k in _TEACHING if k in settings})
    kind = type("Student", (_Student, registry.find(system)), {})
    made = kind(**settings, vectors=vectors[choice.words])
    made.lesson, made.choice, made.config = lesson, choice, config
    return made

"""Labels of people and of a teacher -> targets, weights and epochs; a fitted student.

Cross-entropy is linear in its target, so that a mixture of losses against hard and soft labels is
the loss against the mixture of both: all of teaching is in the matrix that ``fit`` gets, and the
loss on each level of AdaSent has the same targets.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from adasent.checks import JsonConfig, check_optional, check_range
from adasent.errors import ConfigError
from adasent.teaching.kinds import are_several, targets_of

#: Probabilities below this are raised to it before a temperature is applied: half precision has
#: rounded them to zero or near it.
_LEAST = 1e-7


@dataclass(frozen=True)
class TeachingConfig(JsonConfig):
    """How a student learns from labels and from a teacher.

    Attributes
    ----------
    temperature
        Above 1 makes the teacher's probabilities more even, below 1 more certain. It is applied to
        the teacher alone: what AdaSent says is a mixture of probabilities, not a softmax that could
        be heated too.
    hard
        Share of the given label in the target of a labelled text; the rest is the teacher's.
    extra_weight
        Weight in the loss of a text that only the teacher has labelled; a labelled one has 1.
    passes
        How often the student reads a text that only the teacher has labelled, at least.
    repeat
        How often a labelled text comes for each time that one of the others does. None is so often
        that it is read once an epoch, as without a teacher (:func:`rhythm`): a few thousand labels
        are not to drown among a hundred thousand guesses.
    """

    temperature: float = 1.0
    hard: float = 0.5
    extra_weight: float = 1.0
    passes: float = 3.0
    repeat: int | None = None

    def __post_init__(self) -> None:
        check_range("temperature", self.temperature, 0.05, 100)
        check_range("hard", self.hard, 0, 1)
        check_range("extra_weight", self.extra_weight, 0, 1000)
        check_range("passes", self.passes, 0.01, 1000)
        check_optional("repeat", self.repeat, 1)


def soften(probabilities: np.ndarray, temperature: float, *, several: bool = False) -> np.ndarray:
    """(N, C) probabilities to the power of 1 / temperature, so that rows sum to 1.

    Where a text may have several labels, each class by itself: it and what speaks against it.
    """
    if temperature == 1:
        return probabilities
    if several:
        pairs = np.stack([probabilities, 1 - probabilities], axis=-1)
        return soften(pairs.reshape(-1, 2), temperature)[:, 0].reshape(probabilities.shape)
    logs = np.log(np.maximum(probabilities, _LEAST)) / temperature
    raised = np.exp(logs - logs.max(axis=1, keepdims=True))
    softened: np.ndarray = raised / raised.sum(axis=1, keepdims=True)
    return softened


def mix(given: np.ndarray, said: np.ndarray, hard: float) -> np.ndarray:
    """(N, C) targets: ``hard`` of what was given (N, C), the rest of what the teacher said."""
    mixed: np.ndarray = hard * given.astype(said.dtype) + (1 - hard) * said
    return mixed


def rhythm(n_labelled: int, n_extra: int, epochs: int, config: TeachingConfig) -> tuple[int, int]:
    """How often each labelled text comes in a pass over all texts, and how many texts an epoch has.

    The epochs stay as many as the student has without a teacher, so that it is validated as often
    and patience counts as ever; a pass over a million sentences is many of them. A labelled text is
    read once an epoch on average, as without a teacher. The others are read as much as all labelled
    ones together, each of them ``passes`` times at least and once an epoch at most.
    """
    passes = min(epochs, max(config.passes, epochs * n_labelled / max(1, n_extra)))
    repeat = config.repeat or max(1, round(epochs / passes))
    n_texts = repeat * n_labelled + n_extra
    return repeat, max(1, min(n_texts, math.ceil(passes * n_texts / epochs)))


def material(
    texts: Sequence[str],
    labels: Sequence[Any],
    said: np.ndarray,
    extra: Sequence[str],
    said_of_extra: np.ndarray,
    *,
    classes: np.ndarray,
    epochs: int,
    config: TeachingConfig,
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """What a student is trained on: N texts, (N, C) targets and (N,) weights.

    Parameters
    ----------
    texts, labels, said, extra, said_of_extra, classes
        See :func:`fit_student`.
    epochs
        Of the student.
    """
    times, _ = rhythm(len(texts), len(extra), epochs, config)
    several = are_several(labels)
    heated, more = (
        soften(one, config.temperature, several=several) for one in (said, said_of_extra)
    )
    own = mix(targets_of(labels, classes), heated, config.hard)
    targets = np.concatenate([np.tile(own, (times, 1)), more])
    weights = np.ones(len(targets))
    weights[times * len(texts) :] = config.extra_weight
    return [*list(texts) * times, *extra], targets, weights


def fit_student(
    student: Any,
    texts: Sequence[str],
    labels: Sequence[Any],
    said: np.ndarray,
    extra: Sequence[str],
    said_of_extra: np.ndarray,
    *,
    classes: np.ndarray,
    validation: tuple[Sequence[str], Sequence[Any]] | None,
    config: TeachingConfig,
) -> Any:
    """Train a copy of the student.

    Parameters
    ----------
    student
        An estimator of a network, whose settings count; its ``epoch_size`` too, unless it is None.
    texts, labels, said
        Labelled texts and what the teacher says of them, (N, C). Tuples of labels where a text
        may have several.
    extra, said_of_extra
        Texts without labels, and the same.
    classes
        (C,) sorted; the columns of both.
    validation
        Texts and labels that choose the epoch. None takes the student's own part of all texts.
    """
    fresh = clone(student)
    settings = fresh.get_params(deep=False)
    if "epoch_size" not in settings:
        raise ConfigError(
            f"a student must be a network, which learns from probabilities; "
            f"{type(student).__name__} is none"
        )
    epochs = settings["epochs"]
    if settings["epoch_size"] is None:
        fresh.set_params(epoch_size=rhythm(len(texts), len(extra), epochs, config)[1])
    every, targets, weights = material(
        texts, labels, said, extra, said_of_extra, classes=classes, epochs=epochs, config=config
    )
    how: dict[str, Any] = {"several": True} if are_several(labels) else {}
    return fresh.fit(
        every, targets, weights, validation=validation, classes=classes.tolist(), **how
    )
